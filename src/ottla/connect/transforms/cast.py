"""Cast: fields, or the whole key or value, to another type."""

import base64
import datetime
from typing import Any

from ottla.connect.data import (
    DATE,
    TIME,
    TIMESTAMP,
    DataError,
    Float32,
    Int8,
    Int16,
    Int32,
    Record,
    Schema,
    Struct,
    Type,
    java_class,
    schemaless_type,
)
from ottla.connect.definitions import Definitions, Key, Kind, invalid
from ottla.connect.java_numbers import NotANumber, to_float, to_integer, to_single
from ottla.connect.java_text import java_split, text
from ottla.connect.logical import days, epoch_ms, time_ms
from ottla.connect.transforms.schemas import (
    REPLACE_NULL,
    SchemaCache,
    basics,
    fields_of,
    struct_schema,
    value_of,
    with_default,
)
from ottla.connect.transforms.transform import Operand, Settings, need_map, need_struct
from ottla.connect.values_text import header_text

_PURPOSE = "cast types"
_OUTPUT = (
    Type.INT8,
    Type.INT16,
    Type.INT32,
    Type.INT64,
    Type.FLOAT32,
    Type.FLOAT64,
    Type.BOOLEAN,
    Type.STRING,
)
_INPUT = (*_OUTPUT, Type.BYTES)
_BITS = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}
_NARROW: dict[Type, Any] = {
    Type.INT8: Int8,
    Type.INT16: Int16,
    Type.INT32: Int32,
    Type.FLOAT32: Float32,
}


def _names(types: tuple[Type, ...]) -> str:
    return f"[{', '.join(one.name for one in types)}]"


def _spec(said: list[str]) -> dict[str | None, Type]:
    """Types by field; under None the type of the whole."""
    found: dict[str | None, Type] = {}
    for mapping in said:
        parts = java_split(mapping, ":")
        if len(parts) > 2:
            raise invalid("renames", said, f"Invalid rename mapping: {mapping}")
        name = None if len(parts) == 1 else parts[0].strip()
        found[name] = _output_type(parts[-1].strip() if parts else "")
    if None in found and len(said) > 1:
        raise ValueError(
            "Cast transformations that specify a type to cast the entire value to may only "
            "specify a single cast in their spec"
        )
    return found


def _output_type(word: str) -> Type:
    try:
        found = Type[word.upper()]
    except KeyError:
        raise ValueError(f"Invalid type found in casting spec: {word}") from None
    if found not in _OUTPUT:
        raise ValueError(
            f"Cast transformation does not support casting to {found.name}; "
            f"supported types are {_names(_OUTPUT)}"
        )
    return found


def _check_spec(name: str, value: Any) -> None:
    if not value:
        raise ValueError("Must specify at least one field to cast.")
    _spec(value)


DEFINITIONS = Definitions(
    (
        Key(
            name="spec",
            kind=Kind.LIST,
            importance="HIGH",
            doc="Pairs field:type with commas between, or one type for the whole.",
            validator=_check_spec,
        ),
        REPLACE_NULL,
    )
)


class Cast:
    def __init__(self, settings: Settings, operand: Operand) -> None:
        self._operand = operand
        self._casts = _spec(settings["spec"])
        self._whole = self._casts.get(None)
        self._replace_null: bool = settings[REPLACE_NULL.name]
        self._schemas = SchemaCache(self._schema)

    def apply(self, record: Record) -> Record:
        value, schema = self._operand.value(record), self._operand.schema(record)
        if value is None:
            return record
        if schema is None:
            return self._operand.replaced(record, None, self._schemaless(value))
        updated = self._schemas.get(schema)
        if self._whole is not None:
            return self._operand.replaced(record, updated, _cast(schema, value, self._whole))
        struct = need_struct(value, _PURPOSE)
        made = Struct(updated)
        for one in struct.schema.fields:
            held = value_of(struct, one.name, self._replace_null)
            target = self._casts.get(one.name)
            made.put(one.name, held if target is None else _cast(one.schema, held, target))
        return self._operand.replaced(record, updated, made)

    def _schemaless(self, value: Any) -> Any:
        if self._whole is not None:
            return _cast(None, value, self._whole)
        held = need_map(value, _PURPOSE)
        cast = {
            name: _cast(None, held.get(name), target)
            for name, target in self._casts.items()
            if name is not None
        }
        return {**held, **cast}

    def _schema(self, schema: Schema) -> Schema:
        if self._whole is not None:
            made = Schema(type=self._whole, optional=schema.optional, **basics(schema))
        else:
            fields = ((one.name, self._field(one.name, one.schema)) for one in fields_of(schema))
            made = struct_schema(fields, optional=schema.optional, **basics(schema))
        if schema.default is None:
            return made
        return with_default(made, _cast(schema, schema.default, made.type))

    def _field(self, name: str, schema: Schema) -> Schema:
        target = self._casts.get(name)
        if target is None:
            return schema
        made = Schema(type=target, optional=schema.optional)
        if schema.default is None:
            return made
        return with_default(made, _cast(schema, schema.default, target))


def _cast(schema: Schema | None, value: Any, target: Type) -> Any:
    if value is None:
        return None
    source = schemaless_type(value) if schema is None else schema.type
    if source is None:
        raise DataError(
            f"Cast transformation was passed a value of type class {java_class(value)} "
            "which is not supported by Connect's data API"
        )
    if source not in _INPUT:
        raise DataError(
            f"Cast transformation does not support casting from {source.name}; "
            f"supported types are {_names(_INPUT)}"
        )
    if target is Type.STRING:
        return _to_string(schema, value)
    plain = _encoded(schema, value)
    if isinstance(plain, (bytes, datetime.date, datetime.time)):
        raise DataError(f"Unexpected type in Cast transformation: class {java_class(plain)}")
    try:
        made = _to_plain(plain, target)
    except NotANumber:
        shown = text(plain, schema)
        raise DataError(f"Value ({shown}) was out of range for requested data type") from None
    narrow = _NARROW.get(target) if schema is None else None
    return made if narrow is None else narrow(made)


def _to_plain(value: Any, target: Type) -> Any:
    match target:
        case Type.BOOLEAN:
            if isinstance(value, str):
                return value.lower() == "true"
            return bool(to_integer(value, 64))
        case Type.FLOAT32:
            return to_single(value)
        case Type.FLOAT64:
            return to_float(value)
    return to_integer(value, _BITS[target])


def _encoded(schema: Schema | None, value: Any) -> Any:
    """What stands for a date or a time."""
    match None if schema is None else schema.name:
        case name if name == DATE and type(value) is datetime.date:
            return days(value)
        case name if name == TIME and isinstance(value, datetime.time):
            return time_ms(value)
        case name if name == TIMESTAMP and isinstance(value, datetime.datetime):
            return epoch_ms(value)
    return value


def _to_string(schema: Schema | None, value: Any) -> str:
    match value:
        case bytes():
            return base64.b64encode(value).decode()
        case datetime.date() | datetime.time():
            return header_text(value)
    return text(value, schema)
