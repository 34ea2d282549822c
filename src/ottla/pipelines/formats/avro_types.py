"""Avro's schemas as Spark's types and back, as Spark itself translates them.

Pure. Schemas are Avro's JSON, parsed; `AvroFrames.java` does the same to values.
"""

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ottla.pipelines.formats.schema import Field, Schema

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType

_PRIMITIVE = {
    "null": "VOID",
    "boolean": "BOOLEAN",
    "int": "INT",
    "long": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "bytes": "BINARY",
    "string": "STRING",
}
_LOGICAL = {
    ("int", "date"): "DATE",
    ("long", "timestamp-millis"): "TIMESTAMP",
    ("long", "timestamp-micros"): "TIMESTAMP",
    ("long", "local-timestamp-millis"): "TIMESTAMP_NTZ",
    ("long", "local-timestamp-micros"): "TIMESTAMP_NTZ",
}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class NotReadable(ValueError):
    """Why a schema has no columns."""


def columns(texts: tuple[str, ...]) -> Schema:
    """Of the last schema, which may name types of those before it."""
    names: dict[str, Any] = {}
    parsed: Any = None
    for text in texts:
        parsed = _loaded(text)
        _collect(parsed, "", names)
    if not isinstance(parsed, dict) or parsed.get("type") != "record":
        raise NotReadable("only records have columns")
    space = _space(parsed, "")
    return tuple(
        Field(field["name"], _type(field["type"], space, names, ())) for field in parsed["fields"]
    )


def primitive(text: str) -> str | None:
    """The type of a schema that is one value and no more: text, a number, bytes."""
    parsed = _loaded(text)
    kind = parsed.get("type") if isinstance(parsed, dict) else parsed
    return kind if isinstance(kind, str) and kind in _PRIMITIVE else None


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise NotReadable("it is no Avro schema") from None


def _space(schema: Mapping[str, Any], outer: str) -> str:
    name = schema.get("name", "")
    if "." in name:
        return str(name.rpartition(".")[0])
    return str(schema.get("namespace", outer) or "")


def _full(name: str, space: str) -> str:
    return name if "." in name or not space else f"{space}.{name}"


def _collect(schema: Any, space: str, names: dict[str, Any]) -> None:
    if isinstance(schema, list):
        for one in schema:
            _collect(one, space, names)
    if not isinstance(schema, dict):
        return
    kind = schema.get("type")
    if kind in ("record", "error", "enum", "fixed"):
        space = _space(schema, space)
        names[_full(schema["name"], space)] = schema, space
        for field in schema.get("fields", ()):
            _collect(field["type"], space, names)
    else:
        for inner in ("type", "items", "values"):
            _collect(schema.get(inner), space, names)


def _type(schema: Any, space: str, names: Mapping[str, Any], within: tuple[str, ...]) -> str:
    if isinstance(schema, list):
        return _union(schema, space, names, within)
    if isinstance(schema, str):
        if schema in _PRIMITIVE:
            return _PRIMITIVE[schema]
        full = _full(schema, space)
        if full not in names and schema in names:
            full = schema
        if full not in names:
            raise NotReadable(f"the type {schema} is not there")
        named, space = names[full]
        return _type(named, space, names, within)
    kind = schema["type"]
    if isinstance(kind, dict | list):
        return _type(kind, space, names, within)
    logical = schema.get("logicalType")
    if kind in ("bytes", "fixed") and logical == "decimal":
        return f"DECIMAL({schema['precision']}, {schema.get('scale', 0)})"
    if (kind, logical) in _LOGICAL:
        return _LOGICAL[kind, logical]
    match kind:
        case "array":
            return f"ARRAY<{_type(schema['items'], space, names, within)}>"
        case "map":
            return f"MAP<STRING, {_type(schema['values'], space, names, within)}>"
        case "enum":
            return "STRING"
        case "fixed":
            return "BINARY"
        case "record" | "error":
            return _record(schema, _space(schema, space), names, within)
    return _type(kind, space, names, within)


def _record(schema: Any, space: str, names: Mapping[str, Any], within: tuple[str, ...]) -> str:
    full = _full(schema["name"], space)
    if full in within:
        raise NotReadable(f"{full} contains itself, which no type of Spark's does")
    inside = (*within, full)
    parts = (f"`{f['name']}`: {_type(f['type'], space, names, inside)}" for f in schema["fields"])
    return f"STRUCT<{', '.join(parts)}>"


def _union(schema: list[Any], space: str, names: Mapping[str, Any], within: tuple[str, ...]) -> str:
    """Numbers of two sizes are the larger; other choices a struct with one member set."""
    choices = [one for one in schema if one != "null"]
    if len(choices) == 1:
        return _type(choices[0], space, names, within)
    types = [_type(one, space, names, within) for one in choices]
    if set(types) == {"INT", "BIGINT"}:
        return "BIGINT"
    if set(types) == {"FLOAT", "DOUBLE"}:
        return "DOUBLE"
    return f"STRUCT<{', '.join(f'`member{at}`: {one}' for at, one in enumerate(types))}>"


_TIMES = ("time-millis", "time-micros")


def for_spark(text: str) -> str:
    """The schema without times of a day: Spark has a type for them that it does not support."""
    return json.dumps(_plain(json.loads(text)))


def _plain(schema: Any) -> Any:
    match schema:
        case dict():
            kept = {name: _plain(one) for name, one in schema.items()}
            if kept.get("logicalType") in _TIMES:
                del kept["logicalType"]
            return kept
        case list():
            return [_plain(one) for one in schema]
    return schema


# --- the other way


class NotWritable(ValueError):
    """Why a row has no schema."""


def schema_of(type: "StructType", names: list[str], record: str) -> dict[str, Any]:
    """The Avro schema of rows: what may be null is a union with null, and null by default."""
    space, _, name = record.rpartition(".")
    schema = _record_of([type[one] for one in names], name)
    return {"type": "record", "name": name, "namespace": space, **schema} if space else schema


def schema_of_one(type: "DataType", name: str) -> Any:
    """The Avro schema of a single value, as keys are; a struct is a record of the name."""
    from pyspark.sql.types import StructType

    return schema_of(type, type.names, name) if isinstance(type, StructType) else _avro(type, name)


def _record_of(fields: Any, name: str) -> dict[str, Any]:
    made = []
    for field in fields:
        if not _NAME.fullmatch(field.name):
            raise NotWritable(f"Avro has no field of the name {field.name!r}: rename() it")
        kind = _avro(field.dataType, f"{name}_{field.name}")
        if field.nullable:
            made.append({"name": field.name, "type": ["null", kind], "default": None})
        else:
            made.append({"name": field.name, "type": kind})
    return {"type": "record", "name": name, "fields": made}


def _avro(type: "DataType", name: str) -> Any:
    from pyspark.sql import types as t

    match type:
        case t.BooleanType():
            return "boolean"
        case t.ByteType() | t.ShortType() | t.IntegerType():
            return "int"
        case t.LongType():
            return "long"
        case t.FloatType():
            return "float"
        case t.DoubleType():
            return "double"
        case t.StringType():
            return "string"
        case t.BinaryType():
            return "bytes"
        case t.DecimalType(precision=precision, scale=scale):
            decimal = {"type": "bytes", "logicalType": "decimal"}
            return {**decimal, "precision": precision, "scale": scale}
        case t.DateType():
            return {"type": "int", "logicalType": "date"}
        case t.TimestampType():
            return {"type": "long", "logicalType": "timestamp-micros"}
        case t.TimestampNTZType():
            return {"type": "long", "logicalType": "local-timestamp-micros"}
        case t.ArrayType(elementType=element, containsNull=null):
            return {"type": "array", "items": _maybe(_avro(element, f"{name}_item"), null)}
        case t.MapType(keyType=t.StringType(), valueType=value, valueContainsNull=null):
            return {"type": "map", "values": _maybe(_avro(value, f"{name}_value"), null)}
        case t.StructType(fields=fields):
            return _record_of(fields, name)
    raise NotWritable(f"Avro has no type for {type.simpleString()}")


def _maybe(kind: Any, null: bool) -> Any:
    return ["null", kind] if null else kind
