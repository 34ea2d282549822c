"""Debezium's envelope for tables of MariaDB and MySQL: their schemas and records. Pure."""

import functools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from ottla.connect.connectors.debezium.change_records import ChangeRecords
from ottla.connect.connectors.debezium.schemas import (
    INT32,
    INT64,
    OPTIONAL_INT64,
    OPTIONAL_STRING,
    SNAPSHOT,
    STRING,
    context_headers,
    envelope,
    key_schema,
    row_schema,
    sanitised,
)
from ottla.connect.connectors.mysql_cdc.binlog import UNSENT
from ottla.connect.connectors.mysql_cdc.defaults import default
from ottla.connect.connectors.mysql_cdc.filters import Filters
from ottla.connect.connectors.mysql_cdc.tables import Column, Table, TableId
from ottla.connect.connectors.mysql_cdc.types import ColumnMapping, Modes, mapping
from ottla.connect.data import Field, Header, Schema, Struct, Type

VERSION: Final = "3.5.0.Final"  # whose envelope this is
Server = Literal["mariadb", "mysql"]


@functools.cache
def source_schema(server: Server) -> Schema:
    return Schema(
        type=Type.STRUCT,
        name=f"io.debezium.connector.{server}.Source",
        version=1,
        fields=(
            Field("version", STRING),
            Field("connector", STRING),
            Field("name", STRING),
            Field("ts_ms", INT64),
            Field("snapshot", SNAPSHOT),
            Field("db", STRING),
            Field("sequence", OPTIONAL_STRING),
            Field("ts_us", OPTIONAL_INT64),
            Field("ts_ns", OPTIONAL_INT64),
            Field("table", OPTIONAL_STRING),
            Field("server_id", INT64),
            Field("gtid", OPTIONAL_STRING),
            Field("file", STRING),
            Field("pos", INT64),
            Field("row", INT32),
            Field("thread", OPTIONAL_INT64),
            Field("query", OPTIONAL_STRING),
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Naming:
    """What all records of one connector share."""

    prefix: str
    server: Server = "mariadb"
    modes: Modes = field(default_factory=Modes)
    filters: Filters = field(default_factory=Filters)
    run: str | None = None  # names the run in headers; None: no such headers

    def topic(self, id: TableId) -> str:
        return sanitised(f"{self.prefix}.{id}")

    def headers(self) -> tuple[Header, ...]:
        return context_headers(self.prefix, self.server, self.run)


@dataclass(slots=True)  # not frozen: one for each event
class Source:
    """Where and when a change was made."""

    ms: int
    file: str
    position: int
    server_id: int = 0
    gtid: str | None = None
    thread: int | None = None
    snapshot: str = "false"

    def struct(self, naming: Naming, database: str, table: str | None, row: int = 0) -> Struct:
        values = {
            "version": VERSION,
            "connector": naming.server,
            "name": naming.prefix,
            "ts_ms": self.ms,
            "snapshot": self.snapshot,
            "db": database,
            "sequence": None,
            "ts_us": self.ms * 1000,
            "ts_ns": self.ms * 1_000_000,
            "table": table,
            "server_id": self.server_id,
            "gtid": self.gtid,
            "file": self.file,
            "pos": self.position,
            "row": row,
            "thread": self.thread,
            "query": None,
        }
        return Struct(source_schema(naming.server), values)


@dataclass(frozen=True, slots=True)
class _Value:
    """One column of a row's struct."""

    name: str
    at: int  # in the row
    mapping: ColumnMapping
    schema: Schema
    null: Any  # what stands for a null


_Plan = tuple[tuple[str, int, Callable[[Any], Any], Any], ...]


@dataclass(slots=True)
class TableRecords(ChangeRecords):
    """Makes the records of one table, as it was between two changes of its definition."""

    table: Table
    naming: Naming
    topic: str = field(init=False)
    key_schema: Schema | None = field(init=False)
    row_schema: Schema = field(init=False)
    value_schema: Schema = field(init=False)
    parsers: tuple[Callable[[bytes], Any], ...] = field(init=False)  # of a snapshot's texts
    _row: _Plan = field(init=False)
    _key: _Plan = field(init=False)
    headers: tuple[Header, ...] = field(init=False)

    def __post_init__(self) -> None:
        table, naming = self.table, self.naming
        self.topic = naming.topic(table.id)
        self.headers = naming.headers()
        mapped = [mapping(one, naming.modes) for one in table.columns]
        self.parsers = tuple(bytes if one is None else one.parse for one in mapped)
        values = {
            column.name: _value(at, column, one)
            for at, (column, one) in enumerate(zip(table.columns, mapped, strict=True))
            if one is not None
        }
        captured = [
            one for one in values.values() if naming.filters.captures_column(table.id, one.name)
        ]
        chosen = naming.filters.key(table.id) or table.key
        keyed = [values[name] for name in chosen if name in values]
        self._row = tuple(_plan(one) for one in captured)
        self._key = tuple(_plan(one) for one in keyed)
        self.row_schema = row_schema(self.topic, ((one.name, one.schema) for one in captured))
        self.key_schema = key_schema(self.topic, ((one.name, one.schema) for one in keyed))
        source = source_schema(naming.server)
        self.value_schema = envelope(self.topic, self.row_schema, source)

    def row(self, values: tuple[Any, ...] | None) -> Struct | None:
        if values is None:
            return None
        return Struct(self.row_schema, _converted(self._row, values))

    def key(self, values: tuple[Any, ...] | None) -> Struct | None:
        if values is None or self.key_schema is None:
            return None
        return Struct(self.key_schema, _converted(self._key, values))


@functools.lru_cache(maxsize=512)
def table_records(table: Table, naming: Naming) -> TableRecords:
    """Kept: pieces of a stream are small, and the schemas of a wide table are not."""
    return TableRecords(table, naming)


def _value(at: int, column: Column, mapped: ColumnMapping) -> _Value:
    said = default(column, mapped)
    schema = replace(mapped.schema, optional=column.optional, default=said)
    null = None if column.optional else mapped.fallback if said is None else said
    return _Value(column.name, at, mapped, schema, null)


def _plan(value: _Value) -> tuple[str, int, Callable[[Any], Any], Any]:
    return value.name, value.at, value.mapping.convert, value.null


def _converted(plan: _Plan, values: tuple[Any, ...]) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for name, at, convert, null in plan:
        value = values[at]
        if value is None or value is UNSENT:
            row[name] = null
        else:
            converted = convert(value)
            row[name] = null if converted is None else converted
    return row
