"""What a source's task does in a Python worker: slices are read, and become rows for Kafka."""

import json
import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ottla.connect.connector import Config, Progress, Slice
from ottla.connect.data import Record
from ottla.connect.pipeline import SourceChain
from ottla.connect.runs import rows
from ottla.connect.runs.dead_letters import ErrorReport
from ottla.connect.runs.offsets import offset_key, offset_value

if TYPE_CHECKING:
    import pyarrow


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceWork:
    """The payload of one task: the same for every job, but for its slices."""

    connector: str
    config: Config
    worker: Mapping[str, str]
    offsets_topic: str
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
    for batch in payloads:
        for payload in batch.column(0).to_pylist():
            yield from rows.batches(_rows(pickle.loads(payload)))


def _rows(work: SourceWork) -> Iterator[Any]:
    try:
        yield from Reading(work).rows()
    except Exception as error:
        yield rows.failed(error)


class Reading:
    def __init__(self, work: SourceWork) -> None:
        self._work = work
        self._progress: dict[str, Progress] = {}
        self._topics: dict[str, None] = {}
        self._records = 0

    def rows(self) -> Iterator[Any]:
        """Records, then where they end, then what the run is told."""
        work = self._work
        chain = SourceChain(work.config, work.worker)
        errors = ErrorReport(work.connector, work.task, work.config)
        for row in chain.rows(self._read(), errors.note):
            self._topics.setdefault(row.topic)
            self._records += 1
            yield row
        for one in self._progress.values():
            key = offset_key(work.connector, one.partition)
            yield rows.Row(work.offsets_topic, key, offset_value(one.offset))
        done = SourceDone(
            list(self._progress.values()), list(self._topics), self._records, errors.sentences
        )
        yield rows.told(done)

    def _read(self) -> Iterator[Record]:
        for slice in self._work.slices:
            for one in slice.read():
                if isinstance(one, Record):
                    yield one
                else:
                    self._progress[json.dumps(one.partition, sort_keys=True)] = one
