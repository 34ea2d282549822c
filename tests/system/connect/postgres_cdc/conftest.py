"""A PostgreSQL for the tests of this folder; each takes a database of its own."""

from collections.abc import Iterator

import pytest

from support.postgres import Postgres, running_postgres


@pytest.fixture(scope="session")
def server() -> Iterator[Postgres]:
    with running_postgres() as server:
        yield server


@pytest.fixture
def postgres(server: Postgres) -> Postgres:
    return server.database()


@pytest.fixture
def slot(postgres: Postgres) -> Iterator[str]:
    """Slots are the server's, so each test has a name of its own, and leaves none behind."""
    yield f"slot_{postgres.name}"
    postgres.run(
        "SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots"
        f" WHERE active AND database = '{postgres.name}'",
        "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots"
        f" WHERE NOT active AND database = '{postgres.name}'",
    )
