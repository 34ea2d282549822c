"""Values into JSON: the tree that is then encoded, with numbers as Java writes them."""

import base64
import datetime
import decimal
from typing import Any

import msgspec

from ottla.connect.data import (
    DATE,
    DECIMAL,
    TIME,
    TIMESTAMP,
    DataError,
    Schema,
    Struct,
    Type,
    fits,
    java_class,
    schemaless_type,
)
from ottla.connect.java_text import float_text
from ottla.connect.logical import days, decimal_bytes, epoch_ms, time_ms


class Writing:
    def __init__(self, replace_null_with_default: bool, numeric_decimals: bool) -> None:
        self._defaults = replace_null_with_default
        self.numeric = numeric_decimals

    def node(self, schema: Schema | None, value: Any) -> Any:
        if value is None:
            return self._null(schema)
        if schema is None:
            return self._schemaless(value)
        if schema.name is not None and schema.name in _LOGICAL:
            return self._logical(schema, value)
        if not fits(schema, value):
            raise _wrong(schema, value)
        match schema.type:
            case Type.FLOAT32 | Type.FLOAT64:
                return _float(value, schema)
            case Type.BYTES:
                return base64.b64encode(value).decode()
            case Type.ARRAY:
                return [self.node(schema.value_schema, one) for one in value]
            case Type.MAP:
                return self._map(schema, value)
            case Type.STRUCT:
                return self._struct(schema, value)
        return value

    def _null(self, schema: Schema | None) -> Any:
        if schema is None:
            return None
        if schema.default is not None and self._defaults:
            return self.node(schema, schema.default)
        if schema.optional:
            return None
        raise DataError(
            "Conversion error: null value for field that is required and has no default value"
        )

    def _schemaless(self, value: Any) -> Any:
        match schemaless_type(value):
            case None:
                raise DataError(
                    f"Java class class {java_class(value)} does not have corresponding schema type."
                )
            case Type.FLOAT32 | Type.FLOAT64:
                return _float(value, None)
            case Type.INT8 | Type.INT16 | Type.INT32:
                return int(value)
            case Type.BYTES:
                return base64.b64encode(value).decode()
            case Type.ARRAY:
                return [self.node(None, one) for one in value]
            case Type.MAP:
                if all(isinstance(key, str) for key in value):
                    return {key: self.node(None, one) for key, one in value.items()}
                return [[self.node(None, key), self.node(None, one)] for key, one in value.items()]
            case Type.STRUCT:
                # Java compares the struct's schema with none at all.
                raise DataError("Mismatching schema.")
        return value

    def _map(self, schema: Schema, value: dict[Any, Any]) -> Any:
        keys, values = schema.key_schema, schema.value_schema
        if keys is not None and keys.type is Type.STRING:
            # A null key is the text of Jackson's null node.
            return {
                str(self.node(keys, key) if key is not None else self._null_key(keys)): self.node(
                    values, one
                )
                for key, one in value.items()
            }
        return [[self.node(keys, key), self.node(values, one)] for key, one in value.items()]

    def _null_key(self, schema: Schema) -> str:
        written = self._null(schema)
        return "null" if written is None else str(written)

    def _struct(self, schema: Schema, value: Struct) -> dict[str, Any]:
        if value.schema is not schema and value.schema != schema:
            raise DataError("Mismatching schema.")
        held = value.values
        return {one.name: self.node(one.schema, held.get(one.name)) for one in schema.fields}

    def _logical(self, schema: Schema, value: Any) -> Any:
        name = schema.name
        assert name is not None
        if not fits(schema, value):
            kind, expected = _LOGICAL[name]
            raise DataError(
                f"Invalid type for {kind}, expected {expected} but was class {java_class(value)}"
            )
        match value:
            case decimal.Decimal():
                if self.numeric:
                    return msgspec.Raw(str(value).encode())
                return base64.b64encode(decimal_bytes(schema, value)).decode()
            case datetime.datetime():
                return epoch_ms(value)
            case datetime.date():
                return days(value)
        return time_ms(value)


_LOGICAL = {
    DECIMAL: ("Decimal", "BigDecimal"),
    DATE: ("Date", "Date"),
    TIME: ("Time", "Date"),
    TIMESTAMP: ("Timestamp", "Date"),
}


def _float(value: float, schema: Schema | None) -> Any:
    shown = float_text(value, schema)
    if shown in ("NaN", "Infinity", "-Infinity"):
        return shown
    return msgspec.Raw(shown.encode())


def _wrong(schema: Schema, value: Any) -> DataError:
    if schema.type is Type.BYTES:
        return DataError(f"Invalid type for bytes type: class {java_class(value)}")
    return DataError(f"Invalid type for {schema.type.name}: class {java_class(value)}")
