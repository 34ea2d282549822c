"""A MariaDB for the tests of this folder; each takes a database of its own."""

from collections.abc import Iterator

import pytest

from support.mariadb import MariaDb, running_mariadb
from support.mysql_cdc import MemoryHistory


@pytest.fixture(scope="session")
def server() -> Iterator[MariaDb]:
    with running_mariadb() as server:
        yield server


@pytest.fixture
def mariadb(server: MariaDb) -> MariaDb:
    return server.database()


@pytest.fixture
def history() -> MemoryHistory:
    return MemoryHistory()
