"""PostgreSQL, by psycopg2."""

from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime
from io import StringIO
from typing import TYPE_CHECKING, Any
from uuid import uuid4
from zoneinfo import ZoneInfo

import psycopg2
import psycopg2.extensions

from ottla.connect.connector import ConnectError, RetriableError
from ottla.connect.connectors.jdbc.dialects import postgresql_types as types
from ottla.connect.connectors.jdbc.dialects import postgresql_writing as writing
from ottla.connect.connectors.jdbc.dialects.dialect import (
    Column,
    Connection,
    Read,
    TableId,
    execute,
    fetched,
)
from ottla.connect.connectors.jdbc.dialects.postgresql_transactions import PostgreSqlTransactions
from ottla.connect.connectors.jdbc.reading import in_utc
from ottla.connect.connectors.jdbc.url import Target
from ottla.connect.data import Schema
from ottla.connect.runs.fields import FieldColumn

if TYPE_CHECKING:
    import pyarrow

IDLE_MS = 30_000
COPIED_AT_ONCE = 1024 * 1024
# Properties of the Java driver that libpq has, too; some under another name.
_SERVED = {
    "sslmode": "sslmode",
    "sslrootcert": "sslrootcert",
    "sslcert": "sslcert",
    "sslkey": "sslkey",
    "sslpassword": "sslpassword",
    "connectTimeout": "connect_timeout",
    "loginTimeout": "connect_timeout",
    "targetServerType": "target_session_attrs",
    "channelBinding": "channel_binding",
    "gssEncMode": "gssencmode",
    "options": "options",
}
# These make the Java driver faster or mean what is done here anyway.
_NEEDLESS = {
    "ApplicationName", "reWriteBatchedInserts", "stringtype", "prepareThreshold", "tcpKeepAlive",
    "defaultRowFetchSize", "preparedStatementCacheQueries", "preparedStatementCacheSizeMiB",
    "binaryTransfer", "assumeMinServerVersion", "useUnicode", "characterEncoding",
}  # fmt: skip
_SERVER_TYPES = {
    "any": "any",
    "primary": "primary",
    "master": "primary",
    "secondary": "standby",
    "slave": "standby",
    "preferSecondary": "prefer-standby",
    "preferSlave": "prefer-standby",
}
_KINDS = {
    "TABLE": "r",
    "PARTITIONED TABLE": "p",
    "VIEW": "v",
    "MATERIALIZED VIEW": "m",
    "FOREIGN TABLE": "f",
}
_FINAL_AT_CONNECT = (
    "authentication failed",
    "does not exist",
    "no pg_hba.conf entry",
    "certificate",
    "not permitted to log in",
    "no password supplied",
    "permission denied",
)
_RETRIABLE = ("08", "40", "53", "57", "55P03", "58")


class PostgreSql:
    name = "postgresql"
    paramstyle = "format"
    errors = (psycopg2.Error, ValueError)

    def __init__(self, quoting: bool) -> None:
        self._quoting = quoting
        self.open_transactions = PostgreSqlTransactions(self)

    # Connections

    def check(self, target: Target) -> None:
        known = {*_SERVED, *_NEEDLESS, "ssl", "currentSchema", "socketTimeout"}
        for name in target.properties:
            if name not in known:
                raise ValueError(f"property {name!r} of the URL is not served")

    def connect(self, target: Target) -> Connection:
        said = {
            _SERVED[name]: value for name, value in target.properties.items() if name in _SERVED
        }
        if target.properties.get("ssl", "false").lower() in ("true", ""):
            said.setdefault("sslmode", "verify-full")  # what the Java driver makes of it
        if "target_session_attrs" in said:
            said["target_session_attrs"] = _SERVER_TYPES[said["target_session_attrs"]]
        said.setdefault("connect_timeout", "10")
        connection = psycopg2.connect(
            host=",".join(host for host, _ in target.hosts),
            port=",".join(str(port) for _, port in target.hosts),
            dbname=target.database or target.user,
            user=target.user,
            password=target.password,
            application_name=f"ottla-connect-jdbc-{target.purpose}",
            keepalives_idle=30,
            **said,
        )
        with connection.cursor() as cursor:
            cursor.execute("SET TIME ZONE 'UTC'")
            cursor.execute("SET extra_float_digits = 3")
            if target.purpose == "sink":  # who is frozen must not keep its locks
                cursor.execute(f"SET idle_in_transaction_session_timeout = {IDLE_MS}")
            if target.properties.get("currentSchema"):
                schemas = target.properties["currentSchema"].split(",")
                path = ", ".join(self.quote(one.strip()) for one in schemas)
                cursor.execute(f"SET search_path TO {path}")
        connection.commit()
        return connection

    def failure(self, error: Exception, target: Target) -> ConnectError:
        code = getattr(error, "pgcode", None)
        said = " ".join(str(error).split())
        if isinstance(error, psycopg2.InterfaceError) or (code and code.startswith(_RETRIABLE)):
            return RetriableError(f"The database {target.shown} does not go on: {said}")
        if isinstance(error, psycopg2.OperationalError) and code is None:
            if any(word in said for word in _FINAL_AT_CONNECT):
                return ConnectError(f"The database {target.shown} refuses the connection: {said}")
            return RetriableError(f"The database {target.shown} does not answer: {said}")
        return ConnectError(f"The database {target.shown} refuses: {said}")

    def of_a_row(self, error: Exception) -> bool:
        code = getattr(error, "pgcode", None) or ""
        return isinstance(error, ValueError) or code.startswith(("22", "23"))

    def now(self, connection: Connection) -> datetime:
        at: datetime = fetched(self, connection, "SELECT clock_timestamp()")[0][0]
        return at.astimezone(UTC)

    def begin_writing(self, connection: Connection) -> None:
        """A transaction begins with its first statement."""

    # Names and tables

    def quote(self, identifier: str) -> str:
        """Without quotes the database folds to small letters; with them, no word is reserved."""
        folded = identifier if self._quoting else identifier.lower()
        return '"' + folded.replace('"', '""') + '"'

    def table_id(self, connection: Connection, name: str) -> TableId:
        schema, _, table = name.rpartition(".")
        if not self._quoting:  # the database folds what is not quoted
            schema, table = schema.lower(), table.lower()
        if schema:
            return TableId(None, schema, table)
        current = fetched(self, connection, "SELECT current_schema()")[0][0]
        if current is None:
            raise ConnectError("No schema of the search path exists: table names need their schema")
        return TableId(None, current, table)

    def tables(
        self,
        connection: Connection,
        catalog: str | None,
        schema: str | None,
        types: Collection[str],
    ) -> list[TableId]:
        kinds = [_KINDS[one] for one in types if one in _KINDS]
        if "TABLE" in types:
            kinds.append("p")  # whose partitions are not tables of their own
        rows = fetched(
            self,
            connection,
            "SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n"
            " ON n.oid = c.relnamespace WHERE c.relkind::text = ANY(\0) AND NOT c.relispartition"
            " AND n.nspname NOT IN ('pg_catalog', 'information_schema')"
            " AND n.nspname NOT LIKE 'pg\\_%' AND (\0::text IS NULL OR n.nspname LIKE \0)"
            " AND (\0::text IS NULL OR current_database() LIKE \0)"
            " AND c.oid NOT IN (SELECT objid FROM pg_depend WHERE deptype = 'e')"
            " ORDER BY 1, 2",
            (kinds, schema, schema, catalog, catalog),
        )
        return [TableId(None, *row) for row in rows]

    def columns(self, connection: Connection, table: TableId) -> list[Column]:
        rows = fetched(self, connection, types.COLUMNS, (table.schema, table.name))
        return [types.column(row) for row in rows]

    def query_columns(self, connection: Connection, query: str) -> list[Column]:
        with connection.cursor() as cursor:
            execute(self, cursor, f"SELECT * FROM ({query}) q LIMIT 0")
            described = cursor.description
        names = dict(
            fetched(
                self,
                connection,
                types.TYPE_NAMES,
                ([one.type_code for one in described],),
            )
        )
        return [types.described(one, names[one.type_code]) for one in described]

    # Reading

    def schema(self, column: Column, numeric_mapping: str) -> Schema:
        return types.schema(column, numeric_mapping)

    def expression(self, column: Column, quoted: str) -> str:
        return types.expression(column, quoted)

    def reader(self, column: Column, schema: Schema, zone: ZoneInfo) -> Read:
        return types.reader(column, schema, zone)

    def rows(
        self, connection: Connection, sql: str, parameters: Sequence[Any], fetch: int
    ) -> Iterator[tuple[Any, ...]]:
        with connection.cursor(name=f"ottla_{uuid4().hex}") as cursor:
            cursor.itersize = fetch
            yield from execute(self, cursor, sql, parameters)
        connection.commit()

    def instant(self, column: Column, quoted: str) -> str:
        return quoted

    def bind_instant(self, column: Column, at: datetime, zone: ZoneInfo) -> Any:
        if column.type == "timestamptz":
            return at
        return at.astimezone(zone).replace(tzinfo=None)

    def read_instant(self, column: Column, value: Any, zone: ZoneInfo) -> datetime:
        return in_utc(value if isinstance(value, datetime) else types.midnight(value), zone)

    # Writing

    def column_type(self, schema: Schema, key: bool) -> str:
        return writing.column_type(schema)

    def writer(self, schema: Schema, column: Column, zone: ZoneInfo) -> Read | None:
        return writing.writer(schema, column, zone)

    def _table(self, table: TableId) -> str:
        return ".".join(self.quote(part) for part in table if part)

    def insert(
        self, connection: Connection, table: TableId, columns: Sequence[Column], rows: Sequence[Any]
    ) -> None:
        self._run(connection, self._insert(table, columns), writing.arrays(rows))

    def upsert(
        self,
        connection: Connection,
        table: TableId,
        columns: Sequence[Column],
        keys: int,
        rows: Sequence[Any],
    ) -> None:
        self._run(connection, self._upsert(table, columns, keys), writing.arrays(rows))

    def update(
        self,
        connection: Connection,
        table: TableId,
        columns: Sequence[Column],
        keys: int,
        rows: Sequence[Any],
    ) -> None:
        self._run(connection, self._update(table, columns, keys), writing.arrays(rows))

    def delete(
        self, connection: Connection, table: TableId, keys: Sequence[Column], rows: Sequence[Any]
    ) -> None:
        same = " AND ".join(f"t.{self.quote(one.name)} = u.c{at}" for at, one in enumerate(keys))
        sql = f"DELETE FROM {self._table(table)} t USING ({writing.unnested(keys)}) u WHERE {same}"
        self._run(connection, sql, writing.arrays(rows))

    def texts(self, field: FieldColumn, column: Column, zone: ZoneInfo) -> "pyarrow.Array":
        return writing.texts(field, column, zone)

    def may_copy(self, connection: Connection, table: TableId) -> bool:
        with connection.cursor() as cursor:
            found = execute(self, cursor, writing.MAY_COPY, (table.schema, table.name)).fetchone()
        return bool(found and found[0])

    def copy(
        self,
        connection: Connection,
        table: TableId,
        columns: Sequence[Column],
        texts: "Sequence[pyarrow.Array]",
    ) -> None:
        names = ", ".join(self.quote(one.name) for one in columns)
        sql = f"COPY {self._table(table)} ({names}) FROM STDIN"
        with connection.cursor() as cursor:
            cursor.copy_expert(sql, StringIO(writing.lines(texts)), COPIED_AT_ONCE)

    def write_columns(
        self,
        connection: Connection,
        mode: str,
        table: TableId,
        columns: Sequence[Column],
        keys: int,
        texts: "Sequence[pyarrow.Array]",
    ) -> None:
        match mode:
            case "upsert":
                sql = self._upsert(table, columns, keys)
            case "update":
                sql = self._update(table, columns, keys)
            case _:
                sql = self._insert(table, columns)
        self._run(connection, sql, [writing.array(one) for one in texts])

    # Statements, of an array for each column

    def _insert(self, table: TableId, columns: Sequence[Column]) -> str:
        names = ", ".join(self.quote(one.name) for one in columns)
        return f"INSERT INTO {self._table(table)} ({names}) {writing.unnested(columns)}"

    def _upsert(self, table: TableId, columns: Sequence[Column], keys: int) -> str:
        names = [self.quote(one.name) for one in columns]
        change = ", ".join(f"{name} = EXCLUDED.{name}" for name in names[keys:])
        return (
            f"{self._insert(table, columns)} ON CONFLICT ({', '.join(names[:keys])})"
            f" DO {'UPDATE SET ' + change if change else 'NOTHING'}"
        )

    def _update(self, table: TableId, columns: Sequence[Column], keys: int) -> str:
        names = [self.quote(one.name) for one in columns]
        change = ", ".join(f"{name} = u.c{at}" for at, name in enumerate(names) if at >= keys)
        same = " AND ".join(f"t.{name} = u.c{at}" for at, name in enumerate(names[:keys]))
        select = writing.unnested(columns)
        return f"UPDATE {self._table(table)} t SET {change} FROM ({select}) u WHERE {same}"

    def _run(self, connection: Connection, sql: str, taken: Sequence[str]) -> None:
        with connection.cursor() as cursor:
            execute(self, cursor, sql, taken)
