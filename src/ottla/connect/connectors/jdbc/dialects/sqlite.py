"""SQLite, by Python's own module. Times are text or milliseconds: both are compared as numbers."""

import re
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import quote
from zoneinfo import ZoneInfo

from ottla.connect.connector import ConnectError, RetriableError
from ottla.connect.connectors.jdbc import reading
from ottla.connect.connectors.jdbc.dialects import rows as statements
from ottla.connect.connectors.jdbc.dialects.dialect import (
    Column,
    Connection,
    Read,
    TableId,
    execute,
    fetched,
)
from ottla.connect.connectors.jdbc.reading import plain, temporal
from ottla.connect.connectors.jdbc.semantics import Meaning, conversion, meaning
from ottla.connect.connectors.jdbc.url import Target
from ottla.connect.data import Schema, Type

LOCKED_S = 30.0
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MS = timedelta(milliseconds=1)
_DECLARED = re.compile(r"\s*([a-z0-9_ ]*?)\s*(?:\(\s*(\d+)\s*(?:,\s*(-?\d+)\s*)?\))?\s*$")
_PLAIN = {
    "boolean": Type.BOOLEAN,
    "bool": Type.BOOLEAN,
    "tinyint": Type.INT8,
    "smallint": Type.INT16,
    "int2": Type.INT16,
    "float": Type.FLOAT64,
    "real": Type.FLOAT64,
    "double": Type.FLOAT64,
    "double precision": Type.FLOAT64,
}
_TIMES = {"date": reading.DATE, "time": reading.TIME} | dict.fromkeys(
    ("datetime", "timestamp"), reading.TIMESTAMP
)
_TYPES = {
    Meaning.FLOAT32: "REAL",
    Meaning.FLOAT64: "REAL",
    Meaning.BYTES: "BLOB",
    Meaning.DECIMAL: "NUMERIC",
    Meaning.DATE: "NUMERIC",
    Meaning.TIME: "NUMERIC",
    Meaning.INSTANT: "NUMERIC",
    Meaning.LOCAL_TIMESTAMP: "NUMERIC",
} | dict.fromkeys(
    (Meaning.INT8, Meaning.INT16, Meaning.INT32, Meaning.INT64, Meaning.BOOLEAN), "INTEGER"
)


class Sqlite:
    name = "sqlite"
    paramstyle = "qmark"
    errors = (sqlite3.Error, OverflowError)
    open_transactions = None  # one writer at a time: numbers are taken in the order of commits

    def __init__(self, quoting: bool) -> None:
        """Quoted or not, a name means the same here."""

    # Connections

    def check(self, target: Target) -> None:
        if target.database in ("", ":memory:"):
            raise ValueError("a database in memory is nobody else's: the URL must name a file")

    def connect(self, target: Target) -> Connection:
        """A file that is not there is made for sinks alone: what would a source read in it?"""
        place = target.database
        uri = place.startswith("file:")
        if not uri and target.purpose == "source":
            place, uri = f"file:{quote(place)}?mode=rw", True
        return sqlite3.connect(place, timeout=LOCKED_S, uri=uri, check_same_thread=False)

    def failure(self, error: Exception, target: Target) -> ConnectError:
        if "locked" in str(error) or "busy" in str(error):
            return RetriableError(f"The database {target.shown} does not go on: {error}")
        return ConnectError(f"The database {target.shown} refuses: {error}")

    def of_a_row(self, error: Exception) -> bool:
        return isinstance(error, sqlite3.IntegrityError | sqlite3.DataError | OverflowError)

    def now(self, connection: Connection) -> datetime:
        return datetime.now(UTC)  # the database has no other clock

    def begin_writing(self, connection: Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")

    # Names and tables

    def quote(self, identifier: str) -> str:
        return '"' + identifier.replace('"', '""') + '"'

    def table_id(self, connection: Connection, name: str) -> TableId:
        found = fetched(
            self,
            connection,
            "SELECT name FROM sqlite_master WHERE lower(name) = lower(\0)",
            (name,),
        )
        return TableId(None, None, found[0][0] if found else name)

    def tables(
        self,
        connection: Connection,
        catalog: str | None,
        schema: str | None,
        types: Collection[str],
    ) -> list[TableId]:
        rows = fetched(
            self,
            connection,
            "SELECT name, upper(type) FROM sqlite_master"
            " WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name",
        )
        return [TableId(None, None, name) for name, kind in rows if kind in types]

    def columns(self, connection: Connection, table: TableId) -> list[Column]:
        rows = fetched(
            self,
            connection,
            'SELECT name, type, "notnull", dflt_value, pk FROM pragma_table_info(\0)',
            (table.name,),
        )
        keys = sum(1 for row in rows if row[4])
        return [self._column(row, alone=keys == 1) for row in rows]

    def query_columns(self, connection: Connection, query: str) -> list[Column]:
        """As a view of this connection's own, whose columns' types can be asked for."""
        connection.execute(f"CREATE TEMP VIEW ottla_query AS {query}")
        rows = connection.execute(
            'SELECT name, type, 0, NULL, 0 FROM pragma_table_info("ottla_query")'
        ).fetchall()
        connection.execute("DROP VIEW temp.ottla_query")
        connection.commit()
        return [self._column(row, alone=False) for row in rows]

    def _column(self, row: tuple[Any, ...], alone: bool) -> Column:
        name, declared, not_null, default, key = row
        match = _DECLARED.match(declared.lower())
        kind, precision, scale = match.groups() if match else (declared.lower(), None, None)
        row_id = bool(key) and alone and kind == "integer"  # an alias of the row's own number
        return Column(
            name=name,
            type=kind,
            nullable=not (not_null or row_id),
            precision=0 if kind in _TIMES else int(precision) if precision else None,
            scale=int(scale) if scale else (0 if precision else None),
            auto_increment=row_id,
            key=bool(key),
            has_default=default is not None or row_id,
            declared=declared,
        )

    # Reading

    def schema(self, column: Column, numeric_mapping: str) -> Schema:
        kind = column.type
        if kind in _PLAIN:
            return plain(_PLAIN[kind], column.nullable)
        if kind in _TIMES:
            return temporal(_TIMES[kind], column.nullable)
        if kind in ("numeric", "decimal"):
            return reading.numeric(column.precision, column.scale, numeric_mapping, column.nullable)
        if "int" in kind:  # SQLite's own rules of affinity, in their order
            return plain(Type.INT64, column.nullable)
        if any(word in kind for word in ("char", "clob", "text")):
            return plain(Type.STRING, column.nullable)
        if "blob" in kind or "binary" in kind:
            return plain(Type.BYTES, column.nullable)
        if any(word in kind for word in ("real", "floa", "doub")):
            return plain(Type.FLOAT64, column.nullable)
        return plain(Type.STRING, column.nullable)

    def expression(self, column: Column, quoted: str) -> str:
        return quoted

    def reader(self, column: Column, schema: Schema, zone: ZoneInfo) -> Read:
        as_schema = reading.reader(column.name, schema, zone)
        match schema.name:
            case reading.TIMESTAMP:
                return lambda value: as_schema(_moment(column, value))
            case reading.DATE:
                return lambda value: _moment(column, value).date()
            case reading.TIME:
                return lambda value: as_schema(_clock(column, value))
            case reading.DECIMAL:
                return lambda value: as_schema(str(value))
        if schema.type is Type.BYTES:
            return lambda value: value.encode() if isinstance(value, str) else bytes(value)
        if schema.type is Type.STRING:
            return lambda value: value.decode() if isinstance(value, bytes) else str(value)

        def checked(value: Any) -> Any:  # a column holds what it was given, whatever it says
            try:
                return as_schema(value)
            except (TypeError, ValueError):
                shown = f"Column {column.name} holds {value!r}, which is no {column.type}"
                raise ConnectError(shown) from None

        return checked

    def rows(
        self, connection: Connection, sql: str, parameters: Sequence[Any], fetch: int
    ) -> Iterator[tuple[Any, ...]]:
        cursor = execute(self, connection.cursor(), sql, parameters)
        while rows := cursor.fetchmany(fetch):
            yield from rows

    def instant(self, column: Column, quoted: str) -> str:
        text = f"CAST(ROUND((julianday({quoted}) - 2440587.5) * 86400000.0) AS INTEGER)"
        return f"CASE typeof({quoted}) WHEN 'text' THEN {text} ELSE {quoted} END"

    def bind_instant(self, column: Column, at: datetime, zone: ZoneInfo) -> Any:
        """Text has the wall clock of the database's zone; the driver's numbers are UTC."""
        return (at - _EPOCH) // _MS + int(at.astimezone(zone).utcoffset() / _MS)  # type: ignore[operator]

    def read_instant(self, column: Column, value: Any, zone: ZoneInfo) -> datetime:
        wall = (_EPOCH + _MS * int(value)).replace(tzinfo=None)
        return reading.in_utc(wall, zone)

    # Writing

    def column_type(self, schema: Schema, key: bool) -> str:
        kind = meaning(schema)
        if kind is Meaning.ARRAY:
            raise ValueError("no column of SQLite's holds an array")
        return _TYPES.get(kind, "TEXT")

    def writer(self, schema: Schema, column: Column, zone: ZoneInfo) -> Read | None:
        kind, convert = meaning(schema), conversion(schema)
        to_text = _TO_TEXT.get(kind)
        if kind is Meaning.INSTANT:
            to_text = lambda value: _wall(value.astimezone(zone))  # noqa: E731
        if convert is None:
            return to_text
        if to_text is None:
            return convert
        finish = to_text
        return lambda value: finish(convert(value))

    def insert(
        self, connection: Connection, table: TableId, columns: Sequence[Column], rows: Sequence[Any]
    ) -> None:
        connection.executemany(statements.insert(self, table, columns, "?"), rows)

    def upsert(
        self,
        connection: Connection,
        table: TableId,
        columns: Sequence[Column],
        keys: int,
        rows: Sequence[Any],
    ) -> None:
        names = [self.quote(one.name) for one in columns]
        change = ", ".join(f"{name} = excluded.{name}" for name in names[keys:])
        sql = statements.insert(self, table, columns, "?")
        sql += f" ON CONFLICT ({', '.join(names[:keys])})"
        sql += f" DO UPDATE SET {change}" if change else " DO NOTHING"
        connection.executemany(sql, rows)

    def update(
        self,
        connection: Connection,
        table: TableId,
        columns: Sequence[Column],
        keys: int,
        rows: Sequence[Any],
    ) -> None:
        sql = statements.update(self, table, columns, keys, "?")
        connection.executemany(sql, [(*row[keys:], *row[:keys]) for row in rows])

    def delete(
        self, connection: Connection, table: TableId, keys: Sequence[Column], rows: Sequence[Any]
    ) -> None:
        same = statements.same_key(self, keys, "?")
        sql = f"DELETE FROM {statements.table_name(self, table)} WHERE {same}"
        connection.executemany(sql, rows)


def _moment(column: Column, value: Any) -> datetime:
    if isinstance(value, int | float):
        return _EPOCH + _MS * int(value)
    try:
        return datetime.fromisoformat(str(value))
    except ValueError:
        shown = f"Column {column.name} holds {value!r}, which is no time"
        raise ConnectError(shown) from None


def _clock(column: Column, value: Any) -> time:
    if isinstance(value, int | float):
        return (_EPOCH + _MS * int(value)).time()
    try:
        return time.fromisoformat(str(value))
    except ValueError:
        return _moment(column, value).time()


def _wall(value: datetime) -> str:
    return value.replace(tzinfo=None).isoformat(" ", "milliseconds")


def _iso(value: date | time) -> str:
    return value.isoformat()


def _exact(value: Decimal) -> str:
    return format(value, "f")


_TO_TEXT: dict[Meaning, Read] = {
    Meaning.DECIMAL: _exact,
    Meaning.DATE: _iso,
    Meaning.TIME: _iso,
    Meaning.LOCAL_TIMESTAMP: lambda value: value.isoformat(" "),
}
