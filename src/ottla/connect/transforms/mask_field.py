"""MaskField: fields' values are hidden behind zero, nothing, or a replacement."""

import datetime
import decimal
from typing import Any

from ottla.connect.data import (
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
from ottla.connect.definitions import Definitions, Key, Kind
from ottla.connect.java_numbers import NotANumber, big_decimal, to_integer
from ottla.connect.java_text import single
from ottla.connect.logical import timestamp_of
from ottla.connect.transforms.schemas import REPLACE_NULL, value_of
from ottla.connect.transforms.transform import Operand, Settings, need_map, need_struct
from ottla.connect.validators import distinct_values, non_empty

_PURPOSE = "mask fields"
DEFINITIONS = Definitions(
    (
        Key(
            name="fields",
            kind=Kind.LIST,
            importance="HIGH",
            doc="The fields that are masked.",
            validator=distinct_values(empty=False),
        ),
        Key(
            name="replacement",
            kind=Kind.STRING,
            default=None,
            importance="LOW",
            doc="What stands in their place: a text, or a number for numbers.",
            validator=non_empty,
        ),
        REPLACE_NULL,
    )
)
_BITS = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}
_NARROW: dict[Type, Any] = {
    Type.INT8: Int8,
    Type.INT16: Int16,
    Type.INT32: Int32,
    Type.FLOAT32: Float32,
}


class MaskField:
    def __init__(self, settings: Settings, operand: Operand) -> None:
        self._operand = operand
        self._fields: list[str] = settings["fields"]
        self._replacement: str | None = settings["replacement"]
        self._replace_null: bool = settings[REPLACE_NULL.name]

    def apply(self, record: Record) -> Record:
        value, schema = self._operand.value(record), self._operand.schema(record)
        if schema is None:
            held = need_map(value, _PURPOSE)
            masked = {name: self._masked(None, held.get(name)) for name in self._fields}
            return self._operand.replaced(record, None, {**held, **masked})
        struct = need_struct(value, _PURPOSE)
        made = Struct(struct.schema)
        for one in struct.schema.fields:
            kept = value_of(struct, one.name, self._replace_null)
            hidden = one.name in self._fields
            made.put(one.name, self._masked(one.schema, kept) if hidden else kept)
        return self._operand.replaced(record, schema, made)

    def _masked(self, schema: Schema | None, value: Any) -> Any:
        if value is None:
            return None
        if self._replacement is None:
            return _zero(value)
        return _replaced(schema, value, self._replacement)


def _zero(value: Any) -> Any:
    match value:
        case bool():
            return False
        case int() | float() | str() | list() | dict():
            return type(value)()
        case decimal.Decimal():
            return decimal.Decimal(0)
        case datetime.datetime():
            return timestamp_of(0)
        case datetime.date():
            return datetime.date(1970, 1, 1)
        case datetime.time():
            return datetime.time()
    raise DataError(f"Cannot mask value of type: class {java_class(value)}")


def _replaced(schema: Schema | None, value: Any, replacement: str) -> Any:
    kind = schemaless_type(value) if schema is None else schema.type
    match value:
        case str():
            return replacement
        case decimal.Decimal():
            try:
                return big_decimal(replacement)
            except NotANumber:
                raise DataError(
                    f"Unable to convert {replacement} (class java.lang.String) to number"
                ) from None
        case bool():
            pass
        case int() | float() if kind is not None:
            made = _number(replacement, kind)
            narrow = _NARROW.get(kind) if schema is None else None
            return made if narrow is None else narrow(made)
    raise DataError(f"Cannot mask value of type class {java_class(value)} with custom replacement.")


def _number(replacement: str, kind: Type) -> Any:
    try:
        exact = big_decimal(replacement)
    except NotANumber:
        raise DataError(
            f"Unable to convert {replacement} (class java.lang.String) to a number"
        ) from None
    match kind:
        case Type.FLOAT32:
            return single(float(exact))
        case Type.FLOAT64:
            return float(exact)
    return to_integer(to_integer(exact, 64), _BITS[kind])
