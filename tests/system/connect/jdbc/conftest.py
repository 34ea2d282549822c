"""Databases of the tests' own: servers for the folder, a database for each test."""

from collections.abc import Callable, Iterator

import pytest

from support.jdbc import Reading
from support.mariadb import MariaDb, running_mariadb
from support.postgres import Postgres, running_postgres

Read = Callable[..., Reading]


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Postgres]:
    with running_postgres(max_prepared_transactions="5") as server:
        yield server


@pytest.fixture
def postgres(postgres_server: Postgres) -> Postgres:
    return postgres_server.database()


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[MariaDb]:
    with running_mariadb() as server:
        yield server


@pytest.fixture
def mariadb(mariadb_server: MariaDb) -> MariaDb:
    return mariadb_server.database()


@pytest.fixture
def read() -> Iterator[Read]:
    started: list[Reading] = []

    def begin(database: Postgres | MariaDb, **config: str) -> Reading:
        keys = {name.replace("_", "."): value for name, value in config.items()}
        access = {
            "connection.url": database.jdbc_url,
            "connection.user": database.user,
            "connection.password": database.password,
        }
        started.append(Reading(access | keys))
        return started[-1]

    yield begin
    for one in started:
        one.stop()
