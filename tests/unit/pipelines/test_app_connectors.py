"""What an application says of connectors: columns, topics, and what is wrong about it."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ottla.pipelines import App
from ottla.pipelines.planning.plan import make_plan
from ottla.pipelines.planning.topics import Cluster, wanted
from ottla.pipelines.runtime.where import DefinitionError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "shop.db"
    with closing(sqlite3.connect(made)) as database, database:
        database.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, item TEXT)")
        database.execute("CREATE TABLE others (id INTEGER PRIMARY KEY AUTOINCREMENT)")
    return made


def keys(file: Path, tables: str = "orders") -> dict[str, str]:
    return {
        "connection.url": f"jdbc:sqlite:{file}",
        "mode": "incrementing",
        "table.whitelist": tables,
        "topic.prefix": "x",
    }


def test_a_source_has_the_columns_of_its_table_and_a_topic_of_the_applications(file: Path) -> None:
    app = App("shop")
    orders = app.source("jdbc-source", keys(file))
    assert orders.columns == ("id", "item")
    orders.to("out")
    made = {one.name: one for one in wanted(make_plan(app.definition()), Cluster("c", {}), 1)}
    assert made["shop-jdbc-source"].partitions == 2
    assert made["shop-connect-offsets"].config == {"cleanup.policy": "compact"}


def test_columns_are_checked_before_spark_starts(file: Path) -> None:
    with pytest.raises(DefinitionError, match="price"):
        App("shop").source("jdbc-source", keys(file)).filter("price > 1")


def test_lines_of_a_file_are_a_text_each(tmp_path: Path) -> None:
    assert App("a").source("file-source", file=tmp_path / "in").columns == ("value",)


@pytest.mark.parametrize(
    ("connector", "more", "said"),
    [
        ("no-source", {}, "Failed to find any class"),
        ("jdbc-sink", {}, "is a sink, not a source"),
        ("jdbc-source", {"mode": "sometimes"}, "sometimes"),
        ("jdbc-source", {"table.whitelist": "orders,others"}, "would read 2"),
    ],
)
def test_what_is_wrong_with_a_source_has_its_line(
    file: Path, connector: str, more: dict[str, str], said: str
) -> None:
    with pytest.raises(DefinitionError, match=said):
        App("shop").source(connector, {**keys(file), **more})


def test_a_sink_is_checked_too(file: Path) -> None:
    orders = App("shop").source("jdbc-source", keys(file))
    with pytest.raises(DefinitionError, match=r"connection\.url"):
        orders.sink("jdbc-sink")


def test_two_connectors_of_one_name_are_refused(file: Path) -> None:
    app = App("shop")
    app.source("jdbc-source", keys(file))
    with pytest.raises(DefinitionError, match="say name="):
        app.source("jdbc-source", keys(file, "others"))


def test_explain_tells_of_connectors(file: Path) -> None:
    app = App("shop")
    orders = app.source("jdbc-source", keys(file), name="orders")
    orders.sink("jdbc-sink", connection_url=f"jdbc:sqlite:{file}", name="copy")
    text = str(app.explain())
    assert "runs      jdbc-source, beside the stages" in text
    assert "exactly once: rows and offsets (shop-connect-offsets) in one transaction" in text
    assert "reads     shop-copy, what is committed there" in text
