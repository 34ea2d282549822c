"""Connect's schemas as JSON Schema, and their values as JSON, as Confluent's converter has them.

Pure. Values differ from JsonConverter's in two things: entries of maps by other than texts are
objects, and a required field that is null is left out.
"""

from dataclasses import replace
from typing import Any

import msgspec

from ottla.connect.converters.json_writing import Write, Writing
from ottla.connect.converters.jsonschema_options import (
    ENUM,
    NAMESPACE,
    NULL_SYMBOL,
    ONE_OF,
    JsonSchemaOptions,
)
from ottla.connect.data import DECIMAL, DataError, Schema, Struct, Type

_NUMBERS = {
    Type.INT8: "int8",
    Type.INT16: "int16",
    Type.INT32: "int32",
    Type.INT64: "int64",
    Type.FLOAT32: "float32",
    Type.FLOAT64: "float64",
}
_FRACTIONS = (Type.FLOAT32, Type.FLOAT64)
Node = dict[str, Any]


def is_text_map(schema: Schema) -> bool:
    keys = schema.key_schema
    return keys is not None and keys.type is Type.STRING and not keys.optional


class JsonSchemas:
    def __init__(self, options: JsonSchemaOptions, values: Writing) -> None:
        self._options = options
        self._values = values

    def node(self, schema: Schema, index: int | None = None) -> Node:
        if _is_union(schema):
            members = [self._member(one.schema, at) for at, one in enumerate(schema.fields)]
            made: Node = {"oneOf": [*([{"type": "null"}] if schema.optional else []), *members]}
        elif schema.optional:
            made = {"oneOf": [{"type": "null"}, self._plain(replace(schema, optional=False))]}
        else:
            made = self._plain(schema)
        return made if index is None else made | {"connect.index": index}

    def _member(self, schema: Schema, index: int) -> Node:
        return self.node(replace(schema, optional=False), index)

    def _plain(self, schema: Schema) -> Node:
        made: Node = {}
        if schema.name is not None:
            made["title"] = schema.name
        if schema.doc is not None:
            made["description"] = schema.doc
        if schema.default is not None:
            made["default"] = self._values.node(schema, schema.default)
        made |= self._type(schema)
        if schema.version is not None:
            made["connect.version"] = schema.version
        said = (schema.parameters or {}).items()
        parameters = {name: one for name, one in said if not name.startswith(NAMESPACE)}
        return made | ({"connect.parameters": parameters} if parameters else {})

    def _type(self, schema: Schema) -> Node:
        match schema.type:
            case kind if kind in _NUMBERS:
                shown = "number" if kind in _FRACTIONS else "integer"
                return {"type": shown, "connect.type": _NUMBERS[kind]}
            case Type.BOOLEAN:
                return {"type": "boolean"}
            case Type.STRING:
                return self._text(schema)
            case Type.BYTES:
                numeric = schema.name == DECIMAL and self._options.numeric_decimals
                return {"type": "number" if numeric else "string", "connect.type": "bytes"}
            case Type.ARRAY:
                return {"type": "array", "items": self.node(_known(schema.value_schema))}
            case Type.MAP:
                return self._map(schema)
        properties = {one.name: self.node(one.schema, at) for at, one in enumerate(schema.fields)}
        made: Node = {"type": "object"}
        if properties:
            made["properties"] = properties
        return made if self._options.open_objects else made | {"additionalProperties": False}

    def _text(self, schema: Schema) -> Node:
        if ENUM not in (schema.parameters or ()):
            return {"type": "string"}
        prefix = f"{ENUM}."
        symbols = [one.removeprefix(prefix) for one in schema.parameters or () if prefix in one]
        return {"enum": [None if one == NULL_SYMBOL else one for one in symbols]}

    def _map(self, schema: Schema) -> Node:
        keys, values = _known(schema.key_schema), _known(schema.value_schema)
        if is_text_map(schema):
            shape: Node = {"type": "object", "additionalProperties": self.node(values)}
        else:
            entry = {"key": self.node(keys, 0), "value": self.node(values, 1)}
            shape = {"type": "array", "items": {"type": "object", "properties": entry}}
        return shape | {"connect.type": "map"}


class JsonSchemaValues(Writing):
    def __init__(self, options: JsonSchemaOptions) -> None:
        super().__init__(not options.ignore_defaults, options.numeric_decimals)
        self._ignore = options.ignore_defaults

    def _null(self, schema: Schema, write: Write) -> Any:
        if schema.default is not None and not self._ignore:
            return super()._null(schema, write)
        return None

    def _struct(self, schema: Schema) -> Write:
        if _is_union(schema):
            return self._union(schema)
        left_out = {
            one.name
            for one in schema.fields
            if not one.schema.optional and (one.schema.default is None or self._ignore)
        }
        fields = [(one.name, self.writer(one.schema)) for one in schema.fields]

        def write(value: Struct) -> dict[str, Any]:
            if value.schema is not schema and value.schema != schema:
                raise DataError("Mismatching schema.")
            get = value.values.get
            made = {}
            for name, within in fields:
                held = get(name)
                if held is not None or name not in left_out:
                    made[name] = within(held)
            return made

        return write

    def _union(self, schema: Schema) -> Write:
        members = [(one.name, self.writer(one.schema)) for one in schema.fields]

        def write(value: Struct) -> Any:
            for name, within in members:
                if value.values.get(name) is not None:
                    return within(value.values[name])
            return None

        return write

    def _map(self, schema: Schema) -> Write:
        if is_text_map(schema):
            return super()._map(schema)
        keys, values = self.writer(schema.key_schema), self.writer(schema.value_schema)
        return lambda value: [
            {"key": keys(key), "value": values(one)} for key, one in value.items()
        ]


def encoded(node: Any) -> bytes:
    return _encoder.encode(node)


_encoder = msgspec.json.Encoder(decimal_format="number")


def _is_union(schema: Schema) -> bool:
    return schema.type is Type.STRUCT and schema.name == ONE_OF


def _known(schema: Schema | None) -> Schema:
    if schema is None:
        raise DataError("A schema within another cannot be null.")
    return schema
