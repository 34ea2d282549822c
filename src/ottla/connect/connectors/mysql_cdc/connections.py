"""Connections to MariaDB and MySQL, whose sessions write values the way `types` reads them."""

import ssl
from typing import Any, Final

import pymysql
from pymysql.cursors import Cursor

from ottla.connect.connector import ConnectError, RetriableError
from ottla.connect.connectors.mysql_cdc.settings import Settings

Connection = Any  # pymysql.Connection, which has no types
ERRORS: Final = (pymysql.err.MySQLError, OSError)
_REFUSED: Final = {1044, 1045, 1049, 1130, 1698, 1862, 3118}  # at the door
_RETRIABLE: Final = {1040, 1053, 1158, 1159, 1160, 1161, 1205, 1213, 2002, 2003, 2006, 2013, 2014}


def connect(settings: Settings, *, read_timeout_s: float | None = None) -> Connection:
    """In autocommit; values come as the bytes that the column's character set has."""
    try:
        made = pymysql.connect(
            host=settings.host,
            port=settings.port,
            user=settings.user,
            password=settings.password,
            charset="utf8mb4",
            connect_timeout=settings.timeout_s,
            read_timeout=read_timeout_s,
            autocommit=True,
            program_name="ottla-connect",
            **_encryption(settings.ssl_mode),
        )
        with made.cursor() as cursor:
            cursor.execute("SET time_zone = '+00:00', wait_timeout = 28800")
    except ERRORS as error:
        raise _refused(settings, error) from None
    return made


def raw(connection: Connection) -> None:
    """From here on values are bytes, as they are stored."""
    execute(connection, "SET character_set_results = NULL")
    connection.use_unicode = False
    connection.decoders = {}


def execute(connection: Connection, sql: str, arguments: Any = None) -> list[tuple[Any, ...]]:
    cursor: Cursor
    with connection.cursor() as cursor:
        cursor.execute(sql, arguments)
        return list(cursor.fetchall())


def variable(connection: Connection, name: str) -> str | None:
    rows = execute(connection, "SHOW GLOBAL VARIABLES LIKE %s", (name,))
    return str(rows[0][1]) if rows else None


def is_mariadb(connection: Connection) -> bool:
    return "mariadb" in str(connection.get_server_info()).lower()


def _encryption(mode: str) -> dict[str, Any]:
    if mode in ("disable", "disabled"):
        return {"ssl_disabled": True}
    if mode == "preferred":
        return {}
    context = ssl.create_default_context()
    context.check_hostname = mode in ("verify-full", "verify-identity")
    if mode in ("trust", "required"):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return {"ssl": context}


def _refused(settings: Settings, error: Exception) -> ConnectError:
    code, said = told(error)
    where = f"{settings.host}:{settings.port}"
    sentence = f"The server at {where} refuses {settings.user}: {said}"
    return ConnectError(sentence) if code in _REFUSED else RetriableError(sentence)


def told(error: Exception) -> tuple[int, str]:
    """An error's number, and its sentence."""
    if len(error.args) >= 2 and isinstance(error.args[0], int):
        return error.args[0], str(error.args[1])
    return 0, str(error) or type(error).__name__


def failed(what: str, error: Exception) -> ConnectError:
    """A sentence for the trace, to be tried again if another try may succeed."""
    code, said = told(error)
    broken = code in _RETRIABLE or isinstance(error, OSError)
    sentence = f"{what}: {said}"
    return RetriableError(sentence) if broken else ConnectError(sentence)
