"""The names by which brokers, topics, partitions and offsets are known. Nothing else lives here.

A Kafka uuid is its sixteen bytes: they parse, compare and hash faster than `uuid.UUID`,
and people see the same unpadded base64 that Apache Kafka shows.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
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


def show_uuid_as_java(uuid: Uuid) -> str:
    """In hexadecimal: as Kafka names members of classic groups."""
    digits = uuid.hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def parse_uuid(text: str) -> Uuid:
    uuid = urlsafe_b64decode(text + "==")
    if len(uuid) != 16:
        raise ValueError(f"{text!r} is not a uuid: 22 characters of url-safe base64 are expected")
    return uuid
