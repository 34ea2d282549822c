"""Connectors within applications: a table is a stream, and a stream ends in a table."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from ottla.pipelines import App
from ottla.testing import drive
from support.confluent import read

ORDERS = (
    "CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, item TEXT, price REAL, day DATE)"
)
FILL = "INSERT INTO orders (item, price, day) VALUES (?, ?, '2026-01-02')"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "shop.db"
    with closing(sqlite3.connect(made)) as database, database:
        database.execute(ORDERS)
        database.executemany(FILL, [("pen", 1.5), ("ink", 7.0), ("pad", 3.0)])
    return made


def add(file: Path, item: str, price: float) -> None:
    with closing(sqlite3.connect(file)) as database, database:
        database.execute(FILL, (item, price))


def rows(file: Path, table: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(file)) as database:
        return database.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall()


def application(file: Path, name: str, **options: str) -> App:
    app = App(name, **options)  # type: ignore[arg-type]
    orders = app.source(
        "jdbc-source",
        connection_url=f"jdbc:sqlite:{file}",
        mode="incrementing",
        incrementing_column_name="id",
        table_whitelist="orders",
        topic_prefix="any-",
        poll_interval_ms=100,
        name="orders",
        partitions=1,
    )
    dear = orders.filter("price > 2").with_columns(total="price * 2").key_by("item")
    dear.to(f"{name}-dear")
    dear.sink(
        "jdbc-sink",
        {"connection.url": f"jdbc:sqlite:{file}", "table.name.format": "dear"},
        name="copy",
        auto_create=True,
        insert_mode="upsert",
        pk_mode="record_key",
        pk_fields="name",
    )
    return app


@pytest.mark.long
@pytest.mark.timeout(500)
def test_a_table_is_a_stream_and_a_stream_ends_in_a_table(driven: str, file: Path) -> None:
    app = application(file, "shop")
    assert app.definition().connectors[0].topic == "shop-orders"
    with drive(app) as d:
        assert [(key, value["total"]) for key, value in d.read("shop-dear")] == [
            ("ink", 14.0),
            ("pad", 6.0),
        ]
        add(file, "nib", 9.0)
        assert [key for key, _ in d.read("shop-dear")] == ["nib"]
    names = [one[1] for one in sqlite_columns(file, "dear")]
    assert sorted(names) == sorted(["name", "id", "item", "price", "day", "total"])
    assert len(rows(file, "dear")) == 3


def sqlite_columns(file: Path, table: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(file)) as database:
        return database.execute(f"PRAGMA table_info({table})").fetchall()


@pytest.mark.long
@pytest.mark.timeout(600)
def test_an_application_goes_on_where_its_connectors_were(
    bootstrap: str, file: Path, tmp_path: Path
) -> None:
    name = f"shop-{uuid4().hex[:8]}"
    checkpoints = str(tmp_path / "state")

    def run() -> None:
        app = application(file, name, bootstrap=bootstrap, checkpoints=checkpoints)
        with app.run(until_done=True, quiet=True) as running:
            running.wait()

    run()
    add(file, "nib", 9.0)
    run()
    run()
    found = read(bootstrap, f"{name}-orders", 4, config={"isolation.level": "read_committed"})
    assert len(found) == 4
    assert sorted(one[2] for one in rows(file, "dear")) == ["ink", "nib", "pad"]
