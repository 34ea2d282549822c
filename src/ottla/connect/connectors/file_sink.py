"""Values as lines of a file: Connect's FileStreamSink, exactly once.

Beside the file lies a marker: how long it was when all that the marker's offsets speak of was in
it. Lines are appended first and the marker is replaced then; whoever comes after a crash cuts the
file to the marker's length and appends again. One partition is written at a time: the file is
locked, for tasks on one machine. Who is frozen keeps the lock, since nothing could keep it from
appending when it wakes; whoever comes after it waits, and says for whom.
"""

import contextlib
import fcntl
import itertools
import json
import os
import time
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING

from ottla.connect.connector import (
    Config,
    ConnectError,
    Report,
    ServiceError,
    SinkTask,
    TopicPartition,
    Written,
    end_of,
)
from ottla.connect.data import Record
from ottla.connect.definitions import Definitions, InvalidConfig, Key, Kind
from ottla.connect.java_text import text
from ottla.connect.runs.texts import SinkTexts

if TYPE_CHECKING:
    import pyarrow

LINES = 10_000
LOCKED_WITHIN_S = 10.0

DEFINITIONS = Definitions(
    (
        Key(
            name="file",
            kind=Kind.STRING,
            default=None,
            importance="HIGH",
            doc="The file that gets a line for each record.",
        ),
    )
)


def make(config: Config, alias: str) -> "FileSink":
    values = DEFINITIONS.parse(config)
    if not values["file"]:
        sentence = "file is missing: nothing is written to a worker's standard output here."
        raise InvalidConfig({"file": [sentence]})
    return FileSink(Path(values["file"]), config)


@dataclass(slots=True)
class Marker:
    length: int = 0
    offsets: dict[TopicPartition, int] = field(default_factory=dict)  # of what comes next

    @classmethod
    def of(cls, file: Path) -> "Marker":
        try:
            told = json.loads(marker_of(file).read_text())
        except FileNotFoundError:
            # What is there already was written by others, and stays.
            return cls(file.stat().st_size if file.exists() else 0)
        offsets = {
            TopicPartition(topic, int(partition)): offset
            for topic, partitions in told["offsets"].items()
            for partition, offset in partitions.items()
        }
        return cls(told["length"], offsets)

    def write(self, file: Path) -> None:
        topics: dict[str, dict[str, int]] = {}
        for (topic, partition), offset in sorted(self.offsets.items()):
            topics.setdefault(topic, {})[str(partition)] = offset
        partial = marker_of(file).with_suffix(".partial")
        with partial.open("w") as into:
            json.dump({"length": self.length, "offsets": topics}, into)
            into.flush()
            os.fsync(into.fileno())
        partial.replace(marker_of(file))


def marker_of(file: Path) -> Path:
    return file.with_name(f".{file.name}.ottla")


@contextlib.contextmanager
def _told(file: Path) -> Iterator[None]:
    """What the system refuses is a sentence: no such folder, no right to it, no space left."""
    try:
        yield
    except OSError as error:
        raise ConnectError(f"{file} cannot be written: {error.strerror}.") from error


@contextlib.contextmanager
def _locked(file: Path) -> "Iterator[IO[bytes]]":
    with _told(file):
        opened = file.open("ab", buffering=0)  # what was not written is not tried at its end again
    with opened:
        _lock(file, opened)
        yield opened


def _lock(file: Path, opened: IO[bytes]) -> None:
    end = time.monotonic() + LOCKED_WITHIN_S
    pause_s = 0.001
    while True:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end:
                raise ServiceError(_waiting(file, opened), away=True) from None
            time.sleep(pause_s)
            pause_s = min(pause_s * 2, 0.1)
        else:
            return


def _waiting(file: Path, opened: IO[bytes]) -> str:
    held = os.fstat(opened.fileno())
    place = f"{os.major(held.st_dev):02x}:{os.minor(held.st_dev):02x}:{held.st_ino}"
    locks = Path("/proc/locks")
    fields = [one.split() for one in locks.read_text().splitlines()] if locks.exists() else []
    owners = [one[4] for one in fields if one[1] == "FLOCK" and place in one]
    who = f"process {owners[0]}" if owners else "another process"
    return (
        f"{file} is being written by {who}, which does not go on: no line is written until it "
        "does, or has ended."
    )


@dataclass(frozen=True, slots=True)
class FileTask:
    file: Path

    def put(
        self, partition: TopicPartition, records: Iterator[Record], report: Report
    ) -> int | None:
        with appending(self.file, partition) as into:
            news = (one for one in records if _offset(one) >= into.begin)
            while some := list(itertools.islice(news, LINES)):
                lines = "".join(f"{text(one.value, one.value_schema)}\n" for one in some)
                into.append(lines.encode(), _offset(some[-1]) + 1)
            into.end = end_of(records, into.end)
        return None

    def put_texts(
        self, partition: TopicPartition, texts: Iterator[SinkTexts], end: int
    ) -> int | None:
        """The same where values are texts already, a column at a time."""
        with appending(self.file, partition) as into:
            for offsets, values in texts:
                fresh = values
                if offsets[0].as_py() < into.begin:
                    fresh = values[_below(offsets, into.begin) :]
                into.append(joined(fresh), offsets[-1].as_py() + 1)
            into.end = end
        return None


def _offset(record: Record) -> int:
    assert record.original is not None
    return record.original[2]


def _below(offsets: "pyarrow.Array", offset: int) -> int:
    """How many there are."""
    return bisect_left(range(len(offsets)), offset, key=lambda at: offsets[at].as_py())


def joined(values: Sequence[bytes | None]) -> bytes:
    """Each with a line feed behind it. What is no UTF-8 is replaced, as Java replaces it."""
    pieces = [b"null" if one is None else one for one in values]
    whole = b"\n".join([*pieces, b""])
    try:
        whole.decode()
    except UnicodeDecodeError:
        return b"".join(one.decode(errors="replace").encode() + b"\n" for one in pieces)
    return whole


@dataclass(slots=True)
class Appending:
    file: Path
    into: IO[bytes]
    begin: int  # what is below it the file has already
    end: int

    def append(self, lines: bytes, end: int) -> None:
        left = memoryview(lines)
        with _told(self.file):
            while left:
                left = left[self.into.write(left) :]
        self.end = max(self.end, end)


def _cut(file: Path, into: "IO[bytes]") -> Marker:
    """To the length of its marker, which a file that no run has written does not have."""
    marker = Marker.of(file)
    if os.fstat(into.fileno()).st_size > marker.length:
        into.truncate(marker.length)
    return marker


@contextlib.contextmanager
def appending(file: Path, partition: TopicPartition) -> Iterator[Appending]:
    """The file, locked and cut to its marker; the marker is written when all went well."""
    with _locked(file) as into:
        if not marker_of(file).exists():
            # Before the first line: whoever comes after a crash must know what was there already.
            with _told(file):
                Marker.of(file).write(file)
        marker = _cut(file, into)
        begin = marker.offsets.get(partition, 0)
        lines = Appending(file, into, begin, begin)
        yield lines
        if lines.end > begin:
            marker.offsets[partition] = lines.end
            with _told(file):
                os.fsync(into.fileno())
                marker.length = os.fstat(into.fileno()).st_size
                marker.write(file)


class FileSink:
    def __init__(self, file: Path, config: Config) -> None:
        self._file = file
        self._config = config

    def task_configs(self, maximum: int) -> Sequence[Config]:
        return [self._config] * maximum

    def start(self) -> None:
        pass

    def positions(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        held = Marker.of(self._file).offsets
        return {one: held[one] for one in partitions if one in held}

    def move(self, positions: Mapping[TopicPartition, int | None]) -> None:
        """Lines behind the marker are of an append that did not end, of whichever partition."""
        with _locked(self._file) as file:
            marker = _cut(self._file, file)
            for one, offset in positions.items():
                if offset is None:
                    marker.offsets.pop(one, None)
                else:
                    marker.offsets[one] = offset
            with _told(self._file):
                marker.write(self._file)

    def adopt(self, positions: Mapping[TopicPartition, int]) -> None:
        with _locked(self._file) as file:
            marker = Marker.of(self._file)
            marker.length = os.fstat(file.fileno()).st_size
            marker.offsets |= positions
            with _told(self._file):
                marker.write(self._file)

    def preview(self, records: Iterable[Record]) -> Iterator[Written]:
        for one in records:
            yield Written(str(self._file), None, text(one.value, one.value_schema))

    def task(self) -> SinkTask:
        return FileTask(self._file)

    def stop(self) -> None:
        pass
