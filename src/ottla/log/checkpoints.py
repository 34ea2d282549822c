"""The small files at the top of a log directory: offsets per partition, identity, clean stop."""

from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from msgspec import DecodeError, json

from ottla.config.properties import parse_properties
from ottla.errors import OttlaError
from ottla.ids import TopicPartition, Uuid, parse_uuid, show_uuid
from ottla.ports.disk import Sync, sync, write_durably

RECOVERY_POINTS = "recovery-point-offset-checkpoint"
LOG_STARTS = "log-start-offset-checkpoint"
HIGH_WATERMARKS = "replication-offset-checkpoint"
CLEANER_OFFSETS = "cleaner-offset-checkpoint"
META_PROPERTIES = "meta.properties"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"


class OffsetFile:
    """The offsets of many logs, of which only those that changed are put into words again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines: dict[TopicPartition, str] = {}
        self._content: bytes | None = None

    def put(self, partition: TopicPartition, offset: int) -> None:
        topic, number = partition
        self._lines[partition] = f"{topic} {number} {offset}\n"
        self._content = None

    def forget(self, partition: TopicPartition) -> None:
        if self._lines.pop(partition, None) is not None:
            self._content = None

    def encoded(self) -> tuple[Path, bytes]:
        if self._content is None:
            lines = self._lines
            self._content = f"0\n{len(lines)}\n{''.join(lines.values())}".encode()
        return self._path, self._content


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


class CheckpointJob(NamedTuple):
    """Contents of checkpoint files; `run` writes and syncs them, in a thread."""

    files: tuple[tuple[Path, bytes], ...]
    number: int  # the larger, the newer
    checkpoints: "Checkpoints"

    def run(self) -> None:
        self.checkpoints.write(self)


class Checkpoints:
    """Which state of a directory's logs is written down, and whom it may still speak of.

    The files go by names, and the logs of a topic that is made anew have those of the old one's.
    """

    def __init__(self, sync: Sync) -> None:
        self._sync = sync
        self._lock = Lock()  # one job at a time: two would take each other's files away
        self._taken = self._written = 0  # the numbers of the newest jobs
        self._files: tuple[tuple[Path, bytes], ...] = ()  # as they were last written
        self._gone: dict[TopicPartition, int] = {}  # the last job that may have its name

    def take(self, files: tuple[tuple[Path, bytes], ...]) -> CheckpointJob:
        self._gone = {name: job for name, job in self._gone.items() if job >= self._written}
        self._taken += 1
        return CheckpointJob(files, self._taken, self)

    def write(self, job: CheckpointJob) -> None:
        """An older state never comes over a newer one; an idle node leaves the disk alone."""
        with self._lock:
            if job.number < self._written:
                return
            if job.files != self._files:
                self._files = ()
                for path, content in job.files:
                    write_durably(path, content, self._sync)
                self._files = job.files
            self._written = job.number

    def gone(self, name: TopicPartition) -> None:
        """There is no log of that name any more; what was taken until now may tell of it."""
        self._gone[name] = self._taken

    def may_tell_of_a_former(self, name: TopicPartition) -> bool:
        """Whether the files may have that name from a log that is gone."""
        return self._gone.get(name, -1) >= self._written


class MetaProperties(NamedTuple):
    """Whose directory it is."""

    node_id: int
    cluster_id: str
    directory_id: Uuid


def read_meta_properties(directory: Path) -> MetaProperties | None:
    """None where the directory was never formatted."""
    file = directory / META_PROPERTIES
    try:
        text = file.read_text()
        fields = {each.name: each.value for each in parse_properties(text, str(file))}
        if fields["version"] != "1":
            raise ValueError(f"version {fields['version']}")
        return MetaProperties(
            int(fields["node.id"]), fields["cluster.id"], parse_uuid(fields["directory.id"])
        )
    except FileNotFoundError:
        return None
    except (KeyError, ValueError) as error:
        raise OttlaError(
            f"{file} does not say whose directory it is ({error}). "
            "Restore the file, or name another directory in log.dirs."
        ) from error


def _written_at(now_ms: int) -> str:
    """As Java writes it into properties files."""
    return datetime.fromtimestamp(now_ms / 1000, UTC).strftime("%a %b %d %H:%M:%S UTC %Y")


def write_meta_properties(
    directory: Path, meta: MetaProperties, now_ms: int = 0, sync: Sync = sync
) -> None:
    text = (
        f"#\n#{_written_at(now_ms)}\n"
        f"node.id={meta.node_id}\n"
        f"directory.id={show_uuid(meta.directory_id)}\n"
        "version=1\n"
        f"cluster.id={meta.cluster_id}\n"
    )
    write_durably(directory / META_PROPERTIES, text.encode(), sync)


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


def write_clean_shutdown(directory: Path, broker_epoch: int, sync: Sync) -> None:
    content = json.encode({"version": 0, "brokerEpoch": broker_epoch})
    write_durably(directory / CLEAN_SHUTDOWN, content, sync)
