"""Metadata records to the values of the metadata log and back.

A value is a frame (version 1, the record's type, the record's version, all uvarints) and a
flexible body. A type that nobody here knows becomes an `UnknownRecord`, which keeps its bytes; a
known type at a version that is too new is refused, since half-read metadata is worse than none.
"""

from collections.abc import Sequence

from msgspec import Struct

from ottla.errors import OttlaError
from ottla.wire.codec import MalformedMessage, decoder, encoder, read_uvarint, uvarint
from ottla.wire.message import Message
from ottla.wire.records import metadata as schema
from ottla.wire.records.metadata import (
    BrokerRegistrationChangeRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
)

FRAME_VERSION = 1


class UnknownRecord(Struct, frozen=True):
    """A record of a type from the future, carried as it came."""

    api_key: int
    value: bytes


Record = Message | UnknownRecord

_TYPES: dict[int, type[Message]] = {
    cls.API_KEY: cls
    for cls in vars(schema).values()
    if isinstance(cls, type) and issubclass(cls, Message) and cls.API_KEY >= 0
}
_VERSIONS: dict[type[Message], int] = {
    RegisterBrokerRecord: 4,
    PartitionRecord: 2,
    PartitionChangeRecord: 2,
}
"""What Apache Kafka 4.3 writes at its newest metadata.version; all other types are at 0."""


def version_of(record: Message) -> int:
    """The version in which Apache Kafka 4.3 would write this record."""
    if isinstance(record, BrokerRegistrationChangeRecord):
        if record.cordoned_log_dirs is not None:
            return 3
        if record.log_dirs:
            return 2
        return 1 if record.in_controlled_shutdown else 0
    return _VERSIONS.get(type(record), 0)


def frame(record: Record, version: int | None = None) -> bytes:
    if isinstance(record, UnknownRecord):
        return record.value
    if version is None:
        version = version_of(record)
    out = bytearray((FRAME_VERSION,))
    out += uvarint(record.API_KEY)
    out += uvarint(version)
    encoder(type(record), version)(record, out)
    return bytes(out)


def frames(records: Sequence[Record]) -> list[bytes]:
    return [frame(record) for record in records]


def unframe(value: bytes) -> Record:
    return unframe_versioned(value)[0]


def unframe_versioned(value: bytes) -> tuple[Record, int]:
    """The record and the version it was written in."""
    try:
        return _unframe(value)
    except (IndexError, ValueError) as error:
        raise OttlaError(
            f"The metadata log holds a record that cannot be read ({error}). The directory may be "
            "damaged: restore it from a replica or a copy."
        ) from error


def _unframe(value: bytes) -> tuple[Record, int]:
    frame_version, position = read_uvarint(value, 0)
    if frame_version != FRAME_VERSION:
        raise MalformedMessage(f"frame version {frame_version}")
    api_key, position = read_uvarint(value, position)
    version, position = read_uvarint(value, position)
    cls = _TYPES.get(api_key)
    if cls is None:
        return UnknownRecord(api_key, bytes(value)), version
    if version not in cls.VERSIONS:
        raise OttlaError(
            f"The metadata log holds a {cls.__name__} of version {version}, but only versions up "
            f"to {cls.VERSIONS[-1]} are known. It was written by a newer Kafka: start that one."
        )
    record, end = decoder(cls, version)(value, position, len(value))
    if end != len(value):
        raise MalformedMessage(f"{cls.__name__} v{version} ends {len(value) - end} bytes early")
    return record, version
