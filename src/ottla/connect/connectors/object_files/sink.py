"""A sink whose target is files: whole ones are written, the rest of the records comes again.

The group moves only to where files end, and files end by offsets and record time alone: what is
written again has the same name and the same bytes.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from ottla.connect.connector import (
    Config,
    ConnectError,
    Report,
    SinkTask,
    TopicPartition,
    Written,
)
from ottla.connect.connectors.object_files.cutting import Cutting, offset
from ottla.connect.connectors.object_files.formats import Format
from ottla.connect.connectors.object_files.partitioning import Extractor, Partitioner
from ottla.connect.connectors.object_files.putting import Putting
from ottla.connect.connectors.object_files.stores import HdfsStore, Store
from ottla.connect.data import DataError, Record
from ottla.connect.definitions import InvalidConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Naming:
    """`topics/T/partition=P/T+P+0000000000.ext`."""

    topics: str
    directory_delimiter: str
    delimiter: str
    width: int
    end_offset: bool  # HDFS's names tell it, too

    def path(self, folder: str, records: Sequence[Record], extension: str) -> str:
        first = records[0].original
        assert first is not None
        offsets = [first[2], offset(records[-1])] if self.end_offset else [first[2]]
        shown = [f"{one:0{self.width}}" for one in offsets]
        name = self.delimiter.join([records[0].topic, str(first[1]), *shown])
        folders = [self.topics, records[0].topic, folder]
        return self.directory_delimiter.join([*folders, name + extension])


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesTask:
    store: Store
    format: Format
    naming: Naming
    folder: Partitioner
    time: Extractor
    flush_size: int
    rotate_interval_ms: int
    ignore_null: bool

    def put(
        self, partition: TopicPartition, records: Iterator[Record], report: Report
    ) -> int | None:
        cutting = Cutting(self.folder, self.time, self.flush_size, self.rotate_interval_ms)
        with Putting(self.store) as putting:
            for chunk in cutting.chunks(self._good(records, report)):
                for folder, mine in chunk.files.items():
                    path = self.naming.path(folder, mine, self.format.extension)
                    putting.put(path, self.format.data(mine))
        return cutting.open.first_offset if cutting.open.count else None

    def _good(self, records: Iterable[Record], report: Report) -> Iterator[Record]:
        for record in records:
            if record.value is None and self.ignore_null:
                continue
            try:
                if record.value is None:
                    raise DataError("A record without a value cannot be written to a file")
                self.folder(record)
                if self.rotate_interval_ms > 0:
                    self.time(record)
                self.format.check(record)
            except DataError as error:
                report(record, error)
            else:
                yield record

    def files(self, records: Iterable[Record], report: Report) -> Iterator[tuple[str, bytes]]:
        """As they would be; the last ones, which further records would make longer, too."""
        cutting = Cutting(self.folder, self.time, self.flush_size, self.rotate_interval_ms)
        for chunk in (*cutting.chunks(self._good(records, report)), cutting.open):
            for folder, mine in chunk.files.items():
                path = self.naming.path(folder, mine, self.format.extension)
                yield path, self.format.data(mine)


@dataclass(frozen=True, slots=True)
class FilesSink:
    config: Config
    work: FilesTask

    def task_configs(self, maximum: int) -> Sequence[Config]:
        return [self.config] * maximum

    def start(self) -> None:
        self.work.store.check()

    def positions(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        return {}

    def move(self, positions: Mapping[TopicPartition, int | None]) -> None:
        pass

    def try_out(self) -> Mapping[str, Sequence[str]]:
        try:
            self.work.store.check()
        except ConnectError as error:
            key = "hdfs.url" if isinstance(self.work.store, HdfsStore) else "s3.bucket.name"
            raise InvalidConfig({key: [str(error)]}) from None
        return {}

    def preview(self, records: Iterable[Record]) -> Iterator[Written]:
        def fail(record: Record, error: Exception) -> None:
            raise error

        for _, mine in groupby(sorted(records, key=_place), key=lambda one: _place(one)[:2]):
            for path, data in self.work.files(mine, fail):
                try:
                    yield Written(path, None, data.decode().rstrip("\n"))
                except UnicodeDecodeError:
                    yield Written(path, None, f"{len(data)} bytes")

    def task(self) -> SinkTask:
        return self.work

    def stop(self) -> None:
        pass


def _place(record: Record) -> tuple[str, int, int]:
    assert record.original is not None
    return record.original
