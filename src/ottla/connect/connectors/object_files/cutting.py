"""Where files end: by counts of records and by their own time, so that a rerun cuts the same. Pure.

All files of a Kafka partition end at the same record, whatever folders they are in: the offset
behind it is then a place to go on from.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ottla.connect.connectors.object_files.partitioning import Extractor, Partitioner
from ottla.connect.data import Record, Schema


@dataclass(slots=True)
class Chunk:
    """The records between two cuts, by folder."""

    files: dict[str, list[Record]] = field(default_factory=dict)
    count: int = 0
    begin_time: int | None = None
    schema: Schema | None = None

    @property
    def first_offset(self) -> int:
        return min(offset(records[0]) for records in self.files.values())

    def add(self, folder: str, record: Record, at: int | None) -> None:
        if not self.count:
            self.begin_time, self.schema = at, record.value_schema
        self.files.setdefault(folder, []).append(record)
        self.count += 1


def offset(record: Record) -> int:
    assert record.original is not None
    return record.original[2]


@dataclass(slots=True)
class Cutting:
    folder: Partitioner
    time: Extractor
    flush_size: int
    rotate_interval_ms: int
    open: Chunk = field(default_factory=Chunk)  # what is not cut off yet

    def chunks(self, records: Iterable[Record]) -> Iterator[Chunk]:
        """Whole ones; the rest stays in `open`."""
        for record in records:
            folder = self.folder(record)
            at = self.time(record) if self.rotate_interval_ms > 0 else None
            if self.open.count and self._ends_before(record, folder, at):
                yield self._taken()
            self.open.add(folder, record, at)
            if self.open.count >= self.flush_size:
                yield self._taken()

    def _taken(self) -> Chunk:
        taken, self.open = self.open, Chunk()
        return taken

    def _ends_before(self, record: Record, folder: str, at: int | None) -> bool:
        schema = self.open.schema
        if record.value_schema is not schema and record.value_schema != schema:
            return True
        if at is None or self.open.begin_time is None:
            return False
        return at - self.open.begin_time >= self.rotate_interval_ms or folder not in self.open.files
