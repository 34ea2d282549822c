"""What DDL changed, as records of the schema changes topic and documents of schema histories. Pure.

Both tell a table in full after each change, so that who reads them needs no parser. A history's
document is Debezium's: it goes on with what we wrote, and we with what it wrote.
"""

import functools
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ottla.connect.connectors.debezium.schemas import (
    INT32,
    INT64,
    OPTIONAL_STRING,
    STRING,
    sanitised,
)
from ottla.connect.connectors.mysql_cdc.ddl import Change, Schema
from ottla.connect.connectors.mysql_cdc.envelope import Naming, Server, Source, source_schema
from ottla.connect.connectors.mysql_cdc.tables import Column, Table, TableId
from ottla.connect.connectors.mysql_cdc.tokens import identifier, tokens
from ottla.connect.data import OPTIONAL_BOOLEAN, Field, Record, Struct, Type
from ottla.connect.data import Schema as ConnectSchema
from ottla.connect.java_map import in_hash_order

_OPTIONAL_INT32: Final = ConnectSchema(type=Type.INT32, optional=True)
_COLUMN: Final = ConnectSchema(
    type=Type.STRUCT,
    name="io.debezium.connector.schema.Column",
    version=1,
    fields=(
        Field("name", STRING),
        Field("jdbcType", INT32),
        Field("nativeType", _OPTIONAL_INT32),
        Field("typeName", STRING),
        Field("typeExpression", OPTIONAL_STRING),
        Field("charsetName", OPTIONAL_STRING),
        Field("length", _OPTIONAL_INT32),
        Field("scale", _OPTIONAL_INT32),
        Field("position", INT32),
        Field("optional", OPTIONAL_BOOLEAN),
        Field("autoIncremented", OPTIONAL_BOOLEAN),
        Field("generated", OPTIONAL_BOOLEAN),
        Field("comment", OPTIONAL_STRING),
        Field("defaultValueExpression", OPTIONAL_STRING),
        Field("enumValues", ConnectSchema(type=Type.ARRAY, optional=True, value_schema=STRING)),
    ),
)
_TABLE: Final = ConnectSchema(
    type=Type.STRUCT,
    optional=True,
    name="io.debezium.connector.schema.Table",
    version=1,
    fields=(
        Field("defaultCharsetName", OPTIONAL_STRING),
        Field(
            "primaryKeyColumnNames",
            ConnectSchema(type=Type.ARRAY, optional=True, value_schema=STRING),
        ),
        Field("columns", ConnectSchema(type=Type.ARRAY, value_schema=_COLUMN)),
        Field("comment", OPTIONAL_STRING),
    ),
)
_CHANGE: Final = ConnectSchema(
    type=Type.STRUCT,
    name="io.debezium.connector.schema.Change",
    version=1,
    fields=(Field("type", STRING), Field("id", STRING), Field("table", _TABLE)),
)


@functools.cache
def _schemas(server: Server) -> tuple[ConnectSchema, ConnectSchema]:
    key = ConnectSchema(
        type=Type.STRUCT,
        name=f"io.debezium.connector.{server}.SchemaChangeKey",
        version=1,
        fields=(Field("databaseName", STRING),),
    )
    value = ConnectSchema(
        type=Type.STRUCT,
        name=f"io.debezium.connector.{server}.SchemaChangeValue",
        version=1,
        fields=(
            Field("source", source_schema(server)),
            Field("ts_ms", INT64),
            Field("databaseName", OPTIONAL_STRING),
            Field("schemaName", OPTIONAL_STRING),
            Field("ddl", OPTIONAL_STRING),
            Field("tableChanges", ConnectSchema(type=Type.ARRAY, value_schema=_CHANGE)),
        ),
    )
    return key, value


def schema_change_record(
    naming: Naming, change: Change, source: Source, now_ms: int, row: int = 0
) -> Record:
    key, value = _schemas(naming.server)
    table = "" if change.kind == "OTHER" else _names(change)
    values = {
        "source": source.struct(naming, change.database, table, row),
        "ts_ms": now_ms,
        "databaseName": change.database,
        "schemaName": None,
        "ddl": change.statement,
        "tableChanges": [_change_struct(change)] if _tells_table(change) else [],
    }
    return Record(
        topic=sanitised(naming.prefix),
        partition=0,
        key_schema=key,
        key=Struct(key, {"databaseName": change.database}),
        value_schema=value,
        value=Struct(value, values),
        headers=naming.headers(),
    )


def _names(change: Change) -> str | None:
    """All tables of the statement, in the order of a set of Java's."""
    if change.id is None:
        return None
    names = {str(one): one.name for one in (change.id, *change.others)}
    return ",".join(in_hash_order(names).values())


def _tells_table(change: Change) -> bool:
    """A view has none to tell."""
    return change.kind == "DROP" or (
        change.kind in ("CREATE", "ALTER") and change.table is not None
    )


def _change_struct(change: Change) -> Struct:
    assert change.id is not None
    table = None if change.kind == "DROP" or change.table is None else _table_struct(change.table)
    values = {"type": change.kind, "id": change.id.double_quoted, "table": table}
    return Struct(_CHANGE, values)


def _table_struct(table: Table) -> Struct:
    values = {
        "defaultCharsetName": table.charset,
        "primaryKeyColumnNames": list(table.key),
        "columns": [_column_struct(at, one) for at, one in enumerate(table.columns, 1)],
        "comment": table.comment,
    }
    return Struct(_TABLE, values)


def _column_struct(at: int, column: Column) -> Struct:
    told = _told(at, column)
    told.pop("hasDefaultValue")
    return Struct(_COLUMN, {"nativeType": None, **told})


def _told(at: int, column: Column) -> dict[str, Any]:
    """A column in Debezium's words."""
    return {
        "name": column.name,
        "jdbcType": column.jdbc_type,
        "typeName": column.type_name,
        "typeExpression": column.type_name,
        "charsetName": column.charset,
        "length": column.length,
        "scale": column.scale,
        "position": at,
        "optional": column.optional,
        "autoIncremented": column.auto_incremented,
        "generated": column.auto_incremented,
        "comment": column.comment,
        "hasDefaultValue": column.has_default,
        "defaultValueExpression": column.default,
        "enumValues": list(column.options) or None,
    }


# Documents of schema histories

_MAY_LACK: Final = ("length", "scale", "defaultValueExpression")


def history_document(
    partition: Mapping[str, Any], offset: Mapping[str, Any], change: Change, now_ms: int
) -> dict[str, Any]:
    return {
        "source": dict(partition),
        "position": dict(offset),
        "ts_ms": now_ms,
        "databaseName": change.database,
        "ddl": change.statement,
        "tableChanges": [_document(change)] if _tells_table(change) else [],
    }


def _document(change: Change) -> dict[str, Any]:
    assert change.id is not None
    document: dict[str, Any] = {"type": change.kind, "id": change.id.double_quoted}
    if change.previous is not None:
        document["previousId"] = change.previous.double_quoted
    table = change.table
    if change.kind != "DROP" and table is not None:
        document["table"] = {
            "defaultCharsetName": table.charset,
            "primaryKeyColumnNames": list(table.key),
            "columns": [_column_document(at, one) for at, one in enumerate(table.columns, 1)],
            "attributes": [],
        }
        document["comment"] = table.comment
    return document


def _column_document(at: int, column: Column) -> dict[str, Any]:
    told = _told(at, column)
    told["enumValues"] = list(column.options)
    return {
        name: value for name, value in told.items() if value is not None or name not in _MAY_LACK
    }


def apply_document(schema: Schema, document: Mapping[str, Any]) -> None:
    """What a history's record says: its tables where it has them, else its DDL."""
    changes: Sequence[Mapping[str, Any]] = document.get("tableChanges") or ()
    if not changes:
        if document.get("ddl"):
            schema.apply(document["ddl"], document.get("databaseName") or "")
        return
    schema.generation += 1
    for one in changes:
        id = _table_id(one["id"])
        if one["type"] == "DROP":
            schema.tables.pop(id, None)
            continue
        if one.get("previousId"):
            schema.tables.pop(_table_id(one["previousId"]), None)
        schema.tables[id] = _table(id, one)


def _table_id(text: str) -> TableId:
    """`"shop"."orders"`."""
    names = [identifier(one) for one in tokens(text) if one.kind in ("string", "word")]
    return TableId(names[0], names[-1])


def _table(id: TableId, change: Mapping[str, Any]) -> Table:
    said = change["table"]
    ordered = sorted(said["columns"], key=lambda one: one["position"])
    return Table(
        id=id,
        columns=tuple(_column(one) for one in ordered),
        key=tuple(said.get("primaryKeyColumnNames") or ()),
        charset=said.get("defaultCharsetName"),
        comment=change.get("comment"),
    )


def _column(said: Mapping[str, Any]) -> Column:
    expression = said.get("defaultValueExpression")
    return Column(
        name=said["name"],
        jdbc_type=said["jdbcType"],
        type_name=said["typeName"],
        charset=said.get("charsetName"),
        length=said.get("length"),
        scale=said.get("scale"),
        optional=bool(said.get("optional", True)),
        auto_incremented=bool(said.get("autoIncremented")),
        has_default=bool(said.get("hasDefaultValue")) or expression is not None,
        default=expression,
        options=tuple(said.get("enumValues") or ()),
        comment=said.get("comment"),
    )
