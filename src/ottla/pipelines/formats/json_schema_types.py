"""JSON Schema as columns, and columns as JSON Schema. Pure; schemas are parsed JSON."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urljoin

from ottla.pipelines.formats.avro_types import NotReadable, NotWritable
from ottla.pipelines.formats.schema import Field, Schema

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructField, StructType

DRAFT = "http://json-schema.org/draft-07/schema#"
_SIMPLE = {"string": "STRING", "integer": "BIGINT", "number": "DOUBLE", "boolean": "BOOLEAN"}
_ANY = "STRING"  # what may be several things is the JSON of whichever it is
_NOT_JUDGED = ("$dynamicRef", "$recursiveRef")


def columns(schema: Any, documents: Mapping[str, Any] | None = None) -> Schema:
    """The properties of an object; those that are required must be there.

    `documents` are those that it refers to, by the names that it has for them.
    """
    reader = _Reader(documents or {})
    root, within = reader.resolved(schema, schema, ())
    if not isinstance(root, dict) or not isinstance(root.get("properties"), dict):
        raise NotReadable("only objects with properties have columns")
    required = root.get("required") or []
    return tuple(
        Field(
            name,
            reader.type(one, within, ()),
            name in required and not reader.may_be_null(one, within),
        )
        for name, one in root["properties"].items()
    )


def type_of(schema: Any, documents: Mapping[str, Any] | None = None) -> str:
    """What any schema is of Spark's types, an object or not."""
    return _Reader(documents or {}).type(schema, schema, ())


def why_not_judged(schema: Any) -> str | None:
    """What of a schema cannot be checked in records; None where all of it can be."""
    import re2

    for node in _nodes(schema):
        for word in _NOT_JUDGED:
            if word in node:
                return f"{word} cannot be followed"
        for pattern in _patterns(node):
            try:
                re2.compile(pattern)
            except re2.error:
                return f"the pattern {pattern} is none of RE2's"
    return None


def _nodes(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        for name, inner in value.items():
            if name not in ("enum", "const"):
                yield from _nodes(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _nodes(inner)


def _patterns(node: Mapping[str, Any]) -> Iterator[str]:
    if isinstance(said := node.get("pattern"), str):
        yield said
    if isinstance(named := node.get("patternProperties"), dict):
        yield from named


class _Reader:
    """A node is read with the document that it stands in: that is where its references start."""

    def __init__(self, documents: Mapping[str, Any]) -> None:
        self._documents = documents

    def resolved(self, node: Any, root: Any, within: tuple[str, ...]) -> tuple[Any, Any]:
        """What a reference stands for, and the document that this is in."""
        if not isinstance(node, dict) or "$ref" not in node:
            return node, root
        place = node["$ref"]
        if place in within:
            raise NotReadable(f"{place} contains itself, which no type of Spark's does")
        name, _, fragment = str(place).partition("#")
        found = document = self._document(name, root)
        for step in filter(None, unquote(fragment).split("/")):
            key = step.replace("~1", "/").replace("~0", "~")
            if not isinstance(found, dict) or key not in found:
                raise NotReadable(f"{place} leads nowhere")
            found = found[key]
        return self.resolved(found, document, (*within, place))

    def _document(self, name: str, root: Any) -> Any:
        if not name:
            return root
        base = root.get("$id") if isinstance(root, dict) else None
        for known in (name, urljoin(base or "", name)):
            if known in self._documents:
                return self._documents[known]
        raise NotReadable(f"{name} is another document, and no reference of the schema")

    def may_be_null(self, node: Any, root: Any) -> bool:
        node, _ = self.resolved(node, root, ())
        return isinstance(node, dict) and any(map(_is_null, _choices(node)))

    def type(self, node: Any, root: Any, within: tuple[str, ...]) -> str:
        if isinstance(node, dict) and "$ref" in node:
            found, document = self.resolved(node, root, within)
            return self.type(found, document, (*within, node["$ref"]))
        if not isinstance(node, dict):
            return _ANY
        if choices := _choices(node):
            real = [one for one in choices if not _is_null(one)]
            return self.type(real[0], root, within) if len(real) == 1 else _ANY
        kind = node.get("type")
        if kind == "array":
            items = node.get("items")
            return f"ARRAY<{self.type(items, root, within) if isinstance(items, dict) else _ANY}>"
        if kind == "object" or "properties" in node:
            return self._object(node, root, within)
        return _SIMPLE.get(str(kind), _ANY)

    def _object(self, node: Mapping[str, Any], root: Any, within: tuple[str, ...]) -> str:
        if properties := node.get("properties"):
            parts = (f"`{n}`: {self.type(one, root, within)}" for n, one in properties.items())
            return f"STRUCT<{', '.join(parts)}>"
        values = node.get("additionalProperties")
        return (
            f"MAP<STRING, {self.type(values, root, within) if isinstance(values, dict) else _ANY}>"
        )


def _choices(node: Mapping[str, Any]) -> list[Any]:
    for word in ("oneOf", "anyOf"):
        if isinstance(node.get(word), list):
            return list(node[word])
    kind = node.get("type")
    return [{**node, "type": one} for one in kind] if isinstance(kind, list) else []


def _is_null(node: Any) -> bool:
    return isinstance(node, dict) and node.get("type") == "null"


# --- the other way


def schema_of(type: "StructType", names: Iterable[str], title: str) -> dict[str, Any]:
    """Closed objects, so that columns may be added later; what may be null says so."""
    return {"$schema": DRAFT, "title": title, **_object([type[name] for name in names])}


def schema_of_one(type: "DataType", title: str) -> dict[str, Any]:
    """Of a single value, as keys are."""
    return {"$schema": DRAFT, "title": title, **_json(type)}


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
