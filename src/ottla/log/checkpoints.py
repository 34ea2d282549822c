"""The small files at the top of a log directory: offsets per partition, identity, clean stop."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from msgspec import DecodeError, json

from ottla.errors import OttlaError
from ottla.ids import TopicPartition, Uuid, parse_uuid, show_uuid
from ottla.log.files import write_durably

RECOVERY_POINTS = "recovery-point-offset-checkpoint"
LOG_STARTS = "log-start-offset-checkpoint"
HIGH_WATERMARKS = "replication-offset-checkpoint"
CLEANER_OFFSETS = "cleaner-offset-checkpoint"
META_PROPERTIES = "meta.properties"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"


def encode_offsets(offsets: Mapping[TopicPartition, int]) -> bytes:
    lines = [f"{topic} {partition} {offset}\n" for (topic, partition), offset in offsets.items()]
    return f"0\n{len(lines)}\n{''.join(lines)}".encode()


def read_offsets(path: Path) -> dict[TopicPartition, int]:
    """Nothing where the file is missing or not whole: then everything is read from the logs."""
    try:
        lines = path.read_text().split("\n")
        if int(lines[0]) != 0:
            return {}
        offsets = {}
        for line in lines[2 : 2 + int(lines[1])]:
            topic, partition, offset = line.split(" ")
            offsets[TopicPartition(topic, int(partition))] = int(offset)
        return offsets
    except (FileNotFoundError, ValueError, IndexError):
        return {}


class MetaProperties(NamedTuple):
    """Whose directory it is."""

    node_id: int
    cluster_id: str
    directory_id: Uuid


def read_meta_properties(directory: Path) -> MetaProperties | None:
    """None where the directory was never formatted."""
    file = directory / META_PROPERTIES
    if not file.exists():
        return None
    lines = [line.strip() for line in file.read_text().splitlines()]
    pairs = (line.partition("=") for line in lines if line and not line.startswith("#"))
    fields = {name.strip(): value.strip() for name, _, value in pairs}
    try:
        if fields["version"] != "1":
            raise ValueError(f"version {fields['version']}")
        return MetaProperties(
            int(fields["node.id"]), fields["cluster.id"], parse_uuid(fields["directory.id"])
        )
    except (KeyError, ValueError) as error:
        raise OttlaError(
            f"{file} does not say whose directory it is ({error}). "
            "Restore the file, or name another directory in log.dirs."
        ) from error


def write_meta_properties(directory: Path, meta: MetaProperties) -> None:
    text = (
        "#\n"
        f"node.id={meta.node_id}\n"
        f"directory.id={show_uuid(meta.directory_id)}\n"
        "version=1\n"
        f"cluster.id={meta.cluster_id}\n"
    )
    write_durably(directory / META_PROPERTIES, text.encode())


def take_clean_shutdown(directory: Path) -> int | None:
    """The epoch of the broker that stopped cleanly, -1 if it did not say; None after a crash.

    The mark is taken away: should this start end in a crash, the next one must recover.
    """
    file = directory / CLEAN_SHUTDOWN
    try:
        content = file.read_text()
    except FileNotFoundError:
        return None
    file.unlink()
    try:
        return int(json.decode(content)["brokerEpoch"])
    except (DecodeError, ValueError, KeyError, TypeError):
        return -1


def write_clean_shutdown(directory: Path, broker_epoch: int) -> None:
    content = json.encode({"version": 0, "brokerEpoch": broker_epoch})
    write_durably(directory / CLEAN_SHUTDOWN, content)
