"""The keys of mysql-cdc: Debezium's names and defaults, and what is refused."""

import pytest

from ottla.connect.connector import ConnectError
from ottla.connect.connectors.debezium.keys import TUNING
from ottla.connect.connectors.mysql_cdc import check_offset, make
from ottla.connect.connectors.mysql_cdc.settings import settings
from ottla.connect.definitions import InvalidConfig

REQUIRED = {
    "database.hostname": "db",
    "database.user": "connect",
    "topic.prefix": "shop",
    "schema.history.internal.kafka.topic": "history",
    "schema.history.internal.kafka.bootstrap.servers": "kafka:9092",
}


def refusals(**keys: str) -> dict[str, list[str]]:
    said = {name.replace("_", "."): value for name, value in keys.items()}
    with pytest.raises(InvalidConfig) as refused:
        settings(REQUIRED | said)
    return {name: list(texts) for name, texts in refused.value.errors.items()}


def test_defaults_are_those_of_debezium() -> None:
    made = settings(REQUIRED)
    assert (made.port, made.snapshot_mode, made.locking_mode) == (3306, "initial", "minimal")
    assert made.modes.time_precision == "adaptive_time_microseconds"
    assert made.modes.bigint_unsigned == "long"
    assert made.options.schema_changes
    assert made.server_id > 0


@pytest.mark.parametrize(
    "name",
    [
        "column.mask.with.12.chars",
        "database.ssl.keystore",
        "gtid.source.includes",
        "include.query",
        "signal.data.collection",
        "snapshot.query.mode",
    ],
)
def test_keys_of_debezium_that_are_not_served_are_refused_by_name(name: str) -> None:
    with pytest.raises(InvalidConfig, match=f"The key '{name}' is Debezium's, but is not served"):
        settings(REQUIRED | {name: "x"})


def test_keys_that_change_only_debeziums_speed_and_patience_are_passed_over() -> None:
    said = REQUIRED | {"database.server.id": "5401"}
    assert settings(said | dict.fromkeys(TUNING, "4")) == settings(said)


def test_what_is_wrong_is_said_by_key() -> None:
    assert "schema.history.internal" in refusals(schema_history_internal="MemorySchemaHistory")
    assert "time.precision.mode" in refusals(time_precision_mode="adaptive")
    assert "snapshot.mode" in refusals(snapshot_mode="custom")
    both = refusals(database_include_list="a", database_exclude_list="b")
    assert "database.exclude.list" in both


def test_clients_of_the_history_take_their_own_keys() -> None:
    prefix = "schema.history.internal.producer."
    made = settings(REQUIRED | {f"{prefix}security.protocol": "SSL"})
    assert made.history.producer == {"security.protocol": "SSL"}


def test_one_task_is_listed_whatever_the_maximum() -> None:
    (task,) = make(REQUIRED, "mysql-cdc").task_configs(8)
    assert task["task.id"] == "0"


def test_offsets_that_are_set_by_hand_are_checked() -> None:
    check_offset({"server": "shop"}, {"file": "binlog.000001", "pos": 4, "gtids": "0-1-5"})
    with pytest.raises(ConnectError, match="'pos'"):
        check_offset({"server": "shop"}, {"file": "binlog.000001"})
