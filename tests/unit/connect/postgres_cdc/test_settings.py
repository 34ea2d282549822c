"""The connector's keys: what is served, refused, or wrong together."""

import pytest

from ottla.connect.connectors.debezium.keys import TUNING
from ottla.connect.connectors.postgres_cdc import make
from ottla.connect.connectors.postgres_cdc.settings import settings
from ottla.connect.definitions import InvalidConfig

LEAST = {
    "name": "cdc",
    "connector.class": "postgres-cdc",
    "transforms": "none",
    "database.hostname": "db",
    "database.user": "u",
    "database.password": "se cret",
    "database.dbname": "shop",
    "topic.prefix": "p",
}


def errors(**keys: str) -> dict[str, list[str]]:
    with pytest.raises(InvalidConfig) as refused:
        settings(LEAST | {name.replace("_", "."): value for name, value in keys.items()})
    return {name: list(said) for name, said in refused.value.errors.items()}


def test_defaults_are_those_of_debezium() -> None:
    made = settings(LEAST)
    assert (made.slot, made.publication, made.autocreate) == (
        "debezium",
        "dbz_publication",
        "all_tables",
    )
    assert made.options.skipped == {"t"}
    assert "se cret" not in repr(made)


def test_one_task_is_listed_whatever_the_maximum() -> None:
    assert len(make(LEAST, "postgres-cdc").task_configs(8)) == 1


def test_keys_of_debezium_that_are_not_served_are_refused_by_name() -> None:
    assert list(errors(signal_data_collection="a.b")) == ["signal.data.collection"]
    assert list(errors(snapshot_query_mode="custom")) == ["snapshot.query.mode"]
    settings(LEAST | {"schema.name.adjustment.mode": "none"})  # says what is so anyway


def test_keys_that_change_only_debeziums_speed_and_patience_are_passed_over() -> None:
    plain = settings(LEAST)
    assert settings(LEAST | dict.fromkeys(TUNING, "4")) == plain


def test_what_is_wrong_is_said_by_key() -> None:
    both = errors(table_include_list="a", table_exclude_list="b")
    assert list(both) == ["table.exclude.list"]
    assert list(errors(plugin_name="decoderbufs")) == ["plugin.name"]
    assert list(errors(skipped_operations="x")) == ["skipped.operations"]
    assert list(errors(message_key_columns="orders")) == ["message.key.columns"]
