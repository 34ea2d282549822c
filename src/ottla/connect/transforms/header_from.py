"""HeaderFrom: fields copied, or moved, to headers."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ottla.connect.data import DataError, Header, Record, Schema, Struct
from ottla.connect.definitions import Definitions, InvalidConfig, Key, Kind, invalid
from ottla.connect.transforms.schemas import (
    REPLACE_NULL,
    SchemaCache,
    basics,
    fields_of,
    struct_schema,
    value_of,
)
from ottla.connect.transforms.transform import Operand, Settings, need_map, need_struct
from ottla.connect.validators import one_of


def _not_empty(name: str, value: Any) -> None:
    if not value:
        raise invalid(name, value, "Empty list")


DEFINITIONS = Definitions(
    (
        Key(
            name="fields",
            kind=Kind.LIST,
            importance="HIGH",
            doc="The fields whose values become headers.",
            validator=_not_empty,
        ),
        Key(
            name="headers",
            kind=Kind.LIST,
            importance="HIGH",
            doc="The headers' names, in the order of the fields.",
            validator=_not_empty,
        ),
        Key(
            name="operation",
            kind=Kind.STRING,
            importance="HIGH",
            doc="Whether the fields stay where they are, too (copy) or not (move).",
            validator=one_of("move", "copy"),
        ),
        REPLACE_NULL,
    )
)


class HeaderFrom:
    def __init__(self, settings: Settings, operand: Operand) -> None:
        self._operand = operand
        self._fields: list[str] = settings["fields"]
        self._headers: list[str] = settings["headers"]
        if len(self._fields) != len(self._headers):
            raise InvalidConfig(
                {
                    "fields": [
                        "'fields' config must have the same number of elements as 'headers' config."
                    ]
                }
            )
        self._move = settings["operation"] == "move"
        self._purpose = f"header {settings['operation']}"
        self._replace_null: bool = settings[REPLACE_NULL.name]
        self._schemas = SchemaCache(self._schema)

    def apply(self, record: Record) -> Record:
        value, schema = self._operand.value(record), self._operand.schema(record)
        if schema is None:
            held = need_map(value, self._purpose)
            added = [Header(name, None, held.get(one)) for one, name in self._pairs()]
            if self._move:
                held = {name: one for name, one in held.items() if name not in self._fields}
            changed = self._operand.replaced(record, None, dict(held))
        else:
            struct = need_struct(value, self._purpose)
            changed = self._moved(record, schema, struct) if self._move else record
            added = [self._header(schema, struct, one, name) for one, name in self._pairs()]
        return replace(changed, headers=(*record.headers, *added))

    def _pairs(self) -> Iterator[tuple[str, str]]:
        return zip(self._fields, self._headers, strict=True)

    def _header(self, schema: Schema, struct: Struct, field: str, name: str) -> Header:
        found = schema.field(field)
        if found is None:
            raise DataError(f"{field} is not a valid field name")
        return Header(name, found.schema, value_of(struct, field, self._replace_null))

    def _moved(self, record: Record, schema: Schema, struct: Struct) -> Record:
        made = Struct(self._schemas.get(schema))
        for one in made.schema.fields:
            made.put(one.name, value_of(struct, one.name, self._replace_null))
        return self._operand.replaced(record, made.schema, made)

    def _schema(self, schema: Schema) -> Schema:
        kept = [one for one in fields_of(schema) if one.name not in self._fields]
        return struct_schema(((one.name, one.schema) for one in kept), **basics(schema))
