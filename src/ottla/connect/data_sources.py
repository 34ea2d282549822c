"""PySpark's Python data sources as connectors: any `DataSource`, found by `ottla.connectors`.

One that reads streams (`streamReader`, `simpleStreamReader`) is a source: its offsets are kept in
Connect's offsets topic, in one transaction with its rows, instead of a checkpoint. One that writes
them (`streamWriter`) is a sink. What a configuration says beside Connect's own keys are its
options. Absent: Spark's engine; a source is asked as Spark would ask it.
"""

import inspect
import json
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ottla.connect.common_keys import SINK, SOURCE
from ottla.connect.connector import (
    Config,
    Place,
    Plugin,
    Progress,
    Report,
    SinkTask,
    Slice,
    TopicPartition,
    end_of,
)
from ottla.connect.data import Record, Schema
from ottla.connect.definitions import Definitions, InvalidConfig, Key, Kind
from ottla.connect.row_types import schema_of
from ottla.connect.row_values import connect_row, spark_row
from ottla.connect.spark_ddl import columns_of

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql.datasource import DataSource, InputPartition
    from pyspark.sql.types import StructType

_SCHEMA = Key(
    name="schema",
    kind=Kind.STRING,
    default=None,
    doc="The columns, in Spark's DDL; unset: those that the data source has itself.",
)
_SOURCE_KEYS = Definitions(
    (
        Key(name="topic", kind=Kind.STRING, importance="HIGH", doc="The topic that gets the rows."),
        Key(
            name="poll.interval.ms",
            kind=Kind.LONG,
            default=1000,
            doc="How long to wait before it is asked again, when there was nothing new.",
        ),
        _SCHEMA,
    )
)
_SINK_KEYS = Definitions((_SCHEMA,))
_OF_CONNECT = ("transforms.", "predicates.", "errors.", "topic.creation.", "consumer.override.",
               "producer.override.", "admin.override.", "key.converter.", "value.converter.",
               "header.converter.", "ottla.")  # fmt: skip


def is_data_source(found: Any) -> bool:
    """Without importing PySpark for others."""
    return inspect.isclass(found) and any(
        (one.__module__, one.__name__) == ("pyspark.sql.datasource", "DataSource")
        for one in found.__mro__[1:]
    )


def plugins_of(found: "type[DataSource]", module: str) -> list[Plugin]:
    """One for each way it goes; with both, the names tell them apart."""
    kinds = [kind for kind in _KINDS if _can(found, kind)]
    name, path = found.name(), f"{found.__module__}.{found.__qualname__}"
    several = len(kinds) > 1
    return [
        Plugin(
            kind=kind,
            name=f"{name}-{kind}" if several else name,
            classes=(f"{path}{kind.capitalize()}" if several else path,),
            version=str(getattr(found, "version", "1")),
            module=module,
        )
        for kind in kinds
    ]


_KINDS: tuple[Literal["source", "sink"], ...] = ("source", "sink")


def _can(found: "type[DataSource]", kind: str) -> bool:
    from pyspark.sql.datasource import DataSource

    names = ("streamReader", "simpleStreamReader") if kind == "source" else ("streamWriter",)
    return any(getattr(found, one) is not getattr(DataSource, one) for one in names)


@dataclass(frozen=True, slots=True)
class DataSourceModule:
    """Looks like a connector's module to `plugins`."""

    made: "type[DataSource]"
    kind: Literal["source", "sink"]

    @property
    def DEFINITIONS(self) -> Definitions:
        return _SOURCE_KEYS if self.kind == "source" else _SINK_KEYS

    def make(self, config: Config, alias: str) -> "DataSourceSource | DataSourceSink":
        from pyspark.errors import PySparkException
        from pyspark.sql.datasource import CaseInsensitiveDict

        values = self.DEFINITIONS.parse(config)
        options: Any = CaseInsensitiveDict(_options(config, self.DEFINITIONS))
        try:
            source = self.made(options)
            columns = _columns(values["schema"] or source.schema())
        except PySparkException as error:
            raise InvalidConfig({"schema": [f"{self.made.name()}: {error}"]}) from None
        if self.kind == "sink":
            return DataSourceSink(source, columns, config)
        return DataSourceSource(self.made.name(), source, columns, values, config)


def _options(config: Config, own: Definitions) -> dict[str, str]:
    known = SOURCE.names | SINK.names | own.names
    return {
        name: value
        for name, value in config.items()
        if name not in known and not name.startswith(_OF_CONNECT)
    }


def _columns(said: "StructType | str") -> "StructType":
    return columns_of(said) if isinstance(said, str) else said


# --- sources


@dataclass(frozen=True, slots=True)
class ReaderSlice:
    """Partitions of a batch, all of them one transaction: an offset speaks of the whole batch."""

    reader: Any
    partitions: "Sequence[InputPartition]"
    topic: str
    schema: Schema
    progress: Progress
    task: int = 0

    def read(self) -> Iterator[Record | Progress]:
        for one in self.partitions:
            yield from _records(self.reader.read(one), self.topic, self.schema)
        yield self.progress


@dataclass(frozen=True, slots=True)
class ReadRowsSlice:
    """Rows that a simple reader has read in the worker: they travel with the job."""

    rows: Sequence[Any]
    topic: str
    schema: Schema
    progress: Progress
    task: int = 0

    def read(self) -> Iterator[Record | Progress]:
        yield from _records(iter(self.rows), self.topic, self.schema)
        yield self.progress


def _records(rows: Iterator[Any], topic: str, schema: Schema) -> Iterator[Record]:
    """Tuples, rows, or Arrow's batches."""
    for row in rows:
        found = row.to_pylist() if hasattr(row, "to_pylist") else (row,)
        for one in found:
            yield Record(topic=topic, value_schema=schema, value=connect_row(schema, one))


class DataSourceSource:
    def __init__(
        self,
        name: str,
        source: "DataSource",
        columns: "StructType",
        values: Mapping[str, Any],
        config: Config,
    ) -> None:
        self._source = source
        self._columns = columns
        self._schema = schema_of(columns)
        self._topic: str = values["topic"]
        self._interval_s = values["poll.interval.ms"] / 1000
        self._config = config
        self._partition: Place = {"source": name}
        self._offset: dict[str, Any] = {}
        self._reader: Any = None
        self._simple = False
        self._stopped = threading.Event()

    def record_schemas(self) -> dict[str, Schema]:
        return {self._topic: self._schema}

    def task_configs(self, maximum: int) -> Sequence[Config]:
        """One: an offset is of the whole batch, so it is one transaction."""
        return [self._config]

    def start(self, stored: Callable[[Place], Place | None]) -> None:
        from pyspark.errors import PySparkNotImplementedError

        try:
            self._reader = self._source.streamReader(self._columns)
        except PySparkNotImplementedError:
            self._reader, self._simple = self._source.simpleStreamReader(self._columns), True
        found = stored(self._partition)
        self._offset = self._reader.initialOffset() if found is None else dict(found)

    def poll(self, timeout_s: float) -> Sequence[Slice]:
        until = time.monotonic() + timeout_s
        while not self._stopped.is_set():
            slice = self._next()
            if slice is not None:
                return [slice]
            left_s = until - time.monotonic()
            if left_s <= 0:
                break
            self._stopped.wait(min(left_s, self._interval_s))
        return []

    def _next(self) -> Slice | None:
        start = self._offset
        if self._simple:
            rows, end = self._reader.read(start)
            read = list(rows)
            if _same(start, end):
                return None
            progress = Progress(self._partition, end)
            return ReadRowsSlice(read, self._topic, self._schema, progress)
        end = _latest(self._reader, start)
        if _same(start, end):
            return None
        partitions = list(self._reader.partitions(start, end))
        progress = Progress(self._partition, end)
        return ReaderSlice(self._reader, partitions, self._topic, self._schema, progress)

    def committed(self, progress: Sequence[Progress]) -> None:
        for one in progress:
            if one.offset is not None:
                self._offset = dict(one.offset)
                self._reader.commit(self._offset)

    def stop(self) -> None:
        self._stopped.set()
        if self._reader is not None and not self._simple:
            self._reader.stop()


def _latest(reader: Any, start: dict[str, Any]) -> dict[str, Any]:
    """Data sources of Spark 4.0 and 4.1 are asked without a start and a limit."""
    found: dict[str, Any]
    if inspect.signature(reader.latestOffset).parameters:
        found = reader.latestOffset(start, reader.getDefaultReadLimit())
    else:
        found = reader.latestOffset()
    return found


def _same(one: Any, other: Any) -> bool:
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


# --- sinks


@dataclass(frozen=True, slots=True)
class WriterTask:
    """`commit` is told of each partition's rows by themselves, with the offset behind them."""

    writer: Any
    columns: "StructType"

    def put(
        self, partition: TopicPartition, records: Iterator[Record], report: Report
    ) -> int | None:
        from pyspark.sql.datasource import DataSourceStreamArrowWriter

        rows = [spark_row(self.columns, one.value) for one in records if one.value is not None]
        end = end_of(records, 0)
        arrow = isinstance(self.writer, DataSourceStreamArrowWriter)
        try:
            message = self.writer.write(iter([self._batch(rows)] if arrow else rows))
        except Exception:
            self.writer.abort([], end)
            raise
        self.writer.commit([message], end)
        return None

    def _batch(self, rows: list[Any]) -> "pyarrow.RecordBatch":
        import pyarrow
        from pyspark.sql.pandas.types import to_arrow_schema

        told = [one.asDict(recursive=True) for one in rows]
        return pyarrow.RecordBatch.from_pylist(told, to_arrow_schema(self.columns))


class DataSourceSink:
    def __init__(self, source: "DataSource", columns: "StructType", config: Config) -> None:
        self._source = source
        self._columns = columns
        self._config = config

    def task_configs(self, maximum: int) -> Sequence[Config]:
        return [self._config] * maximum

    def start(self) -> None:
        pass

    def positions(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        return {}

    def move(self, positions: Mapping[TopicPartition, int | None]) -> None:
        pass

    def task(self) -> SinkTask:
        return WriterTask(self._source.streamWriter(self._columns, False), self._columns)

    def stop(self) -> None:
        pass
