"""Connections to PostgreSQL, whose sessions write values the way `types` reads them."""

from collections.abc import Mapping
from typing import Any, Final

import psycopg2
from psycopg2.extensions import connection as Connection
from psycopg2.extras import LogicalReplicationConnection

from ottla.connect.connector import ConnectError, RetriableError

_SESSION: Final = {
    "DateStyle": "ISO",
    "IntervalStyle": "postgres",
    "TimeZone": "UTC",
    "extra_float_digits": "1",
    "bytea_output": "hex",
    "lc_monetary": "C",
    "statement_timeout": "0",
}
_NEVER: Final = ("28", "3D", "42")  # classes of errors that another try does not mend


def connect(database: Mapping[str, Any]) -> Connection:
    """In autocommit."""
    try:
        made = psycopg2.connect(
            **database,
            application_name="ottla-connect",
            client_encoding="UTF8",
            options=_options(_SESSION),
        )
    except psycopg2.OperationalError as error:
        raise _refused(database, error) from None
    made.autocommit = True
    return made


def connect_to_replicate(database: Mapping[str, Any]) -> LogicalReplicationConnection:
    try:
        return psycopg2.connect(
            **database,
            application_name="ottla-connect",
            client_encoding="UTF8",
            options=_options(_SESSION),
            connection_factory=LogicalReplicationConnection,
        )
    except psycopg2.OperationalError as error:
        raise _refused(database, error) from None


def _options(settings: Mapping[str, str]) -> str:
    return " ".join(f"-c {name}={value}" for name, value in settings.items())


def _refused(database: Mapping[str, Any], error: psycopg2.OperationalError) -> ConnectError:
    said = str(error).strip().splitlines()[-1] if str(error).strip() else "no reason was given"
    where = f"{database['host']}:{database['port']}"
    sentence = f"PostgreSQL at {where} refuses {database['user']}: {said}"
    final = ("authentication", "does not exist", "no pg_hba.conf entry", "permission", "must be")
    return ConnectError(sentence) if any(one in said for one in final) else RetriableError(sentence)


def failed(what: str, error: psycopg2.Error) -> ConnectError:
    """A sentence for the trace, to be tried again if another try may succeed."""
    said = str(error).strip().splitlines()
    sentence = f"{what}: {said[0] if said else type(error).__name__}"
    never = (error.pgcode or "").startswith(_NEVER)
    return RetriableError(sentence) if _is_broken(error) and not never else ConnectError(sentence)


def _is_broken(error: psycopg2.Error) -> bool:
    """The connection. A server that is killed may leave an error that says no more than that."""
    if type(error) is psycopg2.DatabaseError:
        return error.pgcode is None
    return isinstance(error, psycopg2.OperationalError | psycopg2.InterfaceError)
