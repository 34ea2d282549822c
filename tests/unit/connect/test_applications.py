"""Connectors within applications, without Kafka and Spark: what a source writes, a sink reads."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.types import DoubleType, LongType, StringType, StructField, StructType

from ottla.client.connection import Connection
from ottla.connect import plugins
from ottla.connect.applications import ApplicationRuns
from ottla.connect.connector import Progress, TopicPartition
from ottla.connect.data import Record
from ottla.connect.pipeline import SinkChain, SourceChain
from ottla.connect.runs.client_settings import chain_settings


class NoSession:
    conf: dict[str, str]

    def __init__(self) -> None:
        self.conf = {}

    def newSession(self) -> Any:
        return type("Session", (), {"conf": type("Conf", (), {"set": lambda *_: None})()})()


@pytest.fixture
def runs() -> ApplicationRuns:
    session: Any = NoSession()
    return ApplicationRuns(Connection("x:1"), "shop", "shop-offsets", session, lambda *_: None)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "shop.db"
    with closing(sqlite3.connect(made)) as database, database:
        database.execute(
            "CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, item TEXT, price REAL)"
        )
        database.execute("INSERT INTO orders (item, price) VALUES ('pen', 1.5), (NULL, 7.0)")
    return made


def test_rows_of_a_table_go_through_an_applications_topics_into_another(
    runs: ApplicationRuns, file: Path
) -> None:
    access = {"connection.url": f"jdbc:sqlite:{file}"}
    keys = {"mode": "incrementing", "table.whitelist": "orders", "topic.prefix": "any-"}
    plan = runs.source_plan("shop-orders", "jdbc-source", access | keys, "shop-orders", 1)
    source = plugins.source(plan.resolved)
    source.task_configs(plan.tasks)
    source.start(lambda place: None)
    read = [one for slice in source.poll(1.0) for one in slice.read()]
    source.stop()
    assert isinstance(read[-1], Progress)
    records = [one for one in read if isinstance(one, Record)]
    chain = SourceChain(chain_settings(plan.resolved), chain_settings(plan.worker))
    rows = list(chain.rows([*records, Record(topic="any", value=None)]))
    assert [(one.topic, one.value) for one in rows] == [
        ("shop-orders", b'{"id":1,"item":"pen","price":1.5}'),
        ("shop-orders", b'{"id":2,"item":null,"price":7.0}'),
    ]
    kinds = {"id": LongType(), "item": StringType(), "price": DoubleType()}
    columns = StructType([StructField(name, kind) for name, kind in kinds.items()])
    more = {"table.name.format": "copied", "auto.create": "true"}
    plan = runs.sink_plan("shop-copy", "jdbc-sink", access | more, "shop-copy", 1, columns)
    back = SinkChain(chain_settings(plan.resolved), chain_settings(plan.worker))
    given = [back.record("shop-copy", 0, at, 0, b"k", one.value) for at, one in enumerate(rows)]
    assert all(isinstance(one, Record) for one in given), given
    sink: Any = plugins.sink(plan.resolved)
    sink.start()
    sink.task().put(TopicPartition("shop-copy", 0), iter(given), lambda *_: None)
    sink.stop()
    with closing(sqlite3.connect(file)) as database:
        found = database.execute("SELECT id, item, price FROM copied ORDER BY id").fetchall()
    assert found == [(1, "pen", 1.5), (2, None, 7.0)]
