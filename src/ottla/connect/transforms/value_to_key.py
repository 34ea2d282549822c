"""ValueToKey: a key made of fields of the value."""

from dataclasses import replace

from ottla.connect.data import DataError, Record, Schema, Struct
from ottla.connect.definitions import Definitions, Key, Kind
from ottla.connect.transforms.schemas import REPLACE_NULL, SchemaCache, struct_schema, value_of
from ottla.connect.transforms.transform import Settings, need_map, need_struct
from ottla.connect.validators import distinct_values

_PURPOSE = "copying fields from value to key"
DEFINITIONS = Definitions(
    (
        Key(
            name="fields",
            kind=Kind.LIST,
            importance="HIGH",
            doc="The fields of the value that make the key.",
            validator=distinct_values(empty=False),
        ),
        REPLACE_NULL,
    )
)


class ValueToKey:
    def __init__(self, settings: Settings) -> None:
        self._fields: list[str] = settings["fields"]
        self._replace_null: bool = settings[REPLACE_NULL.name]
        self._schemas = SchemaCache(self._schema)

    def apply(self, record: Record) -> Record:
        if record.value_schema is None:
            held = need_map(record.value, _PURPOSE)
            key = {name: held.get(name) for name in self._fields}
            return replace(record, key_schema=None, key=key)
        struct = need_struct(record.value, _PURPOSE)
        made = Struct(self._schemas.get(struct.schema))
        for name in self._fields:
            made.put(name, value_of(struct, name, self._replace_null))
        return replace(record, key_schema=made.schema, key=made, value_schema=struct.schema)

    def _schema(self, schema: Schema) -> Schema:
        fields = []
        for name in self._fields:
            found = schema.field(name)
            if found is None:
                raise DataError(f"Field does not exist: {name}")
            fields.append((name, found.schema))
        return struct_schema(fields)
