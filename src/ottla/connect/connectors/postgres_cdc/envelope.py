"""Debezium's envelope: the schemas of a table's keys, rows and changes, and its records. Pure."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final

from ottla.connect.connectors.debezium.change_records import ChangeRecords
from ottla.connect.connectors.debezium.schemas import (
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
from ottla.connect.connectors.postgres_cdc.defaults import default
from ottla.connect.connectors.postgres_cdc.filters import Filters
from ottla.connect.connectors.postgres_cdc.protocol import UNCHANGED, Tuple
from ottla.connect.connectors.postgres_cdc.tables import Column, Table
from ottla.connect.connectors.postgres_cdc.types import ColumnMapping, Modes, mapping
from ottla.connect.data import Field, Header, Schema, Struct, Type

VERSION: Final = "3.6.2.Final"  # whose envelope this is

SOURCE: Final = Schema(
    type=Type.STRUCT,
    name="io.debezium.connector.postgresql.Source",
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
        Field("schema", STRING),
        Field("table", STRING),
        Field("txId", OPTIONAL_INT64),
        Field("lsn", OPTIONAL_INT64),
        Field("xmin", OPTIONAL_INT64),
        Field("origin", OPTIONAL_STRING),
        Field("origin_lsn", OPTIONAL_INT64),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Naming:
    """What all records of one connector share."""

    prefix: str
    database: str
    modes: Modes = field(default_factory=Modes)
    filters: Filters = field(default_factory=Filters)
    run: str | None = None  # names the run in headers; None: no such headers

    def topic(self, table: Table) -> str:
        return sanitised(f"{self.prefix}.{table.schema}.{table.name}")

    def headers(self) -> tuple[Header, ...]:
        return context_headers(self.prefix, "postgresql", self.run)


@dataclass(slots=True)  # not frozen: one for each change
class Source:
    """Where and when a change was made."""

    us: int | None
    xid: int | None
    lsn: int | None
    last_commit: int | None
    snapshot: str = "false"
    origin: str | None = None
    origin_lsn: int | None = None

    def struct(self, naming: Naming, schema: str, table: str) -> Struct:
        us = self.us or 0
        before = "null" if self.last_commit is None else f'"{self.last_commit}"'
        values = {
            "version": VERSION,
            "connector": "postgresql",
            "name": naming.prefix,
            "ts_ms": us // 1000,
            "snapshot": self.snapshot,
            "db": naming.database,
            "sequence": f'[{before},"{self.lsn}"]',
            "ts_us": us,
            "ts_ns": us * 1000,
            "schema": schema,
            "table": table,
            "txId": self.xid,
            "lsn": self.lsn,
            "xmin": None,
            "origin": self.origin,
            "origin_lsn": self.origin_lsn,
        }
        return Struct(SOURCE, values)


@dataclass(frozen=True, slots=True)
class Value:
    """One column of a row's struct."""

    column: Column
    at: int  # in the message's tuple
    mapping: ColumnMapping
    schema: Schema
    null: Any  # what stands for a null

    @property
    def name(self) -> str:
        return self.column.name


@dataclass(slots=True)
class TableRecords(ChangeRecords):
    """Makes the records of one table, as it was between two changes of its definition."""

    table: Table
    naming: Naming
    topic: str = field(init=False)
    key_schema: Schema | None = field(init=False)
    row_schema: Schema = field(init=False)
    value_schema: Schema = field(init=False)
    _row: tuple[tuple[str, int, Callable[[str], Any], Any, Any], ...] = field(init=False)
    _key: tuple[tuple[str, int, Callable[[str], Any], Any, Any], ...] = field(init=False)
    captured: tuple[Value, ...] = field(init=False)
    keyed: tuple[Value, ...] = field(init=False)
    headers: tuple[Header, ...] = field(init=False)

    def __post_init__(self) -> None:
        table, naming = self.table, self.naming
        self.topic = naming.topic(table)
        self.headers = naming.headers()
        values = {one.name: one for one in _values(table, naming)}
        captured = [
            one
            for one in values.values()
            if naming.filters.captures_column(table.schema, table.name, one.name)
        ]
        chosen = naming.filters.key(table.schema, table.name) or table.key
        keyed = [values[name] for name in chosen if name in values]
        self.captured, self.keyed = tuple(captured), tuple(keyed)
        self._row = tuple(_plan(one) for one in captured)
        self._key = tuple(_plan(one) for one in keyed)
        self.row_schema = row_schema(self.topic, ((one.name, one.schema) for one in captured))
        self.key_schema = key_schema(self.topic, ((one.name, one.schema) for one in keyed))
        self.value_schema = envelope(self.topic, self.row_schema, SOURCE)

    def row(self, values: Tuple | None, old: Tuple | None = None) -> Struct | None:
        """`old` is where unchanged TOASTed values are looked for first."""
        if values is None:
            return None
        return Struct(self.row_schema, _converted(self._row, values, old))

    def key(self, values: Tuple | None) -> Struct | None:
        if values is None or self.key_schema is None:
            return None
        return Struct(self.key_schema, _converted(self._key, values, None))


def _values(table: Table, naming: Naming) -> list[Value]:
    found = ((at, one, mapping(one, naming.modes)) for at, one in enumerate(table.columns))
    return [_value(at, column, mapped) for at, column, mapped in found if mapped is not None]


def _value(at: int, column: Column, mapped: ColumnMapping) -> Value:
    said = default(column, mapped)
    schema = replace(mapped.schema, optional=column.nullable, default=said)
    null = None if column.nullable else mapped.fallback if said is None else said
    return Value(column, at, mapped, schema, null)


def _plan(value: Value) -> tuple[str, int, Callable[[str], Any], Any, Any]:
    return value.name, value.at, value.mapping.convert, value.null, value.mapping.unchanged


def _converted(
    plan: tuple[tuple[str, int, Callable[[str], Any], Any, Any], ...],
    values: Tuple,
    old: Tuple | None,
) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for name, at, convert, null, unchanged in plan:
        text = values[at]
        if text is None:
            row[name] = null
        elif text is UNCHANGED:
            kept = old[at] if old is not None else None
            row[name] = convert(kept) if isinstance(kept, str) else unchanged
        else:
            row[name] = convert(text)  # type: ignore[arg-type]
    return row
