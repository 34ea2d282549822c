"""What the records of the cluster's own topics say, told by topic name.

For people who look into files; the server reads them by its own strict ways.
"""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from struct import Struct
from struct import error as StructError
from typing import Any

from msgspec import structs

from ottla.errors import KafkaError, OttlaError
from ottla.ids import show_uuid
from ottla.metadata.records import UnknownRecord, unframe_versioned
from ottla.quorum.control_records import TYPES as QUORUM_RECORDS
from ottla.wire.codec import decode
from ottla.wire.message import Message
from ottla.wire.record_batch import Record, read_control_type, read_coordinator_epoch

METADATA_TOPIC = "__cluster_metadata"
_KEYED_TOPICS = {  # and the modules of what may stand in them
    "__consumer_offsets": (
        "offsets",
        "classic_groups",
        "consumer_groups",
        "share_groups",
        "streams_groups",
    ),
    "__transaction_state": ("transactions",),
    "__share_group_state": ("share",),
}
_MARKERS = {0: "abort", 1: "commit"}
_INT16 = Struct(">h")


Decoded = tuple[str, dict[str, Any]]  # the record's type and its fields


def decode_record(topic: str, record: Record, *, control: bool) -> Decoded | None:
    """What a record of an internal topic says; None where it is a user's or cannot be read."""
    try:
        if control:
            return _control(record)
        if topic == METADATA_TOPIC and record.value is not None:
            message, version = unframe_versioned(record.value)
            if isinstance(message, UnknownRecord):
                return f"unknown {message.api_key}", {}
            return _name(type(message)), {**plain(message), "version": version}
        if topic in _KEYED_TOPICS and record.key is not None:
            return _keyed(_KEYED_TOPICS[topic], record.key, record.value)
    except (KafkaError, OttlaError, ValueError, IndexError, StructError):
        return None
    return None


def plain(message: Message) -> dict[str, Any]:
    """The fields of a message as JSON can hold them; uuids as Kafka shows them."""
    return {name: _plain(value) for name, value in structs.asdict(message).items()}


def _plain(value: object) -> object:
    if isinstance(value, Message):
        return plain(value)
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (bytes, memoryview)):
        raw = bytes(value)
        return show_uuid(raw) if len(raw) == 16 else raw.hex()
    return value


def _control(record: Record) -> Decoded:
    kind = read_control_type(record)
    if kind in _MARKERS:
        return _MARKERS[kind], {"coordinator_epoch": read_coordinator_epoch(record)}
    cls = QUORUM_RECORDS.get(kind)
    if cls is None or record.value is None:
        return f"control {kind}", {}
    return _name(cls), plain(decode(cls, 0, record.value)[0])


def _keyed(modules: tuple[str, ...], key: bytes, value: bytes | None) -> Decoded:
    (kind,) = _INT16.unpack_from(key)
    classes = _key_classes(modules).get(kind)
    if classes is None:
        return f"unknown {kind}", {}
    key_class, value_class = classes
    fields = plain(decode(key_class, 0, key, 2)[0])
    if value is None:
        fields["deleted"] = True
    else:
        (version,) = _INT16.unpack_from(value)
        fields |= plain(decode(value_class, version, value, 2)[0])
        fields["version"] = version
    return key_class.__name__.removesuffix("Key"), fields


@cache
def _key_classes(modules: tuple[str, ...]) -> Mapping[int, tuple[type[Message], type[Message]]]:
    """A record type's key and value: the generated classes pair up by name."""
    names: dict[str, Any] = {}
    for module in modules:
        names |= vars(import_module(f"ottla.wire.records.{module}"))
    return {
        cls.API_KEY: (cls, names[f"{name.removesuffix('Key')}Value"])
        for name, cls in names.items()
        if name.endswith("Key") and isinstance(cls, type) and issubclass(cls, Message)
    }


def _name(cls: type[Message]) -> str:
    return cls.__name__.removesuffix("Record")
