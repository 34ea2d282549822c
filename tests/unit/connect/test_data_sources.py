"""Data sources of PySpark's as connectors: found, checked, read from an offset, written to."""

import datetime
import pickle
from collections.abc import Iterator, Sequence
from importlib.metadata import EntryPoint
from typing import Any

import pyarrow
import pytest
from pyspark.sql import Row
from pyspark.sql.datasource import (
    DataSource,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    InputPartition,
    SimpleDataSourceStreamReader,
    WriterCommitMessage,
)

from ottla.connect import plugins
from ottla.connect.connector import Progress, TopicPartition
from ottla.connect.data import Record, Type
from ottla.connect.definitions import InvalidConfig

WRITTEN: list[Any] = []
COMMITTED: list[Any] = []


class Range(InputPartition):
    def __init__(self, begin: int, end: int) -> None:
        self.begin, self.end = begin, end


class NumbersReader(DataSourceStreamReader):
    def __init__(self, until: int) -> None:
        self.until = until

    def initialOffset(self) -> dict[str, int]:
        return {"n": 0}

    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:
        return {"n": min(start["n"] + 4, self.until)}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        middle = (start["n"] + end["n"]) // 2
        return [Range(start["n"], middle), Range(middle, end["n"])]

    def read(self, partition: Any) -> Iterator[Any]:
        for n in range(partition.begin, partition.end):
            yield (n, f"number {n}", datetime.datetime(2026, 1, 2, 3, 4, 5, 678901))

    def commit(self, end: dict[str, int]) -> None:
        COMMITTED.append(end)


class NumbersWriter(DataSourceStreamWriter):
    def write(self, iterator: Iterator[Row]) -> WriterCommitMessage:
        WRITTEN.extend(row.asDict() for row in iterator)
        return WriterCommitMessage()

    def commit(self, messages: list[Any], batchId: int) -> None:
        COMMITTED.append((len(messages), batchId))

    def abort(self, messages: list[Any], batchId: int) -> None:
        COMMITTED.append("aborted")


class Numbers(DataSource):
    version = "3"

    @classmethod
    def name(cls) -> str:
        return "numbers"

    def schema(self) -> str:
        return "n BIGINT, text STRING, at TIMESTAMP"

    def streamReader(self, schema: Any) -> DataSourceStreamReader:
        return NumbersReader(int(self.options["until"]))

    def streamWriter(self, schema: Any, overwrite: bool) -> DataSourceStreamWriter:
        return NumbersWriter()


class LettersReader(SimpleDataSourceStreamReader):
    def initialOffset(self) -> dict[str, int]:
        return {"at": 0}

    def read(self, start: dict[str, int]) -> tuple[Iterator[Any], dict[str, int]]:
        found = [(one,) for one in "abc"[start["at"] :]]
        return iter(found), {"at": 3}

    def commit(self, end: dict[str, int]) -> None:
        COMMITTED.append(end)


class Letters(DataSource):
    def schema(self) -> str:
        return "letter STRING NOT NULL"

    def simpleStreamReader(self, schema: Any) -> SimpleDataSourceStreamReader:
        return LettersReader()


class BatchesWriter(DataSourceStreamArrowWriter):
    def write(self, iterator: Iterator[pyarrow.RecordBatch]) -> WriterCommitMessage:
        for batch in iterator:
            if batch.num_rows > 2:
                raise ValueError("too many")
            WRITTEN.extend(batch.to_pylist())
        return WriterCommitMessage()

    def commit(self, messages: list[Any], batchId: int) -> None:
        COMMITTED.append(batchId)

    def abort(self, messages: list[Any], batchId: int) -> None:
        COMMITTED.append("aborted")


class Batches(DataSource):
    def streamWriter(self, schema: Any, overwrite: bool) -> DataSourceStreamWriter:
        return BatchesWriter()


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    WRITTEN.clear()
    COMMITTED.clear()
    named = [
        EntryPoint(name, f"{__name__}:{name}", plugins.ENTRY_POINTS)
        for name in ("Numbers", "Letters", "Batches")
    ]
    monkeypatch.setattr(plugins, "entry_points", lambda group: named)
    plugins._installed.cache_clear()
    yield
    plugins._installed.cache_clear()


def numbers(**more: str) -> dict[str, str]:
    return {"name": "x", "connector.class": "numbers-source", "topic": "t", "until": "6", **more}


def taken(source: Any) -> list[Any]:
    slices = pickle.loads(pickle.dumps(source.poll(0.01)))
    return [one for slice in slices for one in slice.read()]


def test_a_data_source_is_a_source_and_a_sink_where_it_can_be_both() -> None:
    found = {one.name: one for one in plugins._installed()}
    assert set(found) == {"numbers-source", "numbers-sink", "Letters", "Batches"}
    assert (found["numbers-source"].kind, found["numbers-source"].version) == ("source", "3")
    assert (found["Letters"].kind, found["Batches"].kind) == ("source", "sink")
    assert plugins.find(f"{__name__}.NumbersSink").kind == "sink"


def test_rows_are_read_from_the_stored_offset_on_and_told_when_committed() -> None:
    source = plugins.source(numbers())
    source.start(lambda place: {"n": 1} if place == {"source": "numbers"} else None)
    *records, progress = taken(source)
    assert [one.value.values["n"] for one in records] == [1, 2, 3, 4]
    assert progress == Progress({"source": "numbers"}, {"n": 5})
    first = records[0].value
    assert first.values["at"] == datetime.datetime(2026, 1, 2, 3, 4, 5, 678000, datetime.UTC)
    assert [one.schema.type for one in first.schema.fields] == [
        Type.INT64,
        Type.STRING,
        Type.INT64,
    ]
    source.committed([progress])
    assert COMMITTED == [{"n": 5}]
    *records, progress = taken(source)
    assert [one.value.values["n"] for one in records] == [5]
    source.committed([progress])
    assert taken(source) == []


def test_what_was_not_committed_is_read_again() -> None:
    source = plugins.source(numbers())
    source.start(lambda place: None)
    again = [[one.value.values["n"] for one in taken(source)[:-1]] for _ in range(2)]
    assert again == [[0, 1, 2, 3], [0, 1, 2, 3]]


def test_a_simple_reader_is_a_source_too() -> None:
    source = plugins.source({"name": "x", "connector.class": "Letters", "topic": "t"})
    source.start(lambda place: None)
    *records, progress = taken(source)
    assert [one.value.values for one in records] == [{"letter": one} for one in "abc"]
    assert not records[0].value_schema.fields[0].schema.optional
    source.committed([progress])
    assert taken(source) == []
    assert COMMITTED == [{"at": 3}]


def test_options_are_what_connect_does_not_know() -> None:
    source: Any = plugins.source(
        numbers(**{"Path.To": "x", "transforms": "a", "transforms.a.type": "Filter"})
    )
    assert dict(source._source.options) == {"until": "6", "path.to": "x"}


def test_a_schema_that_is_missing_is_said() -> None:
    with pytest.raises(InvalidConfig, match="Batches"):
        plugins.sink({"name": "x", "connector.class": "Batches", "topics": "t"})


def test_records_become_rows_of_the_writers_columns() -> None:
    sink = plugins.sink({"name": "x", "connector.class": "numbers-sink", "topics": "t"})
    records = [
        Record(topic="t", value={"n": 1, "text": "a", "more": 2}),
        Record(topic="t", value=None),
        Record(topic="t", value={"text": "b"}),
    ]
    task = pickle.loads(pickle.dumps(sink.task()))
    assert task.put(TopicPartition("t", 0), iter(records), lambda *_: None) is None
    assert WRITTEN == [
        {"n": 1, "text": "a", "at": None},
        {"n": None, "text": "b", "at": None},
    ]
    assert COMMITTED == [(1, 0)]


def test_arrow_is_written_in_batches_and_aborted_where_it_fails() -> None:
    config = {"name": "x", "connector.class": "Batches", "topics": "t", "schema": "a INT"}
    task = plugins.sink(config).task()
    records = [Record(topic="t", value={"a": one}) for one in range(3)]
    task.put(TopicPartition("t", 0), iter(records[:2]), lambda *_: None)
    assert WRITTEN == [{"a": 0}, {"a": 1}]
    with pytest.raises(ValueError, match="too many"):
        task.put(TopicPartition("t", 0), iter(records), lambda *_: None)
    assert COMMITTED == [0, "aborted"]
