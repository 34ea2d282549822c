"""Names of what lies in a log directory, as Kafka gives them. Pure."""

import re

from ottla.ids import TopicPartition

METADATA_TOPIC = "__cluster_metadata"
NAME_MAX = 255
DELETE, FUTURE, STRAY = "-delete", "-future", "-stray"
_PARTITION_DIRECTORY = re.compile(r"(?P<topic>[a-zA-Z0-9._-]+)-(?P<partition>\d+)")


def parse_partition(name: str) -> TopicPartition | None:
    """The partition whose directory has this name; None for any other directory."""
    match = _PARTITION_DIRECTORY.fullmatch(name)
    if match is None or name.endswith((DELETE, STRAY, FUTURE)):
        return None
    return TopicPartition(match["topic"], int(match["partition"]))


def parse_future(name: str) -> TopicPartition | None:
    """The partition whose future log has this name."""
    return parse_partition(name.rpartition(".")[0]) if name.endswith(FUTURE) else None


def future_name(partition: TopicPartition, unique: str) -> str:
    return f"{partition}.{unique}{FUTURE}"


def name_aside(partition: TopicPartition, unique: str, suffix: str) -> str:
    """For a log that is deleted, or a stray; no longer than a file system takes."""
    ending = f"-{partition.partition}.{unique}{suffix}"
    return partition.topic[: NAME_MAX - len(ending)] + ending
