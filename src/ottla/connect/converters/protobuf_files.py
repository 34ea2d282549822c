"""A schema of Connect as a file of Protobuf, as Confluent's converter makes it.

The first message of the file is the record's; structs, maps and enums are nested within the
message that has them.
"""

from typing import TYPE_CHECKING, Any

from ottla.connect.converters.protobuf_options import (
    DATE_TYPE,
    DECIMAL_TYPE,
    ENUM,
    FILES,
    META_FILE,
    META_NUMBER,
    PRECISION,
    TAG,
    TIME_TYPE,
    TIMESTAMP_TYPE,
    TYPE,
    UNION,
    WRAPPERS_FILE,
    ProtobufOptions,
    map_entry,
    scrubbed,
)
from ottla.connect.data import DATE, DECIMAL, SCALE, TIME, TIMESTAMP, DataError, Schema, Type

SCALARS = {
    1: "double",
    2: "float",
    3: "int64",
    4: "uint64",
    5: "int32",
    6: "fixed64",
    7: "fixed32",
    8: "bool",
    9: "string",
    12: "bytes",
    13: "uint32",
    15: "sfixed32",
    16: "sfixed64",
    17: "sint32",
    18: "sint64",
}
"""Names of types that are no messages, by their number in a descriptor."""

if TYPE_CHECKING:
    from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto

_LOGICAL = {
    DECIMAL: DECIMAL_TYPE,
    DATE: DATE_TYPE,
    TIME: TIME_TYPE,
    TIMESTAMP: TIMESTAMP_TYPE,
}
_SCALARS = {
    Type.INT8: "int32",
    Type.INT16: "int32",
    Type.INT32: "int32",
    Type.INT64: "int64",
    Type.FLOAT32: "float",
    Type.FLOAT64: "double",
    Type.BOOLEAN: "bool",
    Type.STRING: "string",
    Type.BYTES: "bytes",
}
_WRAPPERS = {
    "int32": "Int32Value",
    "int64": "Int64Value",
    "uint32": "UInt32Value",
    "fixed32": "UInt32Value",
    "uint64": "UInt64Value",
    "fixed64": "UInt64Value",
    "float": "FloatValue",
    "double": "DoubleValue",
    "bool": "BoolValue",
    "string": "StringValue",
    "bytes": "BytesValue",
}
_NARROW = {Type.INT8: "int8", Type.INT16: "int16"}


def is_union(schema: Schema) -> bool:
    return schema.type is Type.STRUCT and (schema.name or "").startswith(UNION)


def is_enum(schema: Schema) -> bool:
    return ENUM in (schema.parameters or ())


def wrapper_of(schema: Schema) -> str:
    """The wrapper that stands for a value alone."""
    if schema.type not in _SCALARS:
        raise DataError(f"Unsupported root schema of type {schema.type.name}")
    return _WRAPPERS[_SCALARS[schema.type]]


def protobuf_file(schema: Schema, options: ProtobufOptions) -> "FileDescriptorProto":
    """Of a struct."""
    return _Making(options).file(schema)


class _Making:
    def __init__(self, options: ProtobufOptions) -> None:
        from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto

        self._options = options
        self._file = FileDescriptorProto(syntax="proto3")
        self._kinds: Any = FieldDescriptorProto.Type
        self._unnamed = 0

    def file(self, schema: Schema) -> "FileDescriptorProto":
        package, _, name = self._whole(schema.name).rpartition(".")
        if package:
            self._file.package = package
        self._message(self._file.message_type.add(name=name), schema)
        return self._file

    def _whole(self, name: str | None) -> str:
        if not name:
            self._unnamed += 1
            name = f"ConnectDefault{self._unnamed}"
        return ".".join(self._fit(one) for one in name.split(".")) if self._options.scrub else name

    def _short(self, name: str | None) -> str:
        return self._whole(name).rpartition(".")[2]

    def _fit(self, name: str) -> str:
        return scrubbed(name) if self._options.scrub else name

    def _message(self, message: "DescriptorProto", schema: Schema) -> None:
        number = 1
        for one in schema.fields:
            said = (one.schema.parameters or {}).get(TAG)
            if is_union(one.schema):
                number = self._oneof(message, one.schema, number)
                continue
            tag = int(said) if said is not None else number
            number += 1 if said is None else 0
            field = self._field(message, one.schema, self._fit(one.name), tag)
            if self._options.optional and one.schema.optional and field.label == 1:
                field.proto3_optional = True
        for field in message.field:  # the synthetic ones stand behind all others
            if field.proto3_optional:
                field.oneof_index = len(message.oneof_decl)
                message.oneof_decl.add(name=f"_{field.name}")

    def _oneof(self, message: "DescriptorProto", schema: Schema, number: int) -> int:
        index = len(message.oneof_decl)
        name = self._short((schema.name or "").removeprefix(UNION).removeprefix("."))
        message.oneof_decl.add(name=name)
        for one in schema.fields:
            said = (one.schema.parameters or {}).get(TAG)
            tag = int(said) if said is not None else number
            number += 1 if said is None else 0
            self._field(message, one.schema, self._fit(one.name), tag, member=True)
            message.field[-1].oneof_index = index
        return number

    def _field(
        self, message: "DescriptorProto", schema: Schema, name: str, tag: int, member: bool = False
    ) -> Any:
        repeated = schema.type in (Type.ARRAY, Type.MAP)
        if schema.type is Type.ARRAY:
            assert schema.value_schema is not None
            schema = schema.value_schema
        field = message.field.add(name=name, number=tag, label=3 if repeated else 1)
        parameters: dict[str, str] = {}
        self._type(message, field, schema, parameters, member)
        if parameters:
            _set_meta(field, parameters)
            self._depend(META_FILE)
        return field

    def _type(
        self,
        message: "DescriptorProto",
        field: Any,
        schema: Schema,
        parameters: dict[str, str],
        member: bool,
    ) -> None:
        said = schema.parameters or {}
        if schema.name in _LOGICAL:
            known = _LOGICAL[schema.name]
            field.type, field.type_name = self._kinds.TYPE_MESSAGE, f".{known}"
            self._depend(FILES[known])
            if known == DECIMAL_TYPE:
                told = {"precision": said.get(PRECISION), "scale": said.get(SCALE)}
                parameters |= {one: text for one, text in told.items() if text is not None}
            return
        match schema.type:
            case Type.ARRAY:
                raise DataError("Array cannot be nested")
            case Type.MAP:
                field.type_name = self._entry(message, schema)
                field.type = self._kinds.TYPE_MESSAGE
            case Type.STRUCT:
                field.type_name = self._nested(message, schema, field.name)
                field.type = self._kinds.TYPE_MESSAGE
            case _ if is_enum(schema):
                field.type_name = self._enum(message, schema)
                field.type = self._kinds.TYPE_ENUM
            case _:
                if schema.type in _NARROW:
                    parameters["connect.type"] = _NARROW[schema.type]
                self._scalar(field, schema, member)

    def _scalar(self, field: Any, schema: Schema, member: bool) -> None:
        name = (schema.parameters or {}).get(TYPE, _SCALARS[schema.type])
        if self._options.wrappers and schema.optional and not member:
            field.type = self._kinds.TYPE_MESSAGE
            field.type_name = f".google.protobuf.{_WRAPPERS[name]}"
            self._depend(WRAPPERS_FILE)
        else:
            field.type = self._kinds.Value(f"TYPE_{name.upper()}")

    def _nested(self, message: "DescriptorProto", schema: Schema, field: str) -> str:
        name = self._short(schema.name)
        if name == field:  # a message and a field cannot share a name
            name += "Message"
        if all(one.name != name for one in message.nested_type):
            self._message(message.nested_type.add(name=name), schema)
        return name

    def _entry(self, message: "DescriptorProto", schema: Schema) -> str:
        assert schema.key_schema is not None
        assert schema.value_schema is not None
        name = map_entry(self._short(schema.name))
        if all(one.name != name for one in message.nested_type):
            entry = message.nested_type.add(name=name)
            self._field(entry, schema.key_schema, "key", 1)
            self._field(entry, schema.value_schema, "value", 2)
        return name

    def _enum(self, message: "DescriptorProto", schema: Schema) -> str:
        said = schema.parameters or {}
        name, prefix = said[ENUM], f"{ENUM}."
        if all(one.name != name for one in message.enum_type):
            made = message.enum_type.add(name=name)
            for symbol, tag in said.items():
                if symbol.startswith(prefix):
                    made.value.add(name=symbol.removeprefix(prefix), number=int(tag))
        return name

    def _depend(self, file: str) -> None:
        if file not in self._file.dependency:
            self._file.dependency.append(file)


# --- confluent.Meta, in an option that Google's library has no name for


def _set_meta(field: Any, parameters: dict[str, str]) -> None:
    entries = b"".join(
        _bytes(2, _bytes(1, name.encode()) + _bytes(2, text.encode()))
        for name, text in parameters.items()
    )
    field.options.MergeFromString(_bytes(META_NUMBER, entries))


def _bytes(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(number: int) -> bytes:
    made = bytearray()
    while number > 0x7F:
        made.append(number & 0x7F | 0x80)
        number >>= 7
    made.append(number)
    return bytes(made)


def meta_parameters(field: Any) -> dict[str, str]:
    """What `_set_meta` left, of a field's descriptor."""
    return meta_parameters_of(field.GetOptions().SerializeToString())


def meta_parameters_of(options: bytes) -> dict[str, str]:
    found: dict[str, str] = {}
    for number, data in _parts(options):
        if number == META_NUMBER:
            for inner, entry in _parts(data):
                if inner == 2:
                    pair = dict(_parts(entry))
                    found[pair.get(1, b"").decode()] = pair.get(2, b"").decode()
    return found


def _parts(data: bytes) -> list[tuple[int, bytes]]:
    """Fields that have a length; others are passed over."""
    found, at = [], 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        match tag & 7:
            case 0:
                _, at = _read_varint(data, at)
            case 1:
                at += 8
            case 2:
                size, at = _read_varint(data, at)
                found.append((tag >> 3, data[at : at + size]))
                at += size
            case _:
                at += 4
    return found


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return number, at
