"""SetSchemaMetadata: another name or version for a schema."""

from dataclasses import replace
from typing import Any

from ottla.connect.data import DataError, Record, Schema, Struct
from ottla.connect.definitions import Definitions, InvalidConfig, Key, Kind
from ottla.connect.transforms.schemas import REPLACE_NULL, SchemaCache, fields_of, value_of
from ottla.connect.transforms.transform import Operand, Settings

DEFINITIONS = Definitions(
    (
        Key(
            name="schema.name",
            kind=Kind.STRING,
            default=None,
            importance="HIGH",
            doc="The schema's new name.",
        ),
        Key(
            name="schema.version",
            kind=Kind.INT,
            default=None,
            importance="HIGH",
            doc="The schema's new version.",
        ),
        REPLACE_NULL,
    )
)


class SetSchemaMetadata:
    def __init__(self, settings: Settings, operand: Operand) -> None:
        self._operand = operand
        said = {"name": settings["schema.name"], "version": settings["schema.version"]}
        self._changes: dict[str, Any] = {
            name: value for name, value in said.items() if value is not None
        }
        if not self._changes:
            raise InvalidConfig({"schema.name": ["Neither schema name nor version configured"]})
        self._replace_null: bool = settings[REPLACE_NULL.name]
        self._schemas = SchemaCache(self._schema)

    def apply(self, record: Record) -> Record:
        value, schema = self._operand.value(record), self._operand.schema(record)
        if value is None and schema is None:
            return record
        if schema is None:
            raise DataError("Schema required for [updating schema metadata]")
        updated = self._schemas.get(schema)
        if isinstance(value, Struct):
            made = Struct(updated)
            for one in updated.fields:
                made.put(one.name, value_of(value, one.name, self._replace_null))
            value = made
        return self._operand.replaced(record, updated, value)

    def _schema(self, schema: Schema) -> Schema:
        fields_of(schema)
        return replace(schema, **self._changes)
