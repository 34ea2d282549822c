"""Schemas as JsonConverter's envelope has them, both ways, the recent ones remembered."""

from collections.abc import Callable
from typing import Any

from ottla.connect.converters.json_nodes import MISSING
from ottla.connect.converters.json_reading import Reading
from ottla.connect.converters.json_writing import Writing
from ottla.connect.data import DataError, Field, Schema, Type, check_value

_REMEMBERED = 16
_WRITTEN = 1024
_TYPES = {one.value: one for one in Type}


class SchemaWriter:
    def __init__(self, writing: Writing, encode: Callable[[Any], bytes]) -> None:
        self._writing = writing
        self._encode = encode
        self._known: dict[int, tuple[Schema, bytes]] = {}  # by identity; the schema keeps its id

    def text(self, schema: Schema | None) -> bytes:
        if schema is None:
            return b"null"
        known = self._known.get(id(schema))
        if known is not None:
            return known[1]
        made = self._encode(self._made(schema))
        if len(self._known) >= _WRITTEN:
            self._known.clear()
        self._known[id(schema)] = (schema, made)
        return made

    def _made(self, schema: Schema) -> dict[str, Any]:
        made: dict[str, Any] = {"type": schema.type.value}
        match schema.type:
            case Type.ARRAY:
                made["items"] = self._inner(schema.value_schema)
            case Type.MAP:
                made["keys"] = self._inner(schema.key_schema)
                made["values"] = self._inner(schema.value_schema)
            case Type.STRUCT:
                made["fields"] = [
                    {**self._made(one.schema), "field": one.name} for one in schema.fields
                ]
        made["optional"] = schema.optional
        told = {"name": schema.name, "version": schema.version, "doc": schema.doc}
        made |= {name: said for name, said in told.items() if said is not None}
        if schema.parameters is not None:
            made["parameters"] = dict(schema.parameters)
        if schema.default is not None:
            made["default"] = self._writing.node(schema, schema.default)
        return made

    def _inner(self, schema: Schema | None) -> Any:
        return None if schema is None else self._made(schema)


class SchemaReader:
    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._recent: list[tuple[Any, Schema]] = []

    def schema(self, node: Any) -> Schema | None:
        if node is None:
            return None
        for known, made in self._recent:
            if known == node:
                return made
        found = self._made(node)
        self._recent = [(node, found), *self._recent[: _REMEMBERED - 1]]
        return found

    def _made(self, node: Any) -> Schema:
        said = node.get("type") if isinstance(node, dict) else None
        if not isinstance(said, str):
            raise DataError("Schema must contain 'type' field")
        if said not in _TYPES:
            raise DataError(f"Unknown schema type: {said}")
        kind = _TYPES[said]
        inner = self._inner(kind, node)
        version, name, doc = node.get("version"), node.get("name"), node.get("doc")
        parts: dict[str, Any] = {
            "type": kind,
            "optional": node.get("optional") is True,
            "name": name if isinstance(name, str) else None,
            "version": version if type(version) is int else None,
            "doc": doc if isinstance(doc, str) else None,
            "parameters": _parameters(node.get("parameters")),
            **inner,
        }
        plain = Schema(**parts)
        default = node.get("default", MISSING)
        if default is MISSING:
            return plain
        value = self._reading.value(plain, default)
        try:
            check_value(plain, value)
        except DataError as error:
            raise DataError("Invalid default value") from error
        return Schema(**parts, default=value)

    def _inner(self, kind: Type, node: dict[str, Any]) -> dict[str, Any]:
        match kind:
            case Type.ARRAY:
                if node.get("items") is None:
                    raise DataError("Array schema did not specify the element type")
                return {"value_schema": self.schema(node["items"])}
            case Type.MAP:
                if "keys" not in node:
                    raise DataError("Map schema did not specify the key type")
                if "values" not in node:
                    raise DataError("Map schema did not specify the value type")
                keys, values = self.schema(node["keys"]), self.schema(node["values"])
                return {"key_schema": _needed(keys), "value_schema": _needed(values)}
            case Type.STRUCT:
                return {"fields": self._fields(node.get("fields"))}
        return {}

    def _fields(self, nodes: Any) -> tuple[Field, ...]:
        if not isinstance(nodes, list):
            raise DataError('Struct schema\'s "fields" argument is not an array.')
        found: dict[str, Field] = {}
        for node in nodes:
            name = node.get("field") if isinstance(node, dict) else None
            if not isinstance(name, str):
                raise DataError("Struct schema's field name not specified properly")
            schema = self.schema(node)
            if not name:
                raise DataError("fieldName cannot be null.")
            if name in found:
                raise DataError(f"Cannot create field because of field name duplication {name}")
            found[name] = Field(name, _needed(schema))
        return tuple(found.values())


def _needed(schema: Schema | None) -> Schema:
    if schema is None:
        raise DataError("A schema within another cannot be null.")
    return schema


def _parameters(node: Any) -> dict[str, str] | None:
    if not isinstance(node, dict) or not node:
        return None
    if not all(isinstance(one, str) for one in node.values()):
        raise DataError("Schema parameters must have string values.")
    return dict(node)
