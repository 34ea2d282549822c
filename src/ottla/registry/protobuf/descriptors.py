"""A file from its compiled form: some clients send the descriptor, in base 64, in place of text."""

import base64
import binascii
from typing import Any

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
)
from google.protobuf.message import DecodeError

from ottla.registry.protobuf.tree import (
    Constant,
    Enum,
    Extend,
    Extensions,
    Field,
    File,
    Message,
    OneOf,
    Option,
    Range,
    Rpc,
    Service,
    Word,
)

_TYPES = {
    number: name.removeprefix("TYPE_").lower() for name, number in FieldDescriptorProto.Type.items()
}
_REPEATED = FieldDescriptorProto.LABEL_REPEATED
_REQUIRED = FieldDescriptorProto.LABEL_REQUIRED
_NOT_WRITTEN = ("map_entry", "uninterpreted_option")


def file_of(text: str) -> File | None:
    """None where the text is no descriptor."""
    if not text or any(one in text for one in ' ;{"\n'):
        return None
    try:
        raw = base64.b64decode(text, validate=True)
        descriptor = FileDescriptorProto.FromString(raw)
    except (binascii.Error, DecodeError, ValueError):
        return None
    return _file(descriptor)


def _file(found: Any) -> File:
    syntax = found.syntax or "proto2"
    proto3 = syntax == "proto3"
    public = {found.dependency[at] for at in found.public_dependency}
    return File(
        syntax=syntax,
        package=found.package or None,
        imports=[one for one in found.dependency if one not in public],
        public_imports=[one for one in found.dependency if one in public],
        options=_options(found.options),
        types=_types(found.message_type, found.enum_type, proto3),
        extends=_extends(found.extension, proto3),
        services=[_service(one) for one in found.service],
    )


def _types(messages: Any, enums: Any, proto3: bool) -> list[Message | Enum]:
    kept = [one for one in messages if not one.options.map_entry]
    return [*(_message(one, proto3) for one in kept), *(_enum(one) for one in enums)]


def _message(found: DescriptorProto, proto3: bool) -> Message:
    entries = {one.name: one for one in found.nested_type if one.options.map_entry}
    synthetic = {one.oneof_index for one in found.field if one.proto3_optional}
    oneofs = [OneOf(one.name, options=_options(one.options)) for one in found.oneof_decl]
    message = Message(found.name, options=_options(found.options))
    for one in found.field:
        field = _field(one, proto3, entries)
        if one.HasField("oneof_index") and not one.proto3_optional:
            field.label = None
            oneofs[one.oneof_index].fields.append(field)
        else:
            message.fields.append(field)
    message.oneofs = [one for at, one in enumerate(oneofs) if at not in synthetic]
    message.types = _types(found.nested_type, found.enum_type, proto3)
    message.reserved = _reserved(found, 1)
    message.extensions = [
        Extensions([Range(one.start, one.end - 1)]) for one in found.extension_range
    ]
    message.extends = _extends(found.extension, proto3)
    return message


def _field(found: FieldDescriptorProto, proto3: bool, entries: dict[str, Any]) -> Field:
    kind = found.type_name or _TYPES[found.type]
    label: str | None = None
    entry = entries.get(found.type_name.rpartition(".")[2])
    if entry is not None and found.label == _REPEATED:
        key, value = (one.type_name or _TYPES[one.type] for one in entry.field)
        kind = f"map<{key}, {value}>"
    elif found.label == _REPEATED:
        label = "repeated"
    elif found.label == _REQUIRED:
        label = "required"
    elif not proto3 or found.proto3_optional:
        label = "optional"
    options = _options(found.options)
    if found.HasField("default_value"):
        quoted = kind in ("string", "bytes")
        default = found.default_value if quoted else Word(found.default_value)
        options.append(Option("default", default))
    if found.json_name and found.json_name != _camel(found.name):
        options.append(Option("json_name", found.json_name))
    return Field(found.name, kind, found.number, label, options)


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(one[:1].upper() + one[1:] for one in rest)


def _enum(found: EnumDescriptorProto) -> Enum:
    constants = [Constant(one.name, one.number, _options(one.options)) for one in found.value]
    return Enum(found.name, constants, _options(found.options), _reserved(found, 0))


def _reserved(found: Any, after_end: int) -> list[list[str | Range]]:
    """The end of a message's range is not within it, that of an enum's is."""
    spans: list[list[str | Range]] = [
        [Range(one.start, one.end - after_end)] for one in found.reserved_range
    ]
    return spans + [[name] for name in found.reserved_name]


def _extends(found: Any, proto3: bool) -> list[Extend]:
    extends: dict[str, Extend] = {}
    for one in found:
        extends.setdefault(one.extendee, Extend(one.extendee)).fields.append(
            _field(one, proto3, {})
        )
    return list(extends.values())


def _service(found: Any) -> Service:
    rpcs = [
        Rpc(
            one.name,
            one.input_type,
            one.output_type,
            one.client_streaming,
            one.server_streaming,
            _options(one.options),
        )
        for one in found.method
    ]
    return Service(found.name, rpcs, _options(found.options))


def _options(found: Any) -> list[Option]:
    return [
        Option(field.name, _value(field, value))
        for field, value in found.ListFields()
        if field.name not in _NOT_WRITTEN and not field.is_extension
    ]


def _value(field: Any, value: Any) -> Any:
    if field.is_repeated:
        return [_single(field, one) for one in value]
    return _single(field, value)


def _single(field: Any, value: Any) -> Any:
    if field.message_type is not None:
        return {one.name: _value(one, held) for one, held in value.ListFields()}
    if field.enum_type is not None:
        return Word(field.enum_type.values_by_number[value].name)
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode("latin-1")
    return Word(str(value).lower() if isinstance(value, bool) else repr(value))
