"""Flatten: nested structs and maps become one, their fields' names joined."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ottla.connect.data import (
    DataError,
    Record,
    Schema,
    Struct,
    Type,
    java_class,
    schemaless_type,
)
from ottla.connect.definitions import Definitions, Key, Kind
from ottla.connect.transforms.schemas import (
    SchemaCache,
    basics,
    fields_of,
    struct_schema,
    with_default,
)
from ottla.connect.transforms.transform import Operand, Settings, need_map, need_struct

_PURPOSE = "flattening"
DEFINITIONS = Definitions(
    (
        Key(
            name="delimiter",
            kind=Kind.STRING,
            default=".",
            doc="What stands between the names that are joined.",
        ),
    )
)


class Flatten:
    def __init__(self, settings: Settings, operand: Operand) -> None:
        self._operand = operand
        self._delimiter: str = settings["delimiter"]
        self._schemas = SchemaCache(self._schema)

    def apply(self, record: Record) -> Record:
        value, schema = self._operand.value(record), self._operand.schema(record)
        if value is None:
            return record
        if schema is None:
            flat = dict(self._entries(need_map(value, _PURPOSE), ""))
            return self._operand.replaced(record, None, flat)
        struct = need_struct(value, _PURPOSE)
        made = Struct(self._schemas.get(schema))
        self._fill(struct, "", made)
        return self._operand.replaced(record, made.schema, made)

    def _name(self, prefix: str, name: str) -> str:
        return f"{prefix}{self._delimiter}{name}" if prefix else name

    def _entries(self, held: dict[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
        for key, value in held.items():
            name = self._name(prefix, key)
            match None if value is None else schemaless_type(value):
                case None if value is not None:
                    raise DataError(
                        f"Flatten transformation was passed a value of type class "
                        f"{java_class(value)} which is not supported by Connect's data API"
                    )
                case Type.MAP:
                    yield from self._entries(value, name)
                case Type.STRUCT:
                    raise DataError(
                        f"Flatten transformation does not support class {java_class(value)} for "
                        f"record without schemas (for field {name})."
                    )
                case _:
                    yield name, value

    def _schema(self, schema: Schema) -> Schema:
        fields = self._fields(schema, "", schema.optional, schema.default)
        return struct_schema(fields, **basics(schema))

    def _fields(
        self, schema: Schema, prefix: str, optional: bool, default: Struct | None
    ) -> Iterator[tuple[str, Schema]]:
        for one in fields_of(schema):
            name = self._name(prefix, one.name)
            within = optional or one.schema.optional
            own = one.schema.default
            if own is None and default is not None:
                own = default.get(one.name)
            match one.schema.type:
                case Type.STRUCT:
                    yield from self._fields(one.schema, name, within, own)
                case Type.MAP:
                    raise _no_map(name)
                case _:
                    plain = replace(one.schema, optional=within, default=None)
                    yield name, plain if own is None else with_default(plain, own)

    def _fill(self, struct: Struct | None, prefix: str, made: Struct) -> None:
        if struct is None:
            return
        for one in struct.schema.fields:
            name = self._name(prefix, one.name)
            match one.schema.type:
                case Type.STRUCT:
                    self._fill(struct.get(one.name), name, made)
                case Type.MAP:
                    raise _no_map(name)
                case _:
                    made.put(name, struct.get(one.name))


def _no_map(name: str) -> DataError:
    return DataError(
        f"Flatten transformation does not support MAP for record with schemas (for field {name})."
    )
