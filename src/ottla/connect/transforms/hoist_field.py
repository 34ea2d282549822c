"""HoistField: the whole becomes the one field of a struct or map."""

from ottla.connect.data import Record, Struct
from ottla.connect.definitions import Definitions, Key, Kind
from ottla.connect.transforms.schemas import SchemaCache, struct_schema
from ottla.connect.transforms.transform import Operand, Settings

DEFINITIONS = Definitions(
    (Key(name="field", kind=Kind.STRING, doc="The name of the field that is made."),)
)


class HoistField:
    def __init__(self, settings: Settings, operand: Operand) -> None:
        self._operand = operand
        self._field: str = settings["field"]
        self._schemas = SchemaCache(lambda schema: struct_schema([(self._field, schema)]))

    def apply(self, record: Record) -> Record:
        value, schema = self._operand.value(record), self._operand.schema(record)
        if schema is None:
            return self._operand.replaced(record, None, {self._field: value})
        made = Struct(self._schemas.get(schema)).put(self._field, value)
        return self._operand.replaced(record, made.schema, made)
