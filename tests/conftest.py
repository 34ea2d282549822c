"""Which broker the tests from outside meet: `--broker kafka` asks the original, our oracle.

And what every run is given: an end, and the names of what passed only at a second try.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

pytest.register_assert_rewrite("support")

# How long an example takes says more about the machine than about the code.
settings.register_profile("ottla", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ottla")

from support.brokers import BrokerProcess, Kind, running  # noqa: E402
from support.defects import Defects  # noqa: E402
from support.hang_guard import HangGuard  # noqa: E402
from support.homes import Home  # noqa: E402
from support.spreading import Spreading  # noqa: E402


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--broker",
        choices=["ottla", "kafka"],
        default="ottla",
        help="the broker that clients, conformance and interop of tests/system meet",
    )
    parser.addoption("--master", help="the Spark of connectors: local-cluster[2,1,1024] for one")
    parser.addoption("--kills", type=int, default=5, help="kills in tests/system/faults")
    parser.addoption("--defects", metavar="FILE", help="where defects are listed, run after run")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(HangGuard(config))
    config.pluginmanager.register(Spreading())
    if not hasattr(config, "workerinput"):  # who distributes the tests tells of them
        config.pluginmanager.register(Defects(config.getoption("--defects")))


@pytest.fixture(scope="session")
def broker_kind(request: pytest.FixtureRequest) -> Kind:
    kind: Kind = request.config.getoption("--broker")
    return kind


@pytest.fixture(scope="session")
def broker(broker_kind: Kind, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """One broker for the whole run: tests use topics and groups of their own."""
    home = Home(path=tmp_path_factory.mktemp("broker"))
    with running(broker_kind, home) as process:
        yield process


@pytest.fixture(scope="session")
def bootstrap(broker: BrokerProcess) -> str:
    return broker.bootstrap


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A place for a node of the test's own."""
    return Home(path=tmp_path / "node")
