"""A data source of PySpark's as a source connector on Spark: its offsets are in Kafka."""

import json
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from pyspark.cloudpickle import register_pickle_by_value, unregister_pickle_by_value
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from ottla.client.connection import Connection
from ottla.connect import plugins
from ottla.connect.runs.offsets import read_offsets
from ottla.connect.runs.spark_runner import SparkRunner
from system.connect.running import OFFSETS, committed, make_topics, running


class Lines(InputPartition):
    def __init__(self, begin: int, end: int) -> None:
        self.begin, self.end = begin, end


class FileReader(DataSourceStreamReader):
    def __init__(self, path: str) -> None:
        self.path = path

    def initialOffset(self) -> dict[str, int]:
        return {"line": 0}

    def latestOffset(self, start: Any, limit: Any) -> dict[str, int]:
        return {"line": len(Path(self.path).read_text().splitlines())}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        return [Lines(one, one + 1) for one in range(start["line"], end["line"])]

    def read(self, partition: Any) -> Iterator[Any]:
        lines = Path(self.path).read_text().splitlines()
        for at in range(partition.begin, partition.end):
            yield (at, lines[at])


class NumberedLines(DataSource):
    def schema(self) -> str:
        return "at INT, text STRING"

    def streamReader(self, schema: Any) -> DataSourceStreamReader:
        return FileReader(self.options["path"])


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    own = sys.modules[__name__]
    register_pickle_by_value(own)  # an installed package would be there in Spark's workers
    named = [EntryPoint("lines", f"{__name__}:NumberedLines", plugins.ENTRY_POINTS)]
    monkeypatch.setattr(plugins, "entry_points", lambda group: named)
    plugins._installed.cache_clear()
    yield
    plugins._installed.cache_clear()
    unregister_pickle_by_value(own)


@pytest.mark.long
@pytest.mark.timeout(500)
def test_rows_of_a_data_source_arrive_once_through_two_runs(
    runner: SparkRunner, bootstrap: str, tmp_path: Path
) -> None:
    topic = f"numbered-{uuid4()}"
    make_topics(bootstrap, **{topic: 1})
    file = tmp_path / "in"
    config = {
        "name": topic,
        "connector.class": "NumberedLines",
        "topic": topic,
        "path": str(file),
        "poll.interval.ms": "100",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
    }
    for count in (2, 3):
        file.write_text("".join(f"line {one}\n" for one in range(count)))
        with running(runner, bootstrap, config):
            found = [json.loads(one.value() or b"") for one in committed(bootstrap, topic, count)]
        assert found == [{"at": one, "text": f"line {one}"} for one in range(count)]
    stored = read_offsets(Connection(bootstrap), OFFSETS, topic)
    assert stored.all() == [({"source": "NumberedLines"}, {"line": 3})]
