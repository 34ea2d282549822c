"""One Spark session and one broker for all tests; `--broker kafka` brings the original."""

import os
from collections.abc import Iterator

import pytest

from ottla.pipelines.runtime import sessions


@pytest.fixture(scope="session", autouse=True)
def _one_session() -> Iterator[None]:
    yield
    sessions.stop()


@pytest.fixture(scope="session")
def driven(request: pytest.FixtureRequest) -> Iterator[str]:
    """The broker that drivers meet: the test run's own, or one that is named by the environment."""
    if address := os.environ.get("OTTLA_TEST_BOOTSTRAP"):
        yield address
        return
    os.environ["OTTLA_TEST_BOOTSTRAP"] = address = request.getfixturevalue("bootstrap")
    yield address
    del os.environ["OTTLA_TEST_BOOTSTRAP"]
