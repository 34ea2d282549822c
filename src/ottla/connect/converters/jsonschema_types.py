"""JSON Schemas as Connect's schemas, as Confluent's converter reads them. Pure.

What has no type of its own (`{}`, `true`), and what holds itself, has no schema in Connect here,
and is refused. References are followed within the document and to the texts it is given.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from ottla.connect.converters.jsonschema_options import (
    ENUM,
    NULL_SYMBOL,
    ONE_OF,
    JsonSchemaOptions,
)
from ottla.connect.data import (
    DATE,
    DECIMAL,
    STRING_SCHEMA,
    TIME,
    TIMESTAMP,
    DataError,
    Field,
    Schema,
    Type,
    check_value,
)

_TYPES = {
    "int8": Type.INT8,
    "int16": Type.INT16,
    "int32": Type.INT32,
    "int64": Type.INT64,
    "float32": Type.FLOAT32,
    "float64": Type.FLOAT64,
    "bytes": Type.BYTES,
}
_LOGICAL = (DATE, DECIMAL, TIME, TIMESTAMP)
Parts = dict[str, Any]
Default = Callable[[Schema, Any], Any]  # JSON to a value


class ConnectSchemas:
    """Of one document; `others` are those that it refers to, by name."""

    def __init__(
        self,
        options: JsonSchemaOptions,
        document: Any,
        others: Mapping[str, str],
        default: Default,
    ) -> None:
        self._options = options
        self._document = document
        self._others = {name: json.loads(text) for name, text in others.items()}
        self._default = default
        self._open: list[int] = []  # those that this one stands within

    def schema(self, version: int | None = None) -> Schema:
        return self._schema(self._document, self._document, version=version)

    def _schema(
        self, node: Any, within: Any, *, optional: bool = False, version: int | None = None
    ) -> Schema:
        """`within`: the document of the node, where its references begin."""
        if not isinstance(node, dict) or not node:
            raise DataError(f"Unsupported schema type {json.dumps(node)}")
        if id(node) in self._open:
            raise DataError(f"{node.get('title', 'A schema')} holds itself: it is not read here")
        self._open.append(id(node))
        try:
            return self._found(node, within, optional, version)
        finally:
            self._open.pop()

    def _found(self, node: Any, within: Any, optional: bool, version: int | None) -> Schema:
        if "$ref" in node:
            there, document = self._referred(node["$ref"], within)
            return self._schema(there, document, optional=optional, version=version)
        for word in ("oneOf", "anyOf"):
            if word in node and not _has_properties(node):
                return self._either(node, node[word], within, optional, version)
        if "allOf" in node:
            return self._all(node, within, optional, version)
        if isinstance(node.get("type"), list):
            others = [node | {"type": one} for one in node["type"] if one != "null"]
            nulls = [{"type": "null"}] * (len(node["type"]) - len(others))
            return self._either({}, [*nulls, *others], within, optional, version)
        return self._finished(node, self._plain(node, within), optional, version)

    def _finished(self, node: Any, parts: Parts, optional: bool, version: int | None) -> Schema:
        if isinstance(node.get("title"), str):
            parts.setdefault("name", node["title"])
        told = node.get("connect.version", version)
        if told is not None and (version is None or parts.get("name") not in _LOGICAL):
            parts["version"] = told
        if isinstance(node.get("description"), str):
            parts["doc"] = node["description"]
        if isinstance(node.get("connect.parameters"), dict):
            said = {str(name): str(one) for name, one in node["connect.parameters"].items()}
            parts["parameters"] = {**parts.get("parameters", {}), **said}
        schema = Schema(**parts, optional=optional)
        if node.get("default") is None:
            return schema
        value = self._default(schema, node["default"])
        check_value(schema, value)
        return replace(schema, default=value)

    # --- types

    def _plain(self, node: Any, within: Any) -> Parts:
        said = node.get("connect.type")
        match node:
            case {"type": "boolean"}:
                return {"type": Type.BOOLEAN}
            case {"type": "integer" | "number" as kind}:
                plain = "int64" if kind == "integer" else "float64"
                if said is not None and said not in _TYPES:
                    raise DataError(f"Unsupported type {said}")
                return {"type": _TYPES[said or plain]}
            case {"enum": list(symbols)}:
                return _enum(symbols)
            case {"type": "string"}:
                return {"type": Type.BYTES if said == "bytes" else Type.STRING}
            case {"const": symbol}:
                return _enum([symbol])
            case {"type": "array"} | {"items": _}:
                return self._array(node, within)
        if node.get("type") == "object" or _has_properties(node) or said == "map":
            if said == "map":
                values = self._schema(node.get("additionalProperties"), within)
                return {"type": Type.MAP, "key_schema": STRING_SCHEMA, "value_schema": values}
            return self._struct(node.get("properties", {}), node.get("required", ()), within)
        raise DataError(f"Unsupported schema type {node.get('type', json.dumps(node))}")

    def _array(self, node: Any, within: Any) -> Parts:
        items = node.get("items")
        if not isinstance(items, dict):
            raise DataError("Array schema did not specify the items type")
        if node.get("connect.type") == "map" and "properties" in items:
            keys, values = (self._schema(items["properties"][one], within) for one in _ENTRY)
            return {"type": Type.MAP, "key_schema": keys, "value_schema": values}
        return {"type": Type.ARRAY, "value_schema": self._schema(items, within)}

    def _struct(self, properties: Mapping[str, Any], required: Any, within: Any) -> Parts:
        places: dict[int, str] = {}
        for name, node in properties.items():
            index = node.get("connect.index") if isinstance(node, dict) else None
            places[len(places) if index is None else index] = name
        loose = self._options.optional_unless_required
        fields = tuple(
            Field(
                name,
                self._schema(properties[name], within, optional=loose and name not in required),
            )
            for _, name in sorted(places.items())
        )
        return {"type": Type.STRUCT, "fields": fields}

    def _either(
        self, node: Any, choices: list[Any], within: Any, optional: bool, version: int | None
    ) -> Schema:
        others = [one for one in choices if not _is_null(one)]
        if len(choices) == 1 and self._options.flatten_singletons:
            return self._schema(choices[0], within)
        if len(choices) == 2 and len(others) == 1:
            return self._schema(others[0], within, optional=True, version=version)
        fields = tuple(
            Field(f"{ONE_OF}.field.{at}", self._schema(one, within, optional=True))
            for at, one in enumerate(others)
        )
        parts: Parts = {"type": Type.STRUCT, "name": ONE_OF, "fields": fields}
        return self._finished(node, parts, optional or len(others) < len(choices), version)

    def _all(self, node: Any, within: Any, optional: bool, version: int | None) -> Schema:
        """Objects are one struct of all their properties; else the first that has a type."""
        properties: dict[str, Any] = {}
        required: list[str] = []
        for one in [node, *node["allOf"]]:
            self._collect(one, within, properties, required)
        if properties:
            return Schema(**self._struct(properties, required, within), optional=optional)
        merged: dict[str, Any] = {}
        for one in node["allOf"]:
            merged |= one if isinstance(one, dict) else {}
        return self._schema(merged, within, optional=optional, version=version)

    def _collect(
        self, node: Any, within: Any, properties: dict[str, Any], required: list[str]
    ) -> None:
        if isinstance(node, dict) and "$ref" in node:
            node, within = self._referred(node["$ref"], within)
        if isinstance(node, dict):
            properties |= node.get("properties", {})
            required += node.get("required", ())
            for one in node.get("allOf", ()) if node is not self._document else ():
                self._collect(one, within, properties, required)

    # --- references

    def _referred(self, said: str, within: Any) -> tuple[Any, Any]:
        document, _, pointer = said.partition("#")
        if document:
            if document not in self._others:
                raise DataError(f"{said} refers to a schema that is not registered with this one")
            within = self._others[document]
        found = within
        for part in pointer.split("/")[1:]:
            name = unquote(part).replace("~1", "/").replace("~0", "~")
            try:
                found = found[int(name)] if isinstance(found, list) else found[name]
            except (KeyError, IndexError, ValueError, TypeError):
                raise DataError(f"{said} refers to nothing") from None
        return found, within


_ENTRY = ("key", "value")


def _has_properties(node: Any) -> bool:
    return "properties" in node or "additionalProperties" in node or "required" in node


def _is_null(node: Any) -> bool:
    return isinstance(node, dict) and node.get("type") == "null"


def _enum(symbols: list[Any]) -> Parts:
    shown = [_symbol(one) for one in symbols]
    return {
        "type": Type.STRING,
        "parameters": {ENUM: "", **{f"{ENUM}.{one}": one for one in shown}},
    }


def _symbol(one: Any) -> str:
    match one:
        case None:
            return NULL_SYMBOL
        case str():
            return one
    return json.dumps(one)
