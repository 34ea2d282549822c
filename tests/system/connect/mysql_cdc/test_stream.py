"""The stream of changes: nothing lost and nothing twice, wherever a run ends."""

import time
from typing import Any

import pytest

from ottla.connect.connector import ConnectError
from support.cdc import DirectRun, payloads
from support.mariadb import MariaDb, running_mariadb
from support.mysql_cdc import MemoryHistory, config, direct_run

TABLE = "CREATE TABLE orders (id int PRIMARY KEY, item text)"


def changes(run: DirectRun) -> list[Any]:
    return [one for one in payloads(run.records) if one and "op" in one]


def ids(run: DirectRun) -> list[int]:
    return [one["after"]["id"] for one in changes(run) if one["after"]]


def until_ids(run: DirectRun, count: int) -> None:
    run.until(lambda: len(ids(run)) >= count)


def test_inserts_updates_and_deletes_arrive(mariadb: MariaDb, history: MemoryHistory) -> None:
    mariadb.run(TABLE, "INSERT INTO orders VALUES (1, 'tea')")
    with direct_run(config(mariadb), history) as run:
        until_ids(run, 1)
        mariadb.run(
            "INSERT INTO orders VALUES (2, 'ink')",
            "UPDATE orders SET item = 'pen' WHERE id = 2",
            "DELETE FROM orders WHERE id = 2",
        )
        run.until(lambda: payloads(run.records[-1:]) == [None])  # the tombstone
    rows = [(one["op"], one["before"], one["after"]) for one in changes(run)]
    assert rows == [
        ("r", None, {"id": 1, "item": "tea"}),
        ("c", None, {"id": 2, "item": "ink"}),
        ("u", {"id": 2, "item": "ink"}, {"id": 2, "item": "pen"}),
        ("d", {"id": 2, "item": "pen"}, None),
    ]


def test_a_run_goes_on_where_the_one_before_it_was_committed(
    mariadb: MariaDb, history: MemoryHistory
) -> None:
    mariadb.run(TABLE, "INSERT INTO orders VALUES (1, 'tea')")
    keys = config(mariadb)
    with direct_run(keys, history) as first:
        until_ids(first, 1)
        mariadb.run("INSERT INTO orders VALUES (2, 'ink')")
        until_ids(first, 2)
        mariadb.run("INSERT INTO orders VALUES (3, 'pen')")
        while not first.step(commit=False):  # read, but its commit failed
            pass
    with direct_run(keys, history, first.offset) as second:
        mariadb.run("INSERT INTO orders VALUES (4, 'cup')")
        until_ids(second, 2)
        assert second.step(0.5) == 0
    assert ids(first) + ids(second) == [1, 2, 3, 4]


@pytest.mark.parametrize("by", ["gtids", "file and position"])
def test_a_transaction_that_outgrows_a_piece_goes_on_within(
    mariadb: MariaDb, history: MemoryHistory, by: str
) -> None:
    keys = config(mariadb, max_batch_size="4", max_queue_size="4")
    mariadb.run(TABLE)
    with direct_run(keys, history) as run:
        run.until(lambda: run.offset is not None)
        offset = dict(run.offset or {})
    connection = mariadb.connect()
    with connection.cursor() as cursor:
        for number in range(1, 36):  # an event each
            cursor.execute("INSERT INTO orders VALUES (%s, 'x')", (number,))
    connection.commit()
    connection.close()
    mariadb.run("INSERT INTO orders VALUES (36, 'y')")
    read: list[int] = []
    within = 0
    while len(read) < 36:  # a new run for every piece
        if by != "gtids":
            offset.pop("gtids", None)
            history.kept = [_without_gtids(one) for one in history.kept]
        with direct_run(keys, history, offset) as run:
            run.until(lambda run=run: bool(run.records))  # type: ignore[misc]
            read += ids(run)
            assert run.offset != offset
            offset = dict(run.offset or {})
            within += "event" in offset
    assert read == list(range(1, 37))
    assert "event" not in offset
    assert within >= 1


def _without_gtids(document: Any) -> Any:
    place = {name: value for name, value in document["position"].items() if name != "gtids"}
    return {**document, "position": place}


def test_rows_of_an_event_that_were_written_are_skipped(
    mariadb: MariaDb, history: MemoryHistory
) -> None:
    """As an offset of Debezium's has it, which stops between the rows of one event."""
    mariadb.run(TABLE)
    keys = config(mariadb)
    with direct_run(keys, history) as run:
        run.until(lambda: run.offset is not None)
        start = dict(run.offset or {})
    mariadb.run("INSERT INTO orders VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    with direct_run(keys, history, {**start, "event": 2, "row": 2}) as run:
        until_ids(run, 1)
    assert ids(run) == [3]


def test_definitions_of_the_time_are_used_after_a_restart(
    mariadb: MariaDb, history: MemoryHistory
) -> None:
    """The table has changed twice more when the changes in between are read."""
    mariadb.run(TABLE)
    keys = config(mariadb)
    with direct_run(keys, history) as run:
        mariadb.run(
            "ALTER TABLE orders ADD COLUMN n int FIRST", "INSERT INTO orders VALUES (7,1,'a')"
        )
        until_ids(run, 1)
    mariadb.run(
        "INSERT INTO orders VALUES (8, 2, 'b')",
        "ALTER TABLE orders DROP COLUMN item",
        "INSERT INTO orders VALUES (9, 3)",
        "RENAME TABLE orders TO others",
        "INSERT INTO others VALUES (10, 4)",
    )
    with direct_run(keys, history, run.offset) as again:
        until_ids(again, 3)
    assert [one["after"] for one in changes(again)] == [
        {"n": 8, "id": 2, "item": "b"},
        {"n": 9, "id": 3},
        {"n": 10, "id": 4},
    ]
    assert changes(again)[-1]["source"]["table"] == "others"


def test_binlogs_that_were_purged_are_named_in_a_sentence(history: MemoryHistory) -> None:
    with running_mariadb() as server:
        mariadb = server.database()
        mariadb.run(TABLE, "INSERT INTO orders VALUES (1, 'tea')")
        keys = config(mariadb)
        with direct_run(keys, history) as run:
            until_ids(run, 1)
        mariadb.run(
            "INSERT INTO orders VALUES (2, 'ink')", "FLUSH BINARY LOGS", "FLUSH BINARY LOGS"
        )
        deadline = time.monotonic() + 20
        while mariadb.rows("SHOW BINARY LOGS")[0][0] != "binlog.000003":
            assert time.monotonic() < deadline, "the server keeps its binlogs"
            mariadb.run("PURGE BINARY LOGS TO 'binlog.000003'")  # once it knows us gone
            time.sleep(0.1)
        with pytest.raises(ConnectError, match="purged binlogs with changes since 0-1-"):
            direct_run(keys, history, run.offset)
        when_needed = keys | {"snapshot.mode": "when_needed"}
        with direct_run(when_needed, history, run.offset) as anew:
            until_ids(anew, 2)
        assert ids(anew) == [1, 2]


def test_a_history_that_was_lost_is_named_in_a_sentence(
    mariadb: MariaDb, history: MemoryHistory
) -> None:
    mariadb.run(TABLE, "INSERT INTO orders VALUES (1, 'tea')")
    with direct_run(config(mariadb), history) as run:
        until_ids(run, 1)
    with pytest.raises(ConnectError, match="The schema history history has no definitions"):
        direct_run(config(mariadb), MemoryHistory(), run.offset)


def test_a_wrong_password_is_said_and_not_shown(mariadb: MariaDb, history: MemoryHistory) -> None:
    keys = config(mariadb) | {"database.password": "hunter2"}
    with pytest.raises(ConnectError, match="refuses ottla: Access denied") as refused:
        direct_run(keys, history)
    assert "hunter2" not in str(refused.value)


def test_heartbeats_carry_the_offset_past_what_is_not_captured(
    mariadb: MariaDb, history: MemoryHistory
) -> None:
    keys = config(
        mariadb,
        table_include_list=f"{mariadb.name}.orders",
        include_schema_changes="false",
        heartbeat_interval_ms="100",
        heartbeat_action_query=f"INSERT INTO {mariadb.name}.beats VALUES ()",
    )
    mariadb.run(TABLE, "CREATE TABLE beats (n int AUTO_INCREMENT PRIMARY KEY)")
    with direct_run(keys, history) as run:
        run.until_count(5)
        moved = dict(run.offset or {})
        run.until_count(10)
        assert (run.offset or {})["pos"] > moved["pos"]
        assert {one.topic for one in run.records} == {"__debezium-heartbeat.shop"}
    assert mariadb.rows("SELECT count(*) >= 5 FROM beats") == [(1,)]


def test_a_server_that_was_killed_is_a_failure_to_be_tried_again(history: MemoryHistory) -> None:
    with running_mariadb() as server:
        mariadb = server.database()
        mariadb.run(TABLE)
        keys = config(mariadb)
        with direct_run(keys, history) as run:
            mariadb.run("INSERT INTO orders VALUES (1, 'tea')")
            until_ids(run, 1)
            server.kill()
            with pytest.raises(ConnectError, match="The binlog cannot be read"):
                run.until(lambda: False)
        server.start()
        mariadb.run("INSERT INTO orders VALUES (2, 'ink')")
        with direct_run(keys, history, run.offset) as again:
            until_ids(again, 1)
    assert ids(run) + ids(again) == [1, 2]
