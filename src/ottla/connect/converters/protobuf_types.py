"""Messages of Protobuf as Connect's schemas, as Confluent's converter reads them.

A message that holds itself has no schema in Connect here, and is refused.
"""

from dataclasses import replace
from typing import Any

from ottla.connect.converters.protobuf_files import SCALARS, meta_parameters
from ottla.connect.converters.protobuf_options import (
    DATE_TYPE,
    DECIMAL_TYPE,
    ENUM,
    PRECISION,
    TAG,
    TIME_TYPE,
    TIMESTAMP_TYPE,
    TYPE,
    UNION,
    ProtobufOptions,
    map_field,
)
from ottla.connect.data import (
    DATE_SCHEMA,
    TIME_SCHEMA,
    TIMESTAMP_SCHEMA,
    DataError,
    Field,
    Schema,
    Type,
    decimal_schema,
)

_SCALARS = {
    "int32": Type.INT32,
    "sint32": Type.INT32,
    "sfixed32": Type.INT32,
    "uint32": Type.INT64,
    "fixed32": Type.INT64,
    "int64": Type.INT64,
    "uint64": Type.INT64,
    "sint64": Type.INT64,
    "fixed64": Type.INT64,
    "sfixed64": Type.INT64,
    "float": Type.FLOAT32,
    "double": Type.FLOAT64,
    "bool": Type.BOOLEAN,
    "string": Type.STRING,
    "bytes": Type.BYTES,
}
_USUAL = ("int32", "int64", "float", "double", "bool", "string", "bytes")
_NARROW = {"int8": Type.INT8, "int16": Type.INT16}
_LOGICAL = {DATE_TYPE: DATE_SCHEMA, TIME_TYPE: TIME_SCHEMA, TIMESTAMP_TYPE: TIMESTAMP_SCHEMA}
_ENUM, _MESSAGE, _GROUP = 14, 11, 10
WRAPPED = {
    "google.protobuf.DoubleValue": Type.FLOAT64,
    "google.protobuf.FloatValue": Type.FLOAT32,
    "google.protobuf.Int64Value": Type.INT64,
    "google.protobuf.UInt64Value": Type.INT64,
    "google.protobuf.Int32Value": Type.INT32,
    "google.protobuf.UInt32Value": Type.INT64,
    "google.protobuf.BoolValue": Type.BOOLEAN,
    "google.protobuf.StringValue": Type.STRING,
    "google.protobuf.BytesValue": Type.BYTES,
}


def is_map(field: Any) -> bool:
    """Also a repeated message that looks like an entry: Confluent's converter writes such."""
    message = field.message_type
    if message is None or not field.is_repeated or not message.name.endswith("Entry"):
        return False
    names = [one.name for one in message.fields]
    return names == ["key", "value"] and not any(one.is_repeated for one in message.fields)


def is_optional(field: Any, options: ProtobufOptions) -> bool:
    """Whether it says `optional`."""
    oneof = field.containing_oneof
    if oneof is not None:
        return is_synthetic(oneof)
    if field.message_type is not None or field.is_repeated:
        return False
    return options.optional_proto2 and field.has_presence and not field.is_required


def is_synthetic(oneof: Any) -> bool:
    """Of a single field that is `optional`."""
    return len(oneof.fields) == 1 and oneof.name == f"_{oneof.fields[0].name}"


def real_oneofs(message: Any) -> list[Any]:
    return [one for one in message.oneofs if not is_synthetic(one)]


def union_field(oneof: Any, options: ProtobufOptions) -> str:
    return f"{oneof.name}_{oneof.index}" if options.union_index else str(oneof.name)


class ConnectSchemas:
    def __init__(self, options: ProtobufOptions) -> None:
        self._options = options
        self._open: list[str] = []  # messages that this one stands within

    def of_record(self, message: Any, version: int | None) -> Schema:
        if self._options.raw_wrappers and message.full_name in WRAPPED:
            return Schema(type=WRAPPED[message.full_name], version=version)
        return replace(self._struct(message), version=version)

    def _struct(self, message: Any) -> Schema:
        if message.full_name in self._open:
            raise DataError(f"{message.full_name} holds itself: such schemas are not read here")
        self._open.append(message.full_name)
        fields: list[Field] = []
        for oneof in real_oneofs(message):
            members = [Field(one.name, self._field(one, member=True)) for one in oneof.fields]
            if self._options.flatten_unions:
                fields += members
                continue
            name = oneof.full_name if self._options.enhanced else oneof.name
            union = Schema(
                type=Type.STRUCT, name=f"{UNION}.{name}", optional=True, fields=tuple(members)
            )
            fields.append(Field(union_field(oneof, self._options), union))
        for one in message.fields:
            if one.containing_oneof is None or is_synthetic(one.containing_oneof):
                fields.append(Field(one.name, self._field(one)))
        self._open.pop()
        return Schema(type=Type.STRUCT, name=self._name(message), fields=tuple(fields))

    def _name(self, named: Any) -> str:
        return str(named.full_name if self._options.enhanced else named.name)

    def _field(self, field: Any, *, member: bool = False) -> Schema:
        schema = self._plain(field)
        if field.is_repeated and schema.type is not Type.MAP:
            schema = Schema(
                type=Type.ARRAY, optional=True, value_schema=replace(schema, optional=True)
            )
        if member or self._may_be_null(field):
            schema = replace(schema, optional=True)
        tag = {TAG: str(field.number)}
        return replace(schema, parameters={**(schema.parameters or {}), **tag})

    def _may_be_null(self, field: Any) -> bool:
        if self._options.optional:
            return is_optional(field, self._options)
        return not self._options.wrappers

    def _plain(self, field: Any) -> Schema:
        if field.type == _GROUP:
            raise DataError(f"{field.full_name} is a group: such schemas are not read here")
        if field.type == _ENUM:
            return self._enum(field.enum_type)
        if field.type == _MESSAGE:
            return replace(self._message(field), optional=True)
        name = SCALARS[field.type]
        said = meta_parameters(field).get("connect.type")
        if name in ("int32", "sint32", "sfixed32") and said in _NARROW:
            return Schema(type=_NARROW[said])
        more = {} if name in _USUAL else {"parameters": {TYPE: name}}
        return Schema(type=_SCALARS[name], **more)  # type: ignore[arg-type]

    def _enum(self, enum: Any) -> Schema:
        parameters = {ENUM: enum.name}
        parameters |= {f"{ENUM}.{one.name}": str(one.number) for one in enum.values}
        kind = Type.INT32 if self._options.int_enums else Type.STRING
        return Schema(type=kind, name=self._name(enum), optional=True, parameters=parameters)

    def _message(self, field: Any) -> Schema:
        message = field.message_type
        if message.full_name == DECIMAL_TYPE:
            return _decimal(field)
        if message.full_name in _LOGICAL:
            return _LOGICAL[message.full_name]
        if self._options.wrappers and message.full_name in WRAPPED:
            return Schema(type=WRAPPED[message.full_name])
        if is_map(field):
            keys, values = (self._field(one) for one in message.fields)
            name = map_field(self._name(message))
            return Schema(type=Type.MAP, name=name, key_schema=keys, value_schema=values)
        return self._struct(message)


def _decimal(field: Any) -> Schema:
    said = meta_parameters(field)
    scale = said.get("scale", "0")
    schema = decimal_schema(int(scale) if scale.lstrip("-").isdigit() else 0)
    if said.get("precision", "").isdigit():
        more = {PRECISION: said["precision"]}
        return replace(schema, parameters={**(schema.parameters or {}), **more})
    return schema
