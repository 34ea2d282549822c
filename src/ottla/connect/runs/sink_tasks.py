"""What a sink's task does in a Python worker: records are made of what was read, and delivered.

A task is given one or more partitions, one after the other. Its rows are dead letters; what it
tells is how far each partition is safe in the target.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any

from ottla.connect.connector import Config, SinkTask, TopicPartition
from ottla.connect.converters.headers import SimpleHeaderConverter
from ottla.connect.data import Record
from ottla.connect.java_text import text
from ottla.connect.pipeline import Failure, SinkChain, Stage
from ottla.connect.runs import rows
from ottla.connect.runs.dead_letters import ErrorReport
from ottla.connect.runs.fields import FieldTask, may_have_fields
from ottla.connect.runs.given_fields import GivenBatch, together
from ottla.connect.runs.texts import SinkTexts, TextTask, is_text, read_texts

if TYPE_CHECKING:
    import pyarrow

PLACE = ("topic", "partition")
RECORD = ("offset", "key", "value")
REST = ("time", "headers")


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkWork:
    """For mapInArrow, over columns of `SinkRecords`: each costs some of what a record does."""

    connector: str
    alias: str  # the connector's class, as it was said
    config: Config
    worker: Mapping[str, str]
    task: SinkTask
    tasks: Mapping[TopicPartition, int]  # which of the connector's tasks a partition belongs to
    ends: Mapping[TopicPartition, int]  # behind what each partition is given
    bare: bool = False  # whether nothing looks at a record's time and headers

    @property
    def columns(self) -> tuple[str, ...]:
        return (
            *(PLACE if len(self.ends) > 1 else ()),
            *RECORD,
            *(() if self.bare else REST),
        )

    def __call__(self, batches: "Iterator[pyarrow.RecordBatch]") -> "Iterator[pyarrow.RecordBatch]":
        rows.hold_many()
        return rows.batches(self._rows(batches))

    def _rows(self, batches: "Iterator[pyarrow.RecordBatch]") -> Iterator[Any]:
        try:
            made = SinkChain(self.config, self.worker)
            for partition, read in self._by_partition(batches):
                errors = ErrorReport(self.connector, self.tasks[partition], self.config)
                delivery = Delivery(self, made, partition, errors)
                done = delivery.deliver(read)
                yield from errors.letters
                yield rows.told(done)
        except Exception as error:
            yield rows.failed(error)

    def _by_partition(
        self, batches: "Iterator[pyarrow.RecordBatch]"
    ) -> "Iterator[tuple[TopicPartition, Iterator[pyarrow.RecordBatch]]]":
        if len(self.ends) > 1:
            yield from by_partition(batches)
            return
        first = next(batches, None)
        if first is not None:
            yield next(iter(self.ends)), chain((first,), batches)


def is_bare(task: SinkTask, config: Config, worker: Mapping[str, str]) -> bool:
    """Whether key and value are all that a task is given, and that is asked for later."""
    letters = config.get("errors.deadletterqueue.topic.name", "").strip()
    if letters or not isinstance(task, TextTask | FieldTask):
        return False
    try:
        chain = SinkChain(config, worker)
    except Exception:
        return False  # what is wrong with it, the task will tell
    if isinstance(task, TextTask):
        return is_text(chain)
    return may_have_fields(chain) and type(chain.header) is SimpleHeaderConverter


@dataclass(frozen=True, slots=True)
class SinkDone:
    partition: TopicPartition
    safe: int | None  # None: all that was given
    sentences: list[str]  # for the worker's log


class GivenRecords:
    """What `SinkTask.put` is given; `end` is the offset behind all of it, whatever is filtered."""

    def __init__(self, records: Iterator[Record], end: int) -> None:
        self._records = records
        self.end = end

    def __iter__(self) -> Iterator[Record]:
        return self._records

    def __next__(self) -> Record:
        return next(self._records)


@dataclass(slots=True)
class Delivery:
    """Of one partition's records."""

    work: SinkWork
    chain: SinkChain
    partition: TopicPartition
    errors: ErrorReport
    _batches: "list[pyarrow.RecordBatch]" = field(default_factory=list)

    def deliver(self, batches: "Iterator[pyarrow.RecordBatch]") -> SinkDone:
        task, end = self.work.task, self.work.ends[self.partition]
        if isinstance(task, TextTask) and is_text(self.chain):
            safe = task.put_texts(self.partition, self._texts(batches), end)
        elif isinstance(task, FieldTask) and may_have_fields(self.chain):
            given = self._given(together(batches, task.at_once))
            safe = task.put_fields(self.partition, given, self._report, end)
        else:
            records = GivenRecords(self.read(batches), end)
            safe = task.put(self.partition, records, self._report)
        return SinkDone(self.partition, safe, self.errors.sentences)

    def _given(self, batches: "Iterator[pyarrow.RecordBatch]") -> Iterator[GivenBatch]:
        for one in batches:
            yield GivenBatch(one, self.partition, self.chain, self.read)

    def _texts(self, batches: "Iterator[pyarrow.RecordBatch]") -> Iterator[SinkTexts]:
        for batch in batches:
            read = read_texts(batch.column("key"), batch.column("value"), self.chain)
            if read is None:
                yield from self._one_by_one(batch)
            else:
                yield SinkTexts(batch.column("offset"), read)

    def _one_by_one(self, batch: "pyarrow.RecordBatch") -> Iterator[SinkTexts]:
        """Their texts as Java shows them, whatever they are."""
        import pyarrow

        records = list(self.read(iter((batch,))))
        if records:
            offsets = pyarrow.array([_offset(one) for one in records], pyarrow.int64())
            said = [text(one.value, one.value_schema).encode() for one in records]
            yield SinkTexts(offsets, said)

    def read(self, batches: "Iterator[pyarrow.RecordBatch]") -> Iterator[Record]:
        topic, partition = self.partition
        make = self.chain.record
        for batch in batches:
            if self.errors.topic:
                self._batches.append(batch)  # a record's bytes may be asked for later
            offsets, keys, values = (batch.column(name).to_pylist() for name in RECORD)
            times, headers = self._rest(batch)
            for at, offset in enumerate(offsets):
                made = make(topic, partition, offset, times[at], keys[at], values[at], headers(at))
                if isinstance(made, Record):
                    yield made
                elif made is not None:
                    self._failed(made, offset)

    def _rest(
        self, batch: "pyarrow.RecordBatch"
    ) -> tuple[Sequence[int | None], Callable[[int], list[tuple[str, bytes | None]]]]:
        if self.work.bare:
            return [None] * batch.num_rows, lambda at: []
        return batch.column("time").to_pylist(), _headers(batch.column("headers"))

    def _report(self, record: Record, error: Exception) -> None:
        self._failed(Failure(Stage.TASK_PUT, self.work.alias, None, error), _offset(record))

    def _failed(self, failure: Failure, offset: int) -> None:
        """Written down first, so that who does not tolerate it knows of it, too."""
        self.errors.note(failure, (*self.partition, offset), lambda: self._bytes(offset))
        self.chain.tolerate(failure)

    def _bytes(self, offset: int) -> rows.Row:
        """The record as it was read."""
        for batch in self._batches:
            offsets = batch.column("offset")
            if offsets[0].as_py() <= offset <= offsets[-1].as_py():
                at = bisect_left(range(len(offsets)), offset, key=lambda at: offsets[at].as_py())
                key, value, time = (
                    batch.column(one)[at].as_py() for one in ("key", "value", "time")
                )
                return rows.Row(None, key, value, _headers(batch.column("headers"))(at), None, time)
        raise LookupError(f"offset {offset} was not read")


def _offset(record: Record) -> int:
    return (record.offset if record.original is None else record.original[2]) or 0


def by_partition(
    batches: "Iterator[pyarrow.RecordBatch]",
) -> "Iterator[tuple[TopicPartition, Iterator[pyarrow.RecordBatch]]]":
    """Partitions follow each other whole; a batch may hold the end of one and others behind it."""
    pieces = (piece for batch in batches for piece in _pieces(batch))
    for partition, mine in groupby(pieces, key=lambda piece: piece[0]):
        yield partition, (batch for _, batch in mine)


def _pieces(
    batch: "pyarrow.RecordBatch",
) -> "Iterator[tuple[TopicPartition, pyarrow.RecordBatch]]":
    begin = 0
    while begin < batch.num_rows:
        place = _place(batch, begin)
        end = batch.num_rows
        if _place(batch, end - 1) != place:
            end = begin + bisect_left(
                range(begin, end), True, key=lambda at: _place(batch, at) != place
            )
        yield place, batch.slice(begin, end - begin)
        begin = end


def _place(batch: "pyarrow.RecordBatch", at: int) -> TopicPartition:
    topic, partition = (batch.column(one)[at].as_py() for one in PLACE)
    return TopicPartition(topic, partition)


def _headers(column: "pyarrow.Array") -> Callable[[int], list[tuple[str, bytes | None]]]:
    if column.null_count == len(column):
        return lambda at: []
    every = column.to_pylist()
    return lambda at: [(one["key"], one["value"]) for one in every[at] or ()]
