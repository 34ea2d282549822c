"""Looked at before it is created: tables to choose from, rows as they would be, nothing left."""

import pytest

from ottla.connect import plugins
from ottla.connect.connector import TriedOut
from ottla.connect.definitions import InvalidConfig
from ottla.connect.pipeline import Failure
from ottla.connect.preview import source_rows
from support.cdc import config
from support.postgres import Postgres

JSON = "org.apache.kafka.connect.json.JsonConverter"
WORKER = {"value.converter": JSON, "value.converter.schemas.enable": "false"}
TABLES = (
    "CREATE TABLE orders (id int PRIMARY KEY, item text)",
    "CREATE TABLE people (id int PRIMARY KEY, name text)",
    "INSERT INTO orders SELECT n, 'tea' FROM generate_series(1, 100) n",
    "INSERT INTO people VALUES (7, 'Ann')",
)


def test_rows_are_shown_without_a_slot_or_a_publication(postgres: Postgres) -> None:
    postgres.run(*TABLES)
    found = list(source_rows(config(postgres), WORKER, 2, list[Failure]().append))
    assert [one.topic for one in found] == ["shop.public.orders"] * 2 + ["shop.public.people"]
    assert b'"after":{"id":7,"name":"Ann"}' in (found[-1].value or b"")
    name = postgres.name
    slots = postgres.rows(f"SELECT 1 FROM pg_replication_slots WHERE database = '{name}'")
    assert (slots, postgres.rows("SELECT 1 FROM pg_publication")) == ([], [])


def test_where_only_changes_are_wanted_there_is_nothing_yet(postgres: Postgres) -> None:
    postgres.run(*TABLES)
    keys = config(postgres, snapshot_mode="no_data")
    assert list(source_rows(keys, WORKER, 2, list[Failure]().append)) == []


def test_the_tables_that_are_there_are_recommended(postgres: Postgres) -> None:
    postgres.run(*TABLES)
    source = plugins.source(config(postgres, table_include_list="public.orders"))
    assert isinstance(source, TriedOut)
    assert source.try_out() == {"table.include.list": ["public.orders", "public.people"]}


def test_a_wrong_password_is_told_of_the_address(postgres: Postgres) -> None:
    source = plugins.source(config(postgres, database_password="wrong"))
    assert isinstance(source, TriedOut)
    with pytest.raises(InvalidConfig, match="password authentication failed") as refused:
        source.try_out()
    assert list(refused.value.errors) == ["database.hostname"]
    assert "wrong" not in str(refused.value)
