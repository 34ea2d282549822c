"""What a source's task does in a Python worker: slices are read, and become rows for Kafka."""

import json
import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from ottla.connect.connector import Config, Progress, Slice
from ottla.connect.data import Record
from ottla.connect.pipeline import Row, SourceChain
from ottla.connect.runs import rows
from ottla.connect.runs.dead_letters import ErrorReport
from ottla.connect.runs.offsets import offset_key, offset_value
from ottla.connect.runs.texts import SourceTexts, TextSlice, is_text, record_batches

if TYPE_CHECKING:
    import pyarrow


@runtime_checkable
class JsonSlice(Protocol):
    """A slice that may give bytes, where JsonConverter is all that would come behind it."""

    def read_json(self, chain: SourceChain) -> Iterator[Row | Record | Progress] | None:
        """As `read`; what is no row yet goes through the chain. None: not with this chain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceWork:
    """The payload of one task: the same for every job, but for its slices."""

    connector: str
    config: Config
    worker: Mapping[str, str]
    offsets_topics: Sequence[str]
    task: int
    slices: Sequence[Slice]


@dataclass(frozen=True, slots=True)
class SourceDone:
    """What a task tells the run; written to Kafka together with what it speaks of."""

    progress: Sequence[Progress]
    topics: Sequence[str]
    records: int
    sentences: Sequence[str]  # for the worker's log


def read_slices(payloads: "Iterator[pyarrow.RecordBatch]") -> "Iterator[pyarrow.RecordBatch]":
    """For mapInArrow: each payload is a pickled `SourceWork`."""
    rows.hold_many()
    for batch in payloads:
        for payload in batch.column(0).to_pylist():
            try:
                yield from Reading(pickle.loads(payload)).batches()
            except Exception as error:
                yield from rows.batches(iter([rows.failed(error)]))


class Reading:
    def __init__(self, work: SourceWork) -> None:
        self._work = work
        self._progress: dict[str, Progress] = {}
        self._topics: dict[str, None] = {}
        self._records = 0
        self._chain = SourceChain(work.config, work.worker)
        self._errors = ErrorReport(work.connector, work.task, work.config)

    def batches(self) -> "Iterator[pyarrow.RecordBatch]":
        """Records, then where they end, then what the run is told."""
        columns = is_text(self._chain)
        for slice in self._work.slices:
            texts = slice.read_texts() if columns and isinstance(slice, TextSlice) else None
            if texts is None:
                yield from rows.batches(self._counted(self._rows(slice)))
            else:
                yield from self._columns(texts)
        yield from rows.batches(self._end())

    def _rows(self, slice: Slice) -> Iterator[Row]:
        rendered = slice.read_json(self._chain) if isinstance(slice, JsonSlice) else None
        if rendered is None:
            return self._chain.rows(self._read(slice), self._errors.note)
        return self._rendered(rendered)

    def _rendered(self, read: Iterator[Row | Record | Progress]) -> Iterator[Row]:
        for one in read:
            if isinstance(one, Row):
                yield one
            elif isinstance(one, Record):
                yield from self._chain.rows((one,), self._errors.note)
            else:
                self._note(one)

    def _counted(self, made: Iterator[Row]) -> Iterator[Any]:
        for row in made:
            self._topics.setdefault(row.topic)
            self._records += 1
            yield row

    def _columns(self, read: "Iterator[SourceTexts | Progress]") -> "Iterator[pyarrow.RecordBatch]":
        for one in read:
            if isinstance(one, Progress):
                self._note(one)
            else:
                self._topics.setdefault(one.topic)
                self._records += len(one.values)
                yield from record_batches(one, self._chain.value)

    def _end(self) -> Iterator[rows.Row]:
        work = self._work
        for one in self._progress.values():
            key = offset_key(work.connector, one.partition)
            for topic in work.offsets_topics:
                yield rows.Row(topic, key, offset_value(one.offset))
        done = SourceDone(
            list(self._progress.values()),
            list(self._topics),
            self._records,
            self._errors.sentences,
        )
        yield rows.told(done)

    def _read(self, slice: Slice) -> Iterator[Record]:
        for one in slice.read():
            if isinstance(one, Record):
                yield one
            else:
                self._note(one)

    def _note(self, progress: Progress) -> None:
        self._progress[json.dumps(progress.partition, sort_keys=True)] = progress
