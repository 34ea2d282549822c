"""Every type, key and kind of change and definition: the same records as Debezium's."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from support.cdc import DirectRun, Shown, shown, statements
from support.mariadb import MariaDb
from support.mysql_cdc import MemoryHistory, config, direct_run
from system.connect.mysql_cdc.golden import (
    CHANGES,
    CONFIGURATIONS,
    DATABASE,
    TABLES,
    comparable,
    recorded,
)

Records = dict[str, dict[str, list[Shown]]]  # by prefix and topic
INTEGERS = ("later", "copied", "renamed", "renamed2")  # tables that were made with the word


@pytest.fixture(scope="module")
def records(server: MariaDb) -> Iterator[Records]:
    """All configurations at once, over the same changes."""
    server.run(f"CREATE DATABASE {DATABASE}")
    mariadb = replace(server, name=DATABASE)
    mariadb.run(*statements(TABLES))
    runs = {
        prefix: direct_run({**config(mariadb, topic_prefix=prefix), **keys}, MemoryHistory())
        for prefix, keys in CONFIGURATIONS.items()
    }
    try:
        for run in runs.values():
            _take_snapshot(run)
        mariadb.run(*statements(CHANGES))
        for prefix, run in runs.items():
            run.until_count(sum(map(len, recorded(prefix).values())))
            run.step()
        yield {prefix: _by_topic(run) for prefix, run in runs.items()}
    finally:
        for run in runs.values():
            run.stop()
        server.run(f"DROP DATABASE {DATABASE}")


def _take_snapshot(run: DirectRun) -> None:
    run.until(lambda: run.offset is not None and "snapshot" not in run.offset)
    run.step()


def _by_topic(run: DirectRun) -> dict[str, list[Shown]]:
    grouped: dict[str, list[Shown]] = {}
    for one in run.records:
        grouped.setdefault(one.topic, []).append(comparable(shown(one)))
    return grouped


@pytest.mark.parametrize("prefix", CONFIGURATIONS)
def test_records_equal_those_of_debezium_schema_included(prefix: str, records: Records) -> None:
    theirs, ours = recorded(prefix), records[prefix]
    assert sorted(ours) == sorted(theirs)
    for topic, expected in theirs.items():
        for one, other in zip(ours[topic], expected, strict=True):
            assert _without_integers(one) == _without_integers(other), topic


def _without_integers(record: Shown) -> Shown:
    """Debezium takes INTEGER UNSIGNED for signed, and 4294967295 for -1; we do not."""
    if not record["topic"].endswith(tuple(f".{one}" for one in INTEGERS)):
        return record
    schema, payload = record["value"]["schema"], record["value"]["payload"]
    fields = [
        {**one, "fields": [_without_type(column) for column in one["fields"]]}
        if one["field"] in ("before", "after")
        else one
        for one in schema["fields"]
    ]
    rows = {name: {**payload[name], "i": "-"} for name in ("before", "after") if payload[name]}
    value = {"schema": {**schema, "fields": fields}, "payload": payload | rows}
    return {**record, "value": value}


def _without_type(column: dict[str, Any]) -> dict[str, Any]:
    return {**column, "type": "-"} if column["field"] == "i" else column
