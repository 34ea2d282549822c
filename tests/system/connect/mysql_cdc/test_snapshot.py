"""Snapshots: which mode takes one, what it holds, and what happens when it is interrupted."""

import logging
import threading

import pytest

from ottla.connect.connector import ConnectError
from support.cdc import DirectRun, payloads
from support.mariadb import MariaDb
from support.mysql_cdc import MemoryHistory, config, direct_run

TABLE = "CREATE TABLE orders (id int PRIMARY KEY, item text)"
ROWS = "INSERT INTO orders SELECT seq, 'x' FROM seq_{}_to_{}"


def rows(run: DirectRun) -> list[tuple[str, int]]:
    values = [one.value.values for one in run.records if one.value]
    changes = [one for one in values if "op" in one]
    return [(one["op"], one["after"].values["id"]) for one in changes]


def test_rows_come_in_slices_that_are_told_apart(mariadb: MariaDb, history: MemoryHistory) -> None:
    mariadb.run(TABLE, ROWS.format(1, 100))
    keys = config(mariadb, snapshot_fetch_size="30", include_schema_changes="false")
    with direct_run(keys, history) as run:
        run.until_count(100)
        assert "snapshot" not in (run.offset or {})
    marks = [one["source"]["snapshot"] for one in payloads(run.records)]
    assert marks == ["first", *["true"] * 98, "last"]
    assert rows(run) == [("r", number) for number in range(1, 101)]


def test_an_interrupted_snapshot_begins_anew_and_says_so(
    mariadb: MariaDb, history: MemoryHistory, caplog: pytest.LogCaptureFixture
) -> None:
    mariadb.run(TABLE, ROWS.format(1, 100))
    keys = config(mariadb, snapshot_fetch_size="30")
    with direct_run(keys, history) as first:
        first.until(lambda: len(rows(first)) >= 30)
        assert (first.offset or {})["snapshot"] == "INITIAL"
    mariadb.run("INSERT INTO orders VALUES (101, 'late')")
    with caplog.at_level(logging.WARNING), direct_run(keys, history, first.offset) as second:
        second.until(lambda: len(rows(second)) >= 101)
        mariadb.run("INSERT INTO orders VALUES (102, 'later')")
        second.until(lambda: len(rows(second)) >= 102)
    assert "interrupted" in caplog.text
    assert [number for _, number in rows(second)] == list(range(1, 103))


@pytest.mark.parametrize("locking", ["minimal", "none"])
def test_a_snapshot_fits_the_stream_while_others_write(
    mariadb: MariaDb, history: MemoryHistory, locking: str
) -> None:
    mariadb.run(
        "CREATE TABLE orders (id int AUTO_INCREMENT PRIMARY KEY, item text)",
        "INSERT INTO orders (item) VALUES ('first')",
    )
    done = threading.Event()

    def write() -> None:
        connection = mariadb.connect(autocommit=True)
        with connection.cursor() as cursor:
            while not done.is_set():
                cursor.execute("INSERT INTO orders (item) VALUES ('a'), ('b')")
                done.wait(0.002)
        connection.close()

    writers = [threading.Thread(target=write) for _ in range(3)]
    for one in writers:
        one.start()
    try:
        with direct_run(config(mariadb, snapshot_locking_mode=locking), history) as run:
            run.until(lambda: {op for op, _ in rows(run)} == {"r", "c"})
            done.set()
            for one in writers:
                one.join()
            wanted = sorted(number for (number,) in mariadb.rows("SELECT id FROM orders"))
            run.until(lambda: len(rows(run)) >= len(wanted))
    finally:
        done.set()
    assert sorted(number for _, number in rows(run)) == wanted


def test_no_data_and_initial_only_take_one_half_each(
    mariadb: MariaDb, history: MemoryHistory
) -> None:
    mariadb.run(TABLE, "INSERT INTO orders VALUES (1, 'a')")
    with direct_run(config(mariadb, snapshot_mode="no_data"), history) as changes:
        mariadb.run("INSERT INTO orders VALUES (2, 'b')")
        changes.until(lambda: bool(rows(changes)))
    assert rows(changes) == [("c", 2)]
    with direct_run(config(mariadb, snapshot_mode="initial_only"), MemoryHistory()) as taken:
        taken.until(lambda: len(rows(taken)) == 2)
        mariadb.run("INSERT INTO orders VALUES (3, 'c')")
        assert taken.step(0.5) == 0
    assert rows(taken) == [("r", 1), ("r", 2)]


def test_always_takes_one_at_every_start(mariadb: MariaDb, history: MemoryHistory) -> None:
    mariadb.run(TABLE, "INSERT INTO orders VALUES (1, 'a')")
    keys = config(mariadb, snapshot_mode="always")
    with direct_run(keys, history) as first:
        first.until(lambda: bool(rows(first)))
    with direct_run(keys, history, first.offset) as second:
        second.until(lambda: bool(rows(second)))
    assert rows(second) == [("r", 1)]


def test_tables_and_columns_are_chosen_by_expressions(
    mariadb: MariaDb, history: MemoryHistory
) -> None:
    mariadb.run(
        "CREATE TABLE orders (id int PRIMARY KEY, item text, secret text)",
        "CREATE TABLE others (id int)",
        "INSERT INTO orders VALUES (1, 'tea', 's')",
        "INSERT INTO others VALUES (1)",
    )
    keys = config(
        mariadb,
        table_include_list=rf"{mariadb.name}\.ord.*",
        column_exclude_list=r".*\.secret",
        message_key_columns=".*:item",
    )
    with direct_run(keys, history) as run:
        run.until(lambda: bool(rows(run)))
    last = run.records[-1]
    assert last.topic == f"shop.{mariadb.name}.orders"
    assert last.key.values == {"item": "tea"}
    assert payloads([last])[0]["after"] == {"id": 1, "item": "tea"}
    assert not [one for one in run.records if one.topic.endswith(".others")]


def test_a_server_without_rows_in_its_binlog_is_refused(
    mariadb: MariaDb, history: MemoryHistory
) -> None:
    mariadb.run("SET GLOBAL binlog_format = 'STATEMENT'")
    try:
        with pytest.raises(ConnectError, match="binlog_format=STATEMENT, where ROW is needed"):
            direct_run(config(mariadb), history)
    finally:
        mariadb.run("SET GLOBAL binlog_format = 'ROW'")
