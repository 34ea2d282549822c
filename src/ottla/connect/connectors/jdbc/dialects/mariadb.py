"""MariaDB and MySQL, by PyMySQL. A database is a catalog here; there are no schemas."""

from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pymysql
import pymysql.cursors
from pymysql.constants import CLIENT

from ottla.connect.connector import ConnectError, RetriableError
from ottla.connect.connectors.jdbc.dialects import mariadb_types as types
from ottla.connect.connectors.jdbc.dialects import rows as statements
from ottla.connect.connectors.jdbc.dialects.dialect import (
    Column,
    Connection,
    Read,
    TableId,
    execute,
    fetched,
)
from ottla.connect.connectors.jdbc.reading import in_utc
from ottla.connect.connectors.jdbc.url import Target
from ottla.connect.data import Schema

IDLE_S = 30  # who is frozen must not keep its locks
_SERVED = {
    "useSSL", "requireSSL", "verifyServerCertificate", "sslMode", "serverSslCert",
    "connectTimeout", "socketTimeout",
}  # fmt: skip
# These make the Java drivers faster or mean what is done here anyway.
_NEEDLESS = {
    "allowPublicKeyRetrieval", "autoReconnect", "cachePrepStmts", "characterEncoding",
    "connectionTimeZone", "nullCatalogMeansCurrent", "permitMysqlScheme", "prepStmtCacheSize",
    "prepStmtCacheSqlLimit", "rewriteBatchedStatements", "serverTimezone", "tinyInt1isBit",
    "useBulkStmts", "useCursorFetch", "useLegacyDatetimeCode", "useServerPrepStmts", "useUnicode",
    "zeroDateTimeBehavior", "defaultFetchSize", "useJDBCCompliantTimezoneShift",
}  # fmt: skip
_REFUSED = {1044, 1045, 1049, 1130, 1698, 1862, 3118}  # at the door: who it is, or which database
_RETRIABLE = {1040, 1053, 1158, 1159, 1160, 1161, 1205, 1213, 2002, 2003, 2006, 2013, 2014, 2055}
_KINDS = {"TABLE": "BASE TABLE", "VIEW": "VIEW"}
_SYSTEM = "('information_schema', 'mysql', 'performance_schema', 'sys')"


class MariaDb:
    name = "mariadb"
    paramstyle = "format"
    errors = (pymysql.err.MySQLError, OSError)
    open_transactions = None

    def __init__(self, quoting: bool) -> None:
        """Quoted or not, a name means the same here."""

    # Connections

    def check(self, target: Target) -> None:
        for name in target.properties:
            if name not in _SERVED | _NEEDLESS:
                raise ValueError(f"property {name!r} of the URL is not served")

    def connect(self, target: Target) -> Connection:
        said = target.properties
        host, port = target.hosts[0]
        connection = pymysql.connect(
            host=host,
            port=port,
            database=target.database or None,
            user=target.user,
            password=target.password or "",
            charset="utf8mb4",
            connect_timeout=int(said.get("connectTimeout", "10000")) // 1000 or 10,
            read_timeout=int(said.get("socketTimeout", "0")) / 1000 or None,
            client_flag=CLIENT.FOUND_ROWS,
            **_encryption(said),
        )
        with connection.cursor() as cursor:
            cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
            cursor.execute(
                "SET time_zone = '+00:00', sql_mode = CONCAT(@@sql_mode, ',STRICT_ALL_TABLES')"
            )
            if target.purpose == "sink" and "MariaDB" in connection.get_server_info():
                cursor.execute(f"SET idle_transaction_timeout = {IDLE_S}")
        return connection

    def failure(self, error: Exception, target: Target) -> ConnectError:
        code = error.args[0] if error.args else None
        said = " ".join(str(one) for one in error.args)
        if code in _REFUSED:
            return ConnectError(f"The database {target.shown} refuses the connection: {said}")
        if code in _RETRIABLE or isinstance(error, pymysql.err.InterfaceError | OSError):
            return RetriableError(f"The database {target.shown} does not answer: {said}")
        return ConnectError(f"The database {target.shown} refuses: {said}")

    def of_a_row(self, error: Exception) -> bool:
        return isinstance(error, pymysql.err.IntegrityError | pymysql.err.DataError) or (
            isinstance(error, pymysql.err.OperationalError) and error.args[0] in {1366, 4025}
        )

    def now(self, connection: Connection) -> datetime:
        at: datetime = fetched(self, connection, "SELECT UTC_TIMESTAMP(6)")[0][0]
        return at.replace(tzinfo=UTC)

    def begin_writing(self, connection: Connection) -> None:
        connection.begin()

    # Names and tables

    def quote(self, identifier: str) -> str:
        return "`" + identifier.replace("`", "``") + "`"

    def table_id(self, connection: Connection, name: str) -> TableId:
        catalog, _, table = name.rpartition(".")
        if not catalog:
            catalog = fetched(self, connection, "SELECT database()")[0][0] or ""
        return TableId(catalog or None, None, table)

    def tables(
        self,
        connection: Connection,
        catalog: str | None,
        schema: str | None,
        types: Collection[str],
    ) -> list[TableId]:
        kinds = [_KINDS[one] for one in types if one in _KINDS]
        rows = fetched(
            self,
            connection,
            "SELECT table_schema, table_name FROM information_schema.tables"
            f" WHERE table_type IN \0 AND table_schema NOT IN {_SYSTEM}"
            " AND table_schema LIKE coalesce(\0, database(), '%') ORDER BY 1, 2",
            (kinds or [""], catalog),
        )
        return [TableId(row[0], None, row[1]) for row in rows]

    def columns(self, connection: Connection, table: TableId) -> list[Column]:
        rows = fetched(self, connection, types.COLUMNS, (table.catalog, table.name))
        return [types.column(row) for row in rows]

    def query_columns(self, connection: Connection, query: str) -> list[Column]:
        with connection.cursor() as cursor:
            execute(self, cursor, f"SELECT * FROM ({query}) q LIMIT 0")
            fields = list(cursor._result.fields)
        connection.commit()
        return [types.described(one) for one in fields]

    # Reading

    def schema(self, column: Column, numeric_mapping: str) -> Schema:
        return types.schema(column, numeric_mapping)

    def expression(self, column: Column, quoted: str) -> str:
        return quoted

    def reader(self, column: Column, schema: Schema, zone: ZoneInfo) -> Read:
        return types.reader(column, schema, zone)

    def rows(
        self, connection: Connection, sql: str, parameters: Sequence[Any], fetch: int
    ) -> Iterator[tuple[Any, ...]]:
        cursor = connection.cursor(pymysql.cursors.SSCursor)
        try:
            execute(self, cursor, sql, parameters)
            while rows := cursor.fetchmany(fetch):
                yield from rows
        finally:
            cursor.close()
        connection.commit()

    def instant(self, column: Column, quoted: str) -> str:
        return quoted

    def bind_instant(self, column: Column, at: datetime, zone: ZoneInfo) -> Any:
        return at.astimezone(types.zone_of(column, zone)).replace(tzinfo=None)

    def read_instant(self, column: Column, value: Any, zone: ZoneInfo) -> datetime:
        return in_utc(value, types.zone_of(column, zone))

    # Writing

    def column_type(self, schema: Schema, key: bool) -> str:
        return types.column_type(schema, key)

    def writer(self, schema: Schema, column: Column, zone: ZoneInfo) -> Read | None:
        return types.writer(schema, column, zone)

    def insert(
        self, connection: Connection, table: TableId, columns: Sequence[Column], rows: Sequence[Any]
    ) -> None:
        self._many(connection, statements.insert(self, table, columns, "\0"), rows)

    def upsert(
        self,
        connection: Connection,
        table: TableId,
        columns: Sequence[Column],
        keys: int,
        rows: Sequence[Any],
    ) -> None:
        names = [self.quote(one.name) for one in columns]
        change = ", ".join(f"{name} = VALUES({name})" for name in names[keys:] or names[:1])
        sql = statements.insert(self, table, columns, "\0") + f" ON DUPLICATE KEY UPDATE {change}"
        self._many(connection, sql, rows)

    def update(
        self,
        connection: Connection,
        table: TableId,
        columns: Sequence[Column],
        keys: int,
        rows: Sequence[Any],
    ) -> None:
        sql = statements.update(self, table, columns, keys, "\0")
        self._many(connection, sql, [(*row[keys:], *row[:keys]) for row in rows])

    def delete(
        self, connection: Connection, table: TableId, keys: Sequence[Column], rows: Sequence[Any]
    ) -> None:
        names = ", ".join(self.quote(one.name) for one in keys)
        row = "(" + ", ".join("\0" for _ in keys) + ")"
        sql = (
            f"DELETE FROM {statements.table_name(self, table)} WHERE ({names}) IN"
            f" ({', '.join(row for _ in rows)})"
        )
        with connection.cursor() as cursor:
            execute(self, cursor, sql, [value for one in rows for value in one])

    def _many(self, connection: Connection, sql: str, rows: Sequence[Any]) -> None:
        """The driver makes one statement of an INSERT with many rows."""
        with connection.cursor() as cursor:
            cursor.executemany(sql.replace("%", "%%").replace("\0", "%s"), rows)


def _encryption(said: Any) -> dict[str, Any]:
    mode = said.get("sslMode", "").lower().replace("_", "-")
    wanted = mode not in ("", "disable", "disabled", "preferred") or (
        not mode and said.get("useSSL", said.get("requireSSL", "false")).lower() == "true"
    )
    if not wanted:
        return {}
    verified = mode in ("verify-ca", "verify-full", "verify-identity") or (
        not mode and said.get("verifyServerCertificate", "false").lower() == "true"
    )
    return {
        "ssl": {"ca": said.get("serverSslCert")},
        "ssl_verify_cert": verified,
        "ssl_verify_identity": mode in ("verify-full", "verify-identity"),
    }
