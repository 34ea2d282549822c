"""The stream of changes: nothing lost and nothing twice, wherever a run ends."""

import threading
import time
from typing import Any

import pytest

from ottla.connect.connector import ConnectError
from support.cdc import DirectRun, config, payloads
from support.postgres import Postgres

TABLE = "CREATE TABLE orders (id int PRIMARY KEY, item text)"


def ids(run: DirectRun) -> list[int]:
    return [one["after"]["id"] for one in payloads(run.records) if one and one.get("after")]


def lsn(postgres: Postgres, slot: str) -> Any:
    query = "SELECT confirmed_flush_lsn - '0/0' FROM pg_replication_slots WHERE slot_name = '{}'"
    return postgres.rows(query.format(slot))[0][0]


def test_a_run_goes_on_where_the_one_before_it_was_committed(postgres: Postgres, slot: str) -> None:
    postgres.run(TABLE, "INSERT INTO orders VALUES (1, 'tea')")
    keys = config(postgres, slot_name=slot)
    with DirectRun(keys) as first:
        first.until_count(1)
        postgres.run("INSERT INTO orders VALUES (2, 'ink')")
        first.until_count(2)
        postgres.run("INSERT INTO orders VALUES (3, 'pen')")
        while not first.step(commit=False):  # read, but its commit failed
            pass
    with DirectRun(keys, first.offset) as second:
        postgres.run("INSERT INTO orders VALUES (4, 'cup')")
        second.until_count(2)
        assert second.step(0.5) == 0
    assert ids(first) + ids(second) == [1, 2, 3, 4]


def test_a_transaction_that_outgrows_a_piece_goes_on_within(postgres: Postgres, slot: str) -> None:
    keys = config(postgres, slot_name=slot, max_batch_size="10", max_queue_size="10")
    postgres.run(TABLE)
    read: list[int] = []
    offset = None
    with DirectRun(keys) as run:
        run.step()
        offset = run.offset
    postgres.run(
        "INSERT INTO orders SELECT n, 'x' FROM generate_series(1, 35) n",
        "INSERT INTO orders VALUES (36, 'y')",
    )
    while len(read) < 36:  # a new run for every piece
        with DirectRun(keys, offset) as run:
            run.until(lambda run=run: bool(run.records))  # type: ignore[misc]
            read += ids(run)
            assert run.offset != offset
            offset = run.offset
    assert read == list(range(1, 37))
    assert offset is not None
    assert offset["messageType"] == "COMMIT"


def test_rows_that_share_an_lsn_are_not_parted(postgres: Postgres, slot: str) -> None:
    keys = config(postgres, slot_name=slot, max_batch_size="3", max_queue_size="3")
    postgres.run(TABLE)
    with DirectRun(keys) as run:
        run.step()
    connection = postgres.connect()
    with connection, connection.cursor() as cursor:
        cursor.execute("COPY orders FROM PROGRAM 'seq -f \"%g\tx\" 100'")
    connection.close()
    with DirectRun(keys, run.offset) as first:
        first.until(lambda: bool(first.records))
    with DirectRun(keys, first.offset) as second:
        second.until(lambda: (second.offset or {}).get("messageType") == "COMMIT")
    assert ids(first) + ids(second) == list(range(1, 101))


def test_the_slot_moves_only_with_what_was_committed(postgres: Postgres, slot: str) -> None:
    keys = config(postgres, slot_name=slot)
    postgres.run(TABLE)
    with DirectRun(keys) as run:
        run.step()
        before = lsn(postgres, slot)
        postgres.run("INSERT INTO orders VALUES (1, 'tea')")
        while not run.step(commit=False):
            pass
        time.sleep(0.6)  # longer than the receiving thread waits
        assert lsn(postgres, slot) == before
    with DirectRun(keys, run.offset) as run:
        run.until_count(1)
        assert run.offset is not None
        committed = run.offset["lsn_commit"]
        run.until(lambda: lsn(postgres, slot) == committed - 1)


def test_an_offset_has_the_fields_of_debezium_in_their_order(postgres: Postgres, slot: str) -> None:
    postgres.run(TABLE)
    with DirectRun(config(postgres, slot_name=slot)) as run:
        run.step()
        assert list(run.offset or {})[:2] == ["last_snapshot_record", "lsn"]
        postgres.run("INSERT INTO orders VALUES (1, 'tea')")
        run.until_count(1)
    names = ["lsn_proc", "messageType", "lsn_commit", "lsn", "txId", "ts_usec"]
    assert list(run.offset or {}) == names


def test_a_slot_that_was_dropped_is_named_in_a_sentence(postgres: Postgres, slot: str) -> None:
    postgres.run(TABLE, "INSERT INTO orders VALUES (1, 'tea')")
    keys = config(postgres, slot_name=slot)
    with DirectRun(keys) as run:
        run.until_count(1)
    postgres.drop_slot(slot)
    postgres.run("INSERT INTO orders VALUES (2, 'x')")
    with pytest.raises(ConnectError, match=f"The replication slot {slot} is gone"):
        DirectRun(keys, run.offset)
    with DirectRun(keys | {"snapshot.mode": "when_needed"}, run.offset) as anew:
        anew.until_count(2)
    assert ids(anew) == [1, 2]


def test_a_wrong_password_is_said_and_not_shown(postgres: Postgres, slot: str) -> None:
    keys = config(postgres, slot_name=slot) | {"database.password": "hunter2"}
    with pytest.raises(ConnectError, match="password authentication failed") as refused:
        DirectRun(keys)
    assert "hunter2" not in str(refused.value)


def test_heartbeats_carry_the_offset_past_what_is_not_captured(
    postgres: Postgres, slot: str
) -> None:
    keys = config(
        postgres,
        slot_name=slot,
        table_include_list="public.orders",
        heartbeat_interval_ms="100",
        heartbeat_action_query="INSERT INTO beats DEFAULT VALUES",
    )
    postgres.run(TABLE, "CREATE TABLE beats (n serial)")
    with DirectRun(keys) as run:
        run.until_count(5)
        moved = dict(run.offset or {})
        run.until_count(10)
        assert (run.offset or {})["lsn"] > moved["lsn"]
        assert {one.topic for one in run.records} == {"__debezium-heartbeat.shop"}
    assert postgres.rows("SELECT count(*) >= 5 FROM beats") == [(True,)]


def test_transactions_are_recorded_with_their_counts(postgres: Postgres, slot: str) -> None:
    keys = config(postgres, slot_name=slot, provide_transaction_metadata="true")
    postgres.run(TABLE, "CREATE TABLE items (id int PRIMARY KEY)")
    with DirectRun(keys) as run:
        run.step()
        postgres.run(
            "BEGIN; INSERT INTO orders VALUES (1, 'a'), (2, 'b'); INSERT INTO items VALUES (1); END"
        )
        run.until_count(5)
    begin, *changes, end = payloads(run.records)
    assert [one["transaction"]["total_order"] for one in changes] == [1, 2, 3]
    assert [one["transaction"]["data_collection_order"] for one in changes] == [1, 2, 1]
    assert (begin["status"], end["status"], end["event_count"]) == ("BEGIN", "END", 3)
    counts = {one["data_collection"]: one["event_count"] for one in end["data_collections"]}
    assert counts == {"public.orders": 2, "public.items": 1}
    assert list(counts) == ["public.items", "public.orders"]  # as a map of Java's gives them


def test_a_definition_that_changes_is_followed(postgres: Postgres, slot: str) -> None:
    postgres.run(TABLE)
    with DirectRun(config(postgres, slot_name=slot)) as run:
        run.step()
        postgres.run("INSERT INTO orders VALUES (1, 'a')")
        run.until_count(1)
        postgres.run("ALTER TABLE orders ADD price numeric(6, 2), DROP item")
        postgres.run("INSERT INTO orders VALUES (2, 1.5)", "CREATE TABLE late (id int)")
        postgres.run("INSERT INTO late VALUES (7)")
        run.until_count(3)
    rows = [one["after"] for one in payloads(run.records)]
    assert rows == [{"id": 1, "item": "a"}, {"id": 2, "price": "AJY="}, {"id": 7}]


def test_writers_at_work_while_runs_come_and_go_are_captured_once(
    postgres: Postgres, slot: str
) -> None:
    """A snapshot beside four writers, and six runs, half of them ended without a commit."""
    postgres.run(
        "CREATE TABLE orders (id int PRIMARY KEY, item text)",
        "INSERT INTO orders SELECT n, 'old' FROM generate_series(1, 500) n",
    )
    done = threading.Event()

    def write(writer: int) -> None:
        connection = postgres.connect()
        n = 0
        while not done.is_set():
            n += 1
            first = writer * 1_000_000 + n * 10
            with connection, connection.cursor() as cursor:
                cursor.execute(
                    "INSERT INTO orders SELECT %s + n, 'new' FROM generate_series(1, 3) n", (first,)
                )
            done.wait(0.01)
            if n % 5 == 0:
                with connection, connection.cursor() as cursor:
                    cursor.execute("DELETE FROM orders WHERE id = %s", (first + 1,))
        connection.close()

    writers = [threading.Thread(target=write, args=(n,)) for n in range(1, 5)]
    for one in writers:
        one.start()
    keys = config(postgres, slot_name=slot, max_batch_size="7", max_queue_size="21")
    replica: dict[int, str] = {}
    offset = None
    try:
        for attempt in range(6):
            with DirectRun(keys, offset) as run:
                run.until_count(40 if attempt else 500)
                if attempt % 2:
                    run.step(commit=False)
            apply(replica, run)
            offset = run.offset
    finally:
        done.set()
        for one in writers:
            one.join()
    wanted = dict(postgres.rows("SELECT id, item FROM orders"))
    with DirectRun(keys, offset) as run:
        postgres.run("INSERT INTO orders VALUES (0, 'end')")
        run.until(lambda: any(one.key.values == {"id": 0} for one in run.records[-1:]), 60)
    apply(replica, run)
    assert replica == wanted | {0: "end"}


def apply(replica: dict[int, str], run: DirectRun) -> None:
    """As a strict reader: what is inserted is new, what is deleted was there."""
    for one in filter(None, payloads(run.records)):
        if one["op"] == "d":
            del replica[one["before"]["id"]]
        else:
            assert one["after"]["id"] not in replica, one
            replica[one["after"]["id"]] = one["after"]["item"]
