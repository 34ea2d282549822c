"""Records on their way to Kafka, as the JVM takes them: `runtime/jvm/ConnectTasks.java`.

Rows of one schema; one without a topic is not written but told to the run. Its key says what it
is: `told`, or `failed`, which aborts the task's transaction.
"""

import gc
import pickle
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ottla.connect.connector import RetriableError, ServiceError
from ottla.connect.runs.failures import Kind

if TYPE_CHECKING:
    import pyarrow

SCHEMA = (
    "topic string, key binary, value binary, headers array<struct<key:string,value:binary>>, "
    "partition int, time bigint"
)
ROWS_MAX = 10_000
BYTES_MAX = 4 * 1024 * 1024


# A task holds many records at once, and cycles are hardly among them. With Python's own thresholds
# it would look through all that are held again for each few hundred new ones: a third of its time.
COLLECT_AFTER = (100_000, 20, 50)


def hold_many() -> None:
    """Of a process: of a Python worker, before its task begins."""
    if gc.get_threshold() != COLLECT_AFTER:
        gc.set_threshold(*COLLECT_AFTER)
        gc.freeze()


class Row(NamedTuple):
    topic: str | None
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]] | None = None
    partition: int | None = None
    time: int | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """What a task failed with."""

    kind: Kind
    trace: str


def told(what: Any) -> Row:
    return Row(None, b"told", pickle.dumps(what))


def failed(error: BaseException) -> Row:
    kind = Kind.RETRIABLE if isinstance(error, RetriableError) else Kind.FAILED
    if isinstance(error, ServiceError) and error.away:
        kind = Kind.UNREACHABLE
    return Row(None, b"failed", pickle.dumps(Failure(kind, trace_of(error))))


def trace_of(error: BaseException) -> str:
    """The sentence first, as Java's traces have it, and then where it was raised."""
    lines = traceback.format_exception(error)
    return "".join([f"{type(error).__name__}: {error}\n", *lines])


def batches(rows: Iterator[Row]) -> "Iterator[pyarrow.RecordBatch]":
    """As many rows at a time as are worth a batch."""
    pending: list[Row] = []
    size = 0
    for row in rows:
        pending.append(row)
        size += len(row.value or b"")
        if len(pending) == ROWS_MAX or size > BYTES_MAX:
            yield _batch(pending)
            pending, size = [], 0
    if pending:
        yield _batch(pending)


def _batch(rows: Sequence[Row]) -> "pyarrow.RecordBatch":
    import pyarrow

    topics, keys, values, headers, partitions, times = zip(*rows, strict=True)
    return pyarrow.RecordBatch.from_arrays(
        [
            pyarrow.array(topics, pyarrow.string()),
            pyarrow.array(keys, pyarrow.binary()),
            pyarrow.array(values, pyarrow.binary()),
            _header_column(headers),
            pyarrow.array(partitions, pyarrow.int32()),
            pyarrow.array(times, pyarrow.int64()),
        ],
        names=["topic", "key", "value", "headers", "partition", "time"],
    )


def _header_column(every: Sequence[Sequence[tuple[str, bytes | None]] | None]) -> "pyarrow.Array":
    import pyarrow

    type = pyarrow.list_(pyarrow.struct([("key", pyarrow.string()), ("value", pyarrow.binary())]))
    if not any(every):
        return pyarrow.nulls(len(every), type)
    ends: list[int] = [0]
    names: list[str] = []
    values: list[bytes | None] = []
    for one in every:
        for name, value in one or ():
            names.append(name)
            values.append(value)
        ends.append(len(names))
    pairs = pyarrow.StructArray.from_arrays(
        [pyarrow.array(names, pyarrow.string()), pyarrow.array(values, pyarrow.binary())],
        fields=list(type.value_type),
    )
    absent = pyarrow.array([one is None for one in every])
    offsets = pyarrow.array(ends, pyarrow.int32())
    return pyarrow.ListArray.from_arrays(offsets, pairs, type=type, mask=absent)
