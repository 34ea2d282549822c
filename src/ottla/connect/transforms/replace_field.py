"""ReplaceField: fields left out, or renamed."""

from typing import Any

from ottla.connect.data import Record, Schema, Struct
from ottla.connect.definitions import Definitions, Key, Kind, invalid
from ottla.connect.java_text import java_split
from ottla.connect.transforms.schemas import (
    REPLACE_NULL,
    SchemaCache,
    basics,
    fields_of,
    struct_schema,
    value_of,
)
from ottla.connect.transforms.transform import Operand, Settings, need_map, need_struct
from ottla.connect.validators import distinct_values

_PURPOSE = "field replacement"


def _renames(said: list[str]) -> dict[str, str]:
    found = {}
    for mapping in said:
        parts = java_split(mapping, ":")
        if len(parts) != 2:
            raise invalid("renames", said, f"Invalid rename mapping: {mapping}")
        found[parts[0]] = parts[1]
    return found


def _check_renames(name: str, value: Any) -> None:
    _renames(value)


DEFINITIONS = Definitions(
    (
        Key(
            name="exclude",
            kind=Kind.LIST,
            default=[],
            doc="Fields that are left out, even if they are included.",
            validator=distinct_values(),
        ),
        Key(
            name="include",
            kind=Kind.LIST,
            default=[],
            doc="The only fields that are kept; empty: all.",
            validator=distinct_values(),
        ),
        Key(
            name="renames",
            kind=Kind.LIST,
            default=[],
            doc="Pairs old:new with commas between.",
            validator=_check_renames,
        ),
        REPLACE_NULL,
    )
)


class ReplaceField:
    def __init__(self, settings: Settings, operand: Operand) -> None:
        self._operand = operand
        self._exclude = frozenset(settings["exclude"])
        self._include = frozenset(settings["include"])
        self._renames = _renames(settings["renames"])
        self._originals = {new: old for old, new in self._renames.items()}
        self._replace_null: bool = settings[REPLACE_NULL.name]
        self._schemas = SchemaCache(self._schema)

    def _kept(self, name: str) -> bool:
        return name not in self._exclude and (not self._include or name in self._include)

    def apply(self, record: Record) -> Record:
        value, schema = self._operand.value(record), self._operand.schema(record)
        if value is None:
            return record
        if schema is None:
            held = {
                self._renames.get(name, name): one
                for name, one in need_map(value, _PURPOSE).items()
                if self._kept(name)
            }
            return self._operand.replaced(record, None, held)
        struct = need_struct(value, _PURPOSE)
        made = Struct(self._schemas.get(struct.schema))
        for one in made.schema.fields:
            original = self._originals.get(one.name, one.name)
            made.put(one.name, value_of(struct, original, self._replace_null))
        return self._operand.replaced(record, made.schema, made)

    def _schema(self, schema: Schema) -> Schema:
        fields = (
            (self._renames.get(one.name, one.name), one.schema)
            for one in fields_of(schema)
            if self._kept(one.name)
        )
        return struct_schema(fields, **basics(schema))
