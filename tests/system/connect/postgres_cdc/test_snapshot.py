"""Snapshots: which mode takes one, what it holds, and what happens when it is interrupted."""

import logging

import pytest

from ottla.connect.connector import ConnectError
from ottla.connect.connectors.postgres_cdc import snapshot
from ottla.connect.definitions import InvalidConfig
from support.cdc import DirectRun, config, payloads
from support.postgres import Postgres, running_postgres

ROWS = "INSERT INTO orders SELECT n, repeat('x', 500) FROM generate_series({}, {}) n"
TABLE = "CREATE TABLE orders (id int PRIMARY KEY, item text)"


def marks(run: DirectRun) -> list[str]:
    return [one["source"]["snapshot"] for one in payloads(run.records)]


def test_a_table_of_many_pages_is_read_in_slices(
    postgres: Postgres, slot: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "PAGES", 4)
    postgres.run(TABLE, ROWS.format(1, 300), "DELETE FROM orders WHERE id < 100 OR id > 200")
    with DirectRun(config(postgres, slot_name=slot)) as run:
        assert len(run.connector._waiting) > 1
        run.until_count(101)
        assert (run.offset or {})["snapshot_completed"] is True
    assert [one["after"]["id"] for one in payloads(run.records)] == list(range(100, 201))
    assert marks(run) == ["first", *["true"] * 99, "last"]


def test_an_interrupted_snapshot_begins_anew_and_says_so(
    postgres: Postgres,
    slot: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(snapshot, "PAGES", 4)
    postgres.run(TABLE, ROWS.format(1, 300))
    keys = config(postgres, slot_name=slot)
    with DirectRun(keys) as first:
        first.step()
        assert 0 < len(first.records) < 300
    postgres.run("INSERT INTO orders VALUES (301, 'late')")
    with caplog.at_level(logging.WARNING), DirectRun(keys, first.offset) as second:
        second.until_count(301)
        postgres.run("INSERT INTO orders VALUES (302, 'later')")
        second.until_count(302)
    assert "interrupted" in caplog.text
    assert [one["after"]["id"] for one in payloads(second.records)] == list(range(1, 303))


def test_no_data_and_initial_only_take_one_half_each(postgres: Postgres, slot: str) -> None:
    postgres.run(TABLE, "INSERT INTO orders VALUES (1, 'a')")
    with DirectRun(config(postgres, slot_name=slot, snapshot_mode="no_data")) as changes:
        postgres.run("INSERT INTO orders VALUES (2, 'b')")
        changes.until_count(1)
    assert [one["op"] for one in payloads(changes.records)] == ["c"]
    postgres.drop_slot(slot)
    with DirectRun(config(postgres, slot_name=slot, snapshot_mode="initial_only")) as rows:
        rows.until_count(2)
        postgres.run("INSERT INTO orders VALUES (3, 'c')")
        assert rows.step(0.5) == 0
    assert [one["op"] for one in payloads(rows.records)] == ["r", "r"]


def test_tables_and_columns_are_chosen_by_expressions(postgres: Postgres, slot: str) -> None:
    postgres.run(
        "CREATE TABLE orders (id int PRIMARY KEY, item text, secret text)",
        "CREATE TABLE others (id int)",
        "INSERT INTO orders VALUES (1, 'tea', 's')",
        "INSERT INTO others VALUES (1)",
    )
    keys = config(
        postgres,
        slot_name=slot,
        table_include_list="public.ord.*",
        column_exclude_list=".*\\.secret",
        message_key_columns="public.orders:item",
        publication_autocreate_mode="filtered",
    )
    with DirectRun(keys) as run:
        run.until_count(1)
        postgres.run("INSERT INTO others VALUES (2)", "INSERT INTO orders VALUES (2, 'ink', 's')")
        run.until_count(2)
    rows = [(one.key.values, one.value.values["after"].values) for one in run.records]
    assert rows == [
        ({"item": "tea"}, {"id": 1, "item": "tea"}),
        ({"item": "ink"}, {"id": 2, "item": "ink"}),
    ]
    published = postgres.rows("SELECT tablename FROM pg_publication_tables")
    assert published == [("orders",)]


def test_a_missing_publication_that_may_not_be_made_is_named(postgres: Postgres, slot: str) -> None:
    keys = config(postgres, slot_name=slot, publication_autocreate_mode="disabled")
    with pytest.raises(ConnectError, match="There is no publication dbz_publication"):
        DirectRun(keys)


def test_a_server_without_logical_decoding_is_told_what_it_lacks() -> None:
    with (
        running_postgres(wal_level="replica") as server,
        pytest.raises(ConnectError, match="wal_level=replica"),
    ):
        DirectRun(config(server))


def test_keys_that_are_not_served_are_named(postgres: Postgres) -> None:
    keys = config(postgres) | {"column.mask.with.5.chars": "public.a.b", "slot.name": "s"}
    with pytest.raises(InvalidConfig) as refused:
        DirectRun(keys)
    assert list(refused.value.errors) == ["column.mask.with.5.chars"]
