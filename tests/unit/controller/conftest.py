"""A controller with one broker."""

from collections.abc import Iterator

import pytest

from support.metadata import Cluster


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    cluster = Cluster()
    cluster.broker(1)
    yield cluster
    cluster.close()
