"""Which of PostgreSQL's failures are tried again."""

import psycopg2
import pytest

from ottla.connect.connector import RetriableError
from ottla.connect.connectors.postgres_cdc.connections import failed


@pytest.mark.parametrize(
    ("error", "again"),
    [
        (psycopg2.OperationalError("server closed the connection unexpectedly"), True),
        (psycopg2.InterfaceError("connection already closed"), True),
        # What psycopg2 makes of a server that was killed while it streamed.
        (psycopg2.DatabaseError("error with status PGRES_COPY_BOTH and no message"), True),
        (psycopg2.ProgrammingError("syntax error"), False),
        (psycopg2.DataError("invalid input syntax"), False),
    ],
)
def test_what_broke_the_connection_is_tried_again(error: psycopg2.Error, again: bool) -> None:
    assert isinstance(failed("The slot cannot be read", error), RetriableError) is again
