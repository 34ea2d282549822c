"""ExtractField: one field instead of the whole."""

from ottla.connect.data import Record
from ottla.connect.definitions import Definitions, Key, Kind
from ottla.connect.transforms.field_path import SYNTAX, FieldPath
from ottla.connect.transforms.schemas import REPLACE_NULL
from ottla.connect.transforms.transform import Operand, Settings, need_map, need_struct

_PURPOSE = "field extraction"
DEFINITIONS = Definitions(
    (
        Key(name="field", kind=Kind.STRING, doc="The field that is taken."),
        REPLACE_NULL,
        SYNTAX,
    )
)


class ExtractField:
    def __init__(self, settings: Settings, operand: Operand) -> None:
        self._operand = operand
        self._said: str = settings["field"]
        self._path = FieldPath("field", self._said, settings[SYNTAX.name])
        self._replace_null: bool = settings[REPLACE_NULL.name]

    def apply(self, record: Record) -> Record:
        value, schema = self._operand.value(record), self._operand.schema(record)
        if schema is None:
            held = None if value is None else self._path.in_map(need_map(value, _PURPOSE))
            return self._operand.replaced(record, None, held)
        struct = None if value is None else need_struct(value, _PURPOSE)
        found = self._path.field(schema)
        if found is None:
            raise ValueError(f"Unknown field: {self._said}")
        held = None if struct is None else self._path.in_struct(struct, self._replace_null)
        return self._operand.replaced(record, found.schema, held)
