"""JSON Schema as columns, and columns as JSON Schema. Pure; schemas are parsed JSON."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ottla.pipelines.formats.avro_types import NotReadable, NotWritable
from ottla.pipelines.formats.schema import Field, Schema

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructField, StructType

DRAFT = "http://json-schema.org/draft-07/schema#"
_SIMPLE = {"string": "STRING", "integer": "BIGINT", "number": "DOUBLE", "boolean": "BOOLEAN"}
_ANY = "STRING"  # what may be several things is the JSON of whichever it is


def columns(schema: Any) -> Schema:
    """The properties of an object; those that are required must be there."""
    root = _resolved(schema, schema, ())
    if not isinstance(root, dict) or not isinstance(root.get("properties"), dict):
        raise NotReadable("only objects with properties have columns")
    required = root.get("required") or []
    return tuple(
        Field(name, _type(one, schema, ()), name in required and not _may_be_null(one, schema))
        for name, one in root["properties"].items()
    )


def _resolved(node: Any, root: Any, within: tuple[str, ...]) -> Any:
    """What a reference inside the document stands for."""
    if not isinstance(node, dict) or "$ref" not in node:
        return node
    place = node["$ref"]
    if place in within:
        raise NotReadable(f"{place} contains itself, which no type of Spark's does")
    if not isinstance(place, str) or not place.startswith("#"):
        raise NotReadable(f"{place} is another document")
    found = root
    for step in filter(None, place[1:].split("/")):
        key = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(found, dict) or key not in found:
            raise NotReadable(f"{place} leads nowhere")
        found = found[key]
    return _resolved(found, root, (*within, place))


def _choices(node: Mapping[str, Any]) -> list[Any]:
    for word in ("oneOf", "anyOf"):
        if isinstance(node.get(word), list):
            return list(node[word])
    kind = node.get("type")
    return [{**node, "type": one} for one in kind] if isinstance(kind, list) else []


def _is_null(node: Any) -> bool:
    return isinstance(node, dict) and node.get("type") == "null"


def _may_be_null(node: Any, root: Any) -> bool:
    node = _resolved(node, root, ())
    return isinstance(node, dict) and any(map(_is_null, _choices(node)))


def _type(node: Any, root: Any, within: tuple[str, ...]) -> str:
    if isinstance(node, dict) and "$ref" in node:
        return _type(_resolved(node, root, within), root, (*within, node["$ref"]))
    if not isinstance(node, dict):
        return _ANY
    if choices := _choices(node):
        real = [one for one in choices if not _is_null(one)]
        return _type(real[0], root, within) if len(real) == 1 else _ANY
    kind = node.get("type")
    if kind == "array":
        items = node.get("items")
        return f"ARRAY<{_type(items, root, within) if isinstance(items, dict) else _ANY}>"
    if kind == "object" or "properties" in node:
        properties = node.get("properties")
        if properties:
            parts = (f"`{n}`: {_type(one, root, within)}" for n, one in properties.items())
            return f"STRUCT<{', '.join(parts)}>"
        values = node.get("additionalProperties")
        return f"MAP<STRING, {_type(values, root, within) if isinstance(values, dict) else _ANY}>"
    return _SIMPLE.get(str(kind), _ANY)


# --- the other way


def schema_of(type: "StructType", names: Iterable[str], title: str) -> dict[str, Any]:
    """Closed objects, so that columns may be added later; what may be null says so."""
    return {"$schema": DRAFT, "title": title, **_object([type[name] for name in names])}


def _object(fields: "Iterable[StructField]") -> dict[str, Any]:
    properties = {}
    for field in fields:
        kind = _json(field.dataType)
        if field.nullable:
            kind = {"oneOf": [{"type": "null"}, kind]}
        properties[field.name] = kind
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _json(type: "DataType") -> dict[str, Any]:
    from pyspark.sql import types as t

    match type:
        case t.BooleanType():
            return {"type": "boolean"}
        case t.ByteType() | t.ShortType() | t.IntegerType() | t.LongType():
            return {"type": "integer"}
        case t.FloatType() | t.DoubleType() | t.DecimalType():
            return {"type": "number"}
        case t.StringType() | t.BinaryType():
            return {"type": "string"}
        case t.DateType():
            return {"type": "string", "format": "date"}
        case t.TimestampType():
            return {"type": "string", "format": "date-time"}
        case t.TimestampNTZType():
            return {"type": "string"}
        case t.ArrayType(elementType=element, containsNull=null):
            kind = _json(element)
            items = {"oneOf": [{"type": "null"}, kind]} if null else kind
            return {"type": "array", "items": items}
        case t.MapType(valueType=value, valueContainsNull=null):
            kind = _json(value)
            values = {"oneOf": [{"type": "null"}, kind]} if null else kind
            return {"type": "object", "additionalProperties": values}
        case t.StructType(fields=fields):
            return _object(fields)
    raise NotWritable(f"JSON Schema has no type for {type.simpleString()}")
