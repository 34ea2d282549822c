"""Debezium's envelope: the parts that are the same whatever database a change comes from. Pure."""

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from ottla.connect.data import Field, Header, Schema, Type

STRING: Final = Schema(type=Type.STRING)
OPTIONAL_STRING: Final = replace(STRING, optional=True)
INT32: Final = Schema(type=Type.INT32)
INT64: Final = Schema(type=Type.INT64)
OPTIONAL_INT64: Final = replace(INT64, optional=True)
SNAPSHOT: Final = Schema(
    type=Type.STRING,
    optional=True,
    default="false",
    name="io.debezium.data.Enum",
    version=1,
    parameters={
        "allowed": "true,first,first_in_data_collection,last_in_data_collection,last,false,"
        "incremental"
    },
)
TRANSACTION: Final = Schema(
    type=Type.STRUCT,
    optional=True,
    name="event.block",
    version=1,
    fields=(
        Field("id", STRING),
        Field("total_order", INT64),
        Field("data_collection_order", INT64),
    ),
)


def row_schema(topic: str, columns: Iterable[tuple[str, Schema]]) -> Schema:
    return Schema(type=Type.STRUCT, optional=True, name=f"{topic}.Value", fields=_fields(columns))


def key_schema(topic: str, columns: Iterable[tuple[str, Schema]]) -> Schema | None:
    """None: the table has no key."""
    fields = _fields(columns)
    return Schema(type=Type.STRUCT, name=f"{topic}.Key", fields=fields) if fields else None


def _fields(columns: Iterable[tuple[str, Schema]]) -> tuple[Field, ...]:
    return tuple(Field(name, schema) for name, schema in columns)


def envelope(topic: str, row: Schema, source: Schema) -> Schema:
    """Of a table's changes."""
    return Schema(
        type=Type.STRUCT,
        name=f"{topic}.Envelope",
        version=2,
        fields=(
            Field("before", row),
            Field("after", row),
            Field("source", source),
            Field("transaction", TRANSACTION),
            Field("op", STRING),
            Field("ts_ms", OPTIONAL_INT64),
            Field("ts_us", OPTIONAL_INT64),
            Field("ts_ns", OPTIONAL_INT64),
        ),
    )


def sanitised(topic: str) -> str:
    return re.sub(r"[^A-Za-z0-9._\-]", "_", topic)


def context_headers(prefix: str, connector: str, run: str | None) -> tuple[Header, ...]:
    """Which run of which connector wrote a record; `run` None: unsaid."""
    if run is None:
        return ()
    said = {
        "connectorLogicalName": prefix,
        "taskId": "0",
        "connectorName": connector,
        "runId": run,
    }
    return tuple(
        Header(f"__debezium.context.{name}", STRING, value) for name, value in said.items()
    )
