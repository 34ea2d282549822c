"""Protobuf schemas of a registry as descriptors of Google's library, with all that they import.

Files that nobody registers (`google/…`, Confluent's own) come with the library, or are made here.
"""

import contextlib
import importlib
from base64 import b64decode
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ottla.client.schema_registry import Reference, SchemaRegistry
from ottla.errors import OttlaError

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FileDescriptor

RECORD = "the record's"  # how a registered file is called: in the registry it has no name


def described(
    registry: SchemaRegistry, path: str, references: Iterable[Reference]
) -> "FileDescriptor":
    """The file of the schema at a path of the registry, in a pool of its own."""
    try:
        from google.protobuf import descriptor_pool
    except ModuleNotFoundError:
        raise OttlaError("Protobuf needs protobuf: pip install 'ottla[registry]'.") from None
    pool = descriptor_pool.DescriptorPool()
    _add(pool, registry, RECORD, path, references)
    return pool.FindFileByName(RECORD)


# --- messages of a file


class NoSuchMessage(ValueError):
    """What the file has instead."""


def message_of(file: "FileDescriptor", name: str | None) -> "Descriptor":
    """The message of that name, with or without its package; the first where none is named."""
    every = list(_messages(list(file.message_types_by_name.values())))
    if not every:
        raise NoSuchMessage("it has no message")
    if name is None:
        return every[0]
    for one in every:
        if name in (one.full_name, one.full_name.removeprefix(f"{file.package}.")):
            return one
    known = ", ".join(one.full_name for one in every)
    raise NoSuchMessage(f"it has no message {name}, but {known}")


def _messages(within: "list[Descriptor]") -> "Iterator[Descriptor]":
    for one in within:
        if not one.GetOptions().map_entry:
            yield one
            yield from _messages(list(one.nested_types))


def indexes_of(message: "Descriptor") -> list[int]:
    """Where the message stands in its file."""
    outer = message.containing_type
    if outer is None:
        names = list(message.file.message_types_by_name)
        return [names.index(message.name)]
    return [*indexes_of(outer), [one.name for one in outer.nested_types].index(message.name)]


def frame_indexes(indexes: list[int]) -> bytes:
    """As frames have them: a count and zigzag varints, or a lone 0 for the first message."""
    if indexes == [0]:
        return b"\0"
    return b"".join(_varint_of(2 * one) for one in (len(indexes), *indexes))


def _varint_of(number: int) -> bytes:
    made = bytearray()
    while number > 0x7F:
        made.append(number & 0x7F | 0x80)
        number >>= 7
    made.append(number)
    return bytes(made)


def read_indexes(body: bytes) -> tuple[list[int], bytes]:
    """Which message of the file it is, and what stands behind: the other way round."""
    count, at = _read_varint(body, 0)
    found = []
    for _ in range(count):
        one, at = _read_varint(body, at)
        found.append(one)
    return found or [0], body[at:]


def _read_varint(body: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = body[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at


def message_at(file: "FileDescriptor", indexes: list[int]) -> "Descriptor":
    """IndexError where there is none."""
    found = list(file.message_types_by_name.values())[indexes[0]]
    for one in indexes[1:]:
        found = found.nested_types[one]
    return found


# --- putting it together


def file_in_pool(file: Any, name: str) -> "FileDescriptor":
    """A file that was made here, in a pool of its own. TypeError where it is none."""
    from google.protobuf import descriptor_pb2, descriptor_pool

    pool = descriptor_pool.DescriptorPool()
    named = descriptor_pb2.FileDescriptorProto()
    named.CopyFrom(file)
    named.name = name
    for needed in named.dependency:
        _add_known(pool, needed)
    pool.AddSerializedFile(named.SerializeToString())
    return pool.FindFileByName(name)


def known_file(name: str) -> Any:
    """A file that comes with Google's library, or is Confluent's."""
    found = _known(name)
    if found is None:
        raise OttlaError(f"{name} is not known here.")
    return found


def version_path(subject: str, version: int | str) -> str:
    return f"/subjects/{quote(subject, safe='')}/versions/{version}"


def _add(
    pool: Any, registry: SchemaRegistry, name: str, path: str, references: Iterable[Reference]
) -> None:
    from google.protobuf import descriptor_pb2

    for one in references:
        if not _holds(pool, one.name):
            held = registry.version(one.subject, one.version, deleted=True)
            there = version_path(one.subject, one.version)
            _add(pool, registry, one.name, there, held.references)
    asked = registry.ask("GET", path, {"format": "serialized", "deleted": "true"})
    file = descriptor_pb2.FileDescriptorProto.FromString(b64decode(asked["schema"]))
    file.name = name
    for needed in file.dependency:
        _add_known(pool, needed)
    try:
        pool.AddSerializedFile(file.SerializeToString())
    except TypeError as error:  # what it imports is not there
        raise OttlaError(f"The schema at {path} cannot be put together: {error}.") from None


def _holds(pool: Any, name: str) -> bool:
    with contextlib.suppress(KeyError):
        pool.FindFileByName(name)
        return True
    return False


def _add_known(pool: Any, name: str) -> None:
    """A file that is known without a registry, unless the pool has it."""
    if _holds(pool, name) or (file := _known(name)) is None:
        return
    for needed in file.dependency:
        _add_known(pool, needed)
    pool.AddSerializedFile(file.SerializeToString())


def _known(name: str) -> Any:
    from google.protobuf import descriptor_pb2, descriptor_pool

    if name in _CONFLUENT:
        return _confluent(name)
    with contextlib.suppress(ImportError):
        importlib.import_module(name.removesuffix(".proto").replace("/", ".") + "_pb2")
    file = descriptor_pb2.FileDescriptorProto()
    try:
        descriptor_pool.Default().FindFileByName(name).CopyToProto(file)
    except KeyError:
        return None
    return file


# --- files that clients of Confluent's registry import without a reference to them

_CONFLUENT = ("confluent/meta.proto", "confluent/type/decimal.proto")
_META = ("File", "Message", "Field", "Enum", "EnumValue")
_META_NUMBER = 1088


def _confluent(name: str) -> Any:
    from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Field
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

    file = FileDescriptorProto(name=name, syntax="proto3")
    if name == "confluent/type/decimal.proto":
        file.package = "confluent.type"
        decimal = file.message_type.add(name="Decimal")
        kinds = (Field.TYPE_BYTES, Field.TYPE_UINT32, Field.TYPE_INT32)
        for at, one in enumerate(("value", "precision", "scale")):
            decimal.field.add(name=one, number=at + 1, type=kinds[at], label=1)
        return file
    file.package = "confluent"
    file.dependency.append("google/protobuf/descriptor.proto")
    meta = file.message_type.add(name="Meta")
    text, message = Field.TYPE_STRING, Field.TYPE_MESSAGE
    meta.field.add(name="doc", number=1, type=text, label=1)
    params = ".confluent.Meta.ParamsEntry"
    meta.field.add(name="params", number=2, type=message, type_name=params, label=3)
    meta.field.add(name="tags", number=3, type=text, label=3)
    entry = meta.nested_type.add(name="ParamsEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=text, label=1)
    entry.field.add(name="value", number=2, type=text, label=1)
    for one in _META:
        lower = "enum_value" if one == "EnumValue" else one.lower()
        file.extension.add(
            name=f"{lower}_meta",
            number=_META_NUMBER,
            type=message,
            type_name=".confluent.Meta",
            extendee=f".google.protobuf.{one}Options",
            label=1,
        )
    return file
