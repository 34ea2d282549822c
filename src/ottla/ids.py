"""The names by which brokers, topics, partitions and offsets are known. Nothing else lives here.

A Kafka uuid is its sixteen bytes: they parse, compare and hash faster than `uuid.UUID`,
and people see the same unpadded base64 that Apache Kafka shows.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from os import urandom
from typing import NamedTuple, NewType

BrokerId = NewType("BrokerId", int)
Offset = NewType("Offset", int)
LeaderEpoch = NewType("LeaderEpoch", int)
ProducerId = NewType("ProducerId", int)
Uuid = bytes  # sixteen of them

ZERO_UUID: Uuid = bytes(16)
"""Stands for "no id" on the wire; for a directory it means "not assigned yet"."""
UNASSIGNED_DIRECTORY: Uuid = bytes(15) + b"\x01"  # see FORMATS: the (0, 1) of partition records
LOST_DIRECTORY: Uuid = bytes(15) + b"\x02"
METADATA_TOPIC_ID: Uuid = bytes(15) + b"\x01"


class TopicPartition(NamedTuple):
    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


def show_uuid(uuid: Uuid) -> str:
    return urlsafe_b64encode(uuid).rstrip(b"=").decode()


def parse_uuid(text: str) -> Uuid:
    uuid = urlsafe_b64decode(text + "==")
    if len(uuid) != 16:
        raise ValueError(f"{text!r} is not a uuid: 22 characters of url-safe base64 are expected")
    return uuid


def new_uuid() -> Uuid:
    """A random id; never one that Kafka keeps for itself, nor one that looks like an option."""
    while True:
        uuid = bytearray(urandom(16))
        uuid[6] = (uuid[6] & 0x0F) | 0x40
        uuid[8] = (uuid[8] & 0x3F) | 0x80
        if not show_uuid(bytes(uuid)).startswith("-"):
            return bytes(uuid)
