"""Two brokers that take turns on one home."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.brokers import BrokerProcess, Kind
from support.homes import Home, Quorum

Turn = Callable[[Kind], BrokerProcess]


@pytest.fixture(params=list(Quorum), ids=lambda quorum: quorum.value)
def shared_home(request: pytest.FixtureRequest, tmp_path: Path) -> Home:
    return Home(path=tmp_path / "node", quorum=request.param)


@pytest.fixture
def other_kind(broker_kind: Kind) -> Kind:
    """Apache Kafka takes turns with us; with `--broker kafka` it does so with itself."""
    return "kafka"


@pytest.fixture
def turn(shared_home: Home) -> Iterator[Turn]:
    """Start a broker of a kind on the shared home."""
    started: list[BrokerProcess] = []

    def start(kind: Kind) -> BrokerProcess:
        broker = BrokerProcess(kind, shared_home)
        started.append(broker)
        broker.start()
        return broker

    yield start
    for broker in started:
        broker.discard()
