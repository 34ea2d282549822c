"""Records of coordinators as bytes: an int16 type and the key, an int16 version and the value."""

from struct import Struct

from ottla.coordination.machine import CoordinatorRecord, RecordTypes
from ottla.wire.codec import MalformedMessage, decode, encode_into
from ottla.wire.message import Message

_INT16 = Struct(">h")


def encode_entry(entry: CoordinatorRecord, types: RecordTypes) -> tuple[bytes, bytes | None]:
    key, value = entry
    key_out = bytearray(_INT16.pack(key.API_KEY))
    encode_into(key, 0, key_out)
    if value is None:
        return bytes(key_out), None
    version = types.value_versions.get(type(value), 0)
    value_out = bytearray(_INT16.pack(version))
    encode_into(value, version, value_out)
    return bytes(key_out), bytes(value_out)


def decode_entry(
    key: bytes, value: bytes | None, types: RecordTypes
) -> tuple[Message, Message | None] | None:
    """Key and value; None for a type that this version does not know: it stays in the log."""
    if len(key) < 2:
        raise MalformedMessage("a key without a type")
    classes = types.classes.get(_INT16.unpack_from(key)[0])
    if classes is None:
        return None
    key_message, _ = decode(classes[0], 0, key, 2)
    if value is None:
        return key_message, None
    version = _INT16.unpack_from(value)[0]
    if version not in classes[1].VERSIONS:
        return None
    value_message, _ = decode(classes[1], version, value, 2)
    return key_message, value_message
