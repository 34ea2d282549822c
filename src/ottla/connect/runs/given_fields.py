"""What `FieldTask.put_fields` is given: some of a partition's records, in both ways."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ottla.connect.connector import TopicPartition
from ottla.connect.data import Record
from ottla.connect.pipeline import SinkChain
from ottla.connect.runs.fields import AlikeRecords, read_alike

if TYPE_CHECKING:
    import pyarrow

BYTES_MAX = 32 * 1024 * 1024
Read = Callable[["Iterator[pyarrow.RecordBatch]"], Iterator[Record]]


class GivenBatch:
    """Looked at when it is asked for, and once: what fails is told of once, too."""

    def __init__(
        self,
        batch: "pyarrow.RecordBatch",
        partition: TopicPartition,
        chain: SinkChain,
        read: Read,
    ) -> None:
        self.end: int = batch.column("offset")[-1].as_py() + 1
        self._batch = batch
        self._partition = partition
        self._chain = chain
        self._read = read
        self._records: list[Record] | None = None
        self._alike: AlikeRecords | None = None
        self._looked = False

    def records(self) -> list[Record]:
        if self._records is None:
            self._records = list(self._read(iter((self._batch,))))
        return self._records

    def alike(self) -> AlikeRecords | None:
        if not self._looked:
            self._looked = True
            self._alike = self._columns()
        return self._alike

    def _columns(self) -> AlikeRecords | None:
        offsets, keys, values = (self._batch.column(name) for name in ("offset", "key", "value"))
        time = None
        if "headers" in self._batch.schema.names:
            headers = self._batch.column("headers")
            if headers.null_count < len(headers):
                return None  # they have a converter of their own
            time = self._batch.column("time")[0].as_py()
        place = (*self._partition, offsets[0].as_py(), time)
        first = self._chain.record(*place, keys[0].as_py(), values[0].as_py())
        if not isinstance(first, Record):
            return None
        return read_alike(offsets, keys, values, self._chain, first)


def together(
    batches: "Iterator[pyarrow.RecordBatch]", rows_max: int
) -> "Iterator[pyarrow.RecordBatch]":
    """Spark's batches are small: some at a time, as long as they are not too large for one."""
    import pyarrow

    held: list[pyarrow.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        if held and (rows + batch.num_rows > rows_max or size + batch.nbytes > BYTES_MAX):
            yield pyarrow.concat_batches(held)
            held, rows, size = [], 0, 0
        held.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
    if held:
        yield pyarrow.concat_batches(held)
