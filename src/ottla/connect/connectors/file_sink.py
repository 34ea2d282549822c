"""Values as lines of a file: Connect's FileStreamSink, exactly once.

Beside the file lies a marker: how long it was when all that the marker's offsets speak of was in
it. Lines are appended first and the marker is replaced then; whoever comes after a crash cuts the
file to the marker's length and appends again. One partition is written at a time: the file is
locked, for tasks on one machine.
"""

import contextlib
import fcntl
import itertools
import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from ottla.connect.connector import (
    Config,
    ConnectError,
    Report,
    SinkTask,
    TopicPartition,
    end_of,
)
from ottla.connect.data import Record
from ottla.connect.definitions import Definitions, InvalidConfig, Key, Kind
from ottla.connect.java_text import text

LINES = 10_000

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
def _locked(file: Path) -> "Iterator[IO[bytes]]":
    try:
        opened = file.open("ab")
    except OSError as error:
        raise ConnectError(f"{file} cannot be written: {error.strerror}.") from error
    with opened:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield opened


@dataclass(frozen=True, slots=True)
class FileTask:
    file: Path

    def put(
        self, partition: TopicPartition, records: Iterator[Record], report: Report
    ) -> int | None:
        with _locked(self.file) as into:
            marker = Marker.of(self.file)
            if os.fstat(into.fileno()).st_size > marker.length:
                into.truncate(marker.length)
            begin = end = marker.offsets.get(partition, 0)
            news = (one for one in records if (one.original or ("", 0, 0))[2] >= begin)
            while some := list(itertools.islice(news, LINES)):
                into.write(
                    "".join(f"{text(one.value, one.value_schema)}\n" for one in some).encode()
                )
                end = (some[-1].original or ("", 0, 0))[2] + 1
            end = end_of(records, end)
            if end > begin:
                into.flush()
                os.fsync(into.fileno())
                marker.length = os.fstat(into.fileno()).st_size
                marker.offsets[partition] = end
                marker.write(self.file)
        return None


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
        """Others may have written since: what they wrote stays."""
        with _locked(self._file) as file:
            marker = Marker.of(self._file)
            marker.length = os.fstat(file.fileno()).st_size
            for one, offset in positions.items():
                if offset is None:
                    marker.offsets.pop(one, None)
                else:
                    marker.offsets[one] = offset
            marker.write(self._file)

    def task(self) -> SinkTask:
        return FileTask(self._file)

    def stop(self) -> None:
        pass
