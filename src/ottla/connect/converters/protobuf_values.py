"""Connect's values as messages of Protobuf, and back, as Confluent's converter has them.

Messages are those of Google's library, made of descriptors at run time.
"""

import datetime
import decimal
from typing import Any

from ottla.connect.converters.protobuf_files import is_enum, is_union
from ottla.connect.converters.protobuf_options import ENUM, ProtobufOptions, scrubbed
from ottla.connect.converters.protobuf_types import (
    WRAPPED,
    is_map,
    is_optional,
    real_oneofs,
    union_field,
)
from ottla.connect.data import (
    DATE,
    DECIMAL,
    INTEGER_BITS,
    TIME,
    TIMESTAMP,
    DataError,
    Schema,
    Struct,
    Type,
    fits,
    java_class,
)
from ottla.connect.logical import decimal_scale, epoch_ms, timestamp_of, unscaled_bytes

_UNSIGNED = {"uint32": 32, "fixed32": 32, "uint64": 64, "fixed64": 64}
_MS_NS = 1_000_000


class ProtobufWriting:
    def __init__(self, options: ProtobufOptions) -> None:
        self._options = options

    def fill(self, message: Any, schema: Schema, value: Any) -> None:
        """A message from a struct; a wrapper from a value alone."""
        _check(schema, value)
        if schema.type is not Type.STRUCT:
            message.value = _scalar(schema, value)
            return
        if value.schema is not schema and value.schema != schema:
            raise DataError("Mismatching struct schema")
        for one in schema.fields:
            held = value.values.get(one.name)
            if held is None and not self._options.ignore_defaults:
                held = one.schema.default
            if held is None:
                continue
            if is_union(one.schema):
                self._put_union(message, one.schema, held)
            else:
                self._put(message, self._fit(one.name), one.schema, held)

    def _fit(self, name: str) -> str:
        return scrubbed(name) if self._options.scrub else name

    def _put_union(self, message: Any, schema: Schema, value: Struct) -> None:
        for one in schema.fields:
            held = value.values.get(one.name)
            if held is not None:
                return self._put(message, self._fit(one.name), one.schema, held)
        raise DataError("Cannot find non-null field")

    def _put(self, message: Any, name: str, schema: Schema, value: Any) -> None:
        _check(schema, value)
        field = message.DESCRIPTOR.fields_by_name.get(name)
        if field is None:
            raise DataError(f"Cannot find field with name {name}")
        match schema.type:
            case Type.ARRAY:
                inner = schema.value_schema
                assert inner is not None
                held = getattr(message, name)
                for one in value:
                    self._append(held, field, inner, one)
            case Type.MAP:
                self._put_map(message, field, schema, value)
            case _ if field.message_type is not None:
                within = getattr(message, name)
                within.SetInParent()
                self._fill_message(within, schema, value)
            case _:
                setattr(message, name, _scalar(schema, value))

    def _append(self, held: Any, field: Any, schema: Schema, value: Any) -> None:
        _check(schema, value)
        if field.message_type is None:
            held.append(_scalar(schema, value))
        else:
            self._fill_message(held.add(), schema, value)

    def _put_map(self, message: Any, field: Any, schema: Schema, value: dict[Any, Any]) -> None:
        assert schema.key_schema is not None
        assert schema.value_schema is not None
        if field.message_type.GetOptions().map_entry:
            held = getattr(message, field.name)
            for key, one in value.items():
                if field.message_type.fields_by_name["value"].message_type is None:
                    held[key] = _scalar(schema.value_schema, one)
                else:
                    self._fill_message(held[key], schema.value_schema, one)
            return
        for key, one in value.items():
            entry = getattr(message, field.name).add()
            self._put(entry, "key", schema.key_schema, key)
            if one is not None:
                self._put(entry, "value", schema.value_schema, one)

    def _fill_message(self, message: Any, schema: Schema, value: Any) -> None:
        match schema.name:
            case name if name == DECIMAL:
                scale = decimal_scale(value)
                message.value = unscaled_bytes(scale, value)
                message.precision = len(value.as_tuple().digits)
                message.scale = scale
            case name if name == DATE:
                message.year, message.month, message.day = value.year, value.month, value.day
            case name if name == TIME:
                message.hours, message.minutes = value.hour, value.minute
                message.seconds = value.second
                message.nanos = value.microsecond // 1000 * _MS_NS
            case name if name == TIMESTAMP:
                seconds, ms = divmod(epoch_ms(value), 1000)
                message.seconds, message.nanos = seconds, ms * _MS_NS
            case _:
                self.fill(message, schema, value)


def _check(schema: Schema, value: Any) -> None:
    if value is None or not fits(schema, value):
        raise DataError(f"Invalid type for {schema.type.name}: class {java_class(value)}")


def _scalar(schema: Schema, value: Any) -> Any:
    """As the field takes it."""
    said = schema.parameters or {}
    if is_enum(schema) and isinstance(value, str):
        tag = said.get(f"{ENUM}.{value}")
        if tag is None:
            raise DataError(f"{value} is no symbol of the enum {schema.name}")
        return int(tag)
    bits = _UNSIGNED.get(said.get("io.confluent.connect.protobuf.Type", ""))
    if bits is not None:
        return value % (1 << bits)
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


class ProtobufReading:
    def __init__(self, options: ProtobufOptions) -> None:
        self._options = options

    def value(self, schema: Schema, message: Any) -> Any:
        if schema.type is not Type.STRUCT:
            return _read_scalar(schema, message.value)
        return self._struct(schema, message)

    def _struct(self, schema: Schema, message: Any) -> Struct:
        held: dict[str, Any] = {}
        schemas = {one.name: one.schema for one in schema.fields}
        for oneof in real_oneofs(message.DESCRIPTOR):
            name = message.WhichOneof(oneof.name)
            if name is None:
                continue
            field = message.DESCRIPTOR.fields_by_name[name]
            if self._options.flatten_unions:
                held[name] = self._field(schemas[name], field, getattr(message, name))
                continue
            at = union_field(oneof, self._options)
            member = schemas[at].field(name)
            assert member is not None
            inner = self._field(member.schema, field, getattr(message, name))
            held[at] = Struct(schemas[at], {name: inner})
        for field in message.DESCRIPTOR.fields:
            if field.name in schemas and self._is_told(message, field):
                inner = getattr(message, field.name)
                held[field.name] = self._field(schemas[field.name], field, inner)
        return Struct(schema, held)

    def _is_told(self, message: Any, field: Any) -> bool:
        if field.containing_oneof is not None and not is_optional(field, self._options):
            return False
        plain = field.message_type is None or field.is_repeated
        if plain and not is_optional(field, self._options):
            return True
        return self._options.structs_for_nulls or bool(message.HasField(field.name))

    def _field(self, schema: Schema, field: Any, held: Any) -> Any:
        if is_map(field):
            return self._map(schema, field, held)
        if field.is_repeated:
            inner = schema.value_schema
            assert inner is not None
            return [self._one(inner, field, one) for one in held]
        return self._one(schema, field, held)

    def _map(self, schema: Schema, field: Any, held: Any) -> dict[Any, Any]:
        keys, values = schema.key_schema, schema.value_schema
        assert keys is not None
        assert values is not None
        key, value = field.message_type.fields
        if field.message_type.GetOptions().map_entry:
            return {_read_scalar(keys, one): self._one(values, value, held[one]) for one in held}
        made = {}
        for one in held:
            there = value.message_type is None or one.HasField("value")
            inner = self._one(values, value, one.value) if there else None
            made[self._one(keys, key, one.key)] = inner
        return made

    def _one(self, schema: Schema, field: Any, held: Any) -> Any:
        if field.message_type is None:
            if field.enum_type is not None and schema.type is Type.STRING:
                known = field.enum_type.values_by_number.get(held)
                return str(held) if known is None else known.name
            return _read_scalar(schema, held)
        match schema.name:
            case name if name == DECIMAL:
                unscaled = int.from_bytes(held.value, "big", signed=True)
                return decimal.Decimal(unscaled).scaleb(-held.scale, _EXACT)
            case name if name == DATE:
                return _made(datetime.date, held.year, held.month, held.day)
            case name if name == TIME:
                clock = (held.hours, held.minutes, held.seconds, held.nanos // _MS_NS * 1000)
                return _made(datetime.time, *clock)
            case name if name == TIMESTAMP:
                return timestamp_of(held.seconds * 1000 + held.nanos // _MS_NS)
        if field.message_type.full_name in WRAPPED and schema.type is not Type.STRUCT:
            return _read_scalar(schema, held.value)
        return self._struct(schema, held)


_EXACT = decimal.Context(prec=decimal.MAX_PREC, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)


def _made(kind: Any, *parts: int) -> Any:
    try:
        return kind(*parts)
    except ValueError as error:
        raise DataError(f"{parts} is no {kind.__name__}: {error}") from None


def _read_scalar(schema: Schema, held: Any) -> Any:
    """Unsigned numbers of 64 bits are negative where Java's are."""
    bits = INTEGER_BITS.get(schema.type)
    if bits is None:
        return held
    half = 1 << (bits - 1)
    return (held + half) % (1 << bits) - half
