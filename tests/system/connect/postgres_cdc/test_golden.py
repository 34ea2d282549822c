"""Every type, key, replica identity and kind of change: the same records as Debezium's."""

import pytest

from support.cdc import DirectRun, Shown, by_topic, config, shown, statements
from support.postgres import Postgres
from system.connect.postgres_cdc.golden import CHANGES, TABLES, recorded


@pytest.fixture
def records(postgres: Postgres, slot: str) -> dict[str, list[Shown]]:
    postgres.run(*statements(TABLES))
    keys = config(postgres, slot_name=slot, skipped_operations="none")
    expected = sum(map(len, recorded().values()))
    with DirectRun(keys) as run:
        run.until(lambda: "snapshot" in (run.offset or {}) and not run.step())
        postgres.run(*statements(CHANGES))
        run.until_count(expected)
    return by_topic(shown(one) for one in run.records)


def test_records_equal_those_of_debezium_schema_included(records: dict[str, list[Shown]]) -> None:
    theirs = recorded()
    assert sorted(records) == sorted(theirs)
    for topic, expected in theirs.items():
        for ours, one in zip(records[topic], expected, strict=True):
            assert _without_names(ours) == _without_names(one), topic


def _without_names(record: Shown) -> Shown:
    """Debezium writes null for values of the type name that come through the stream; we do not."""
    after = record["value"] and record["value"]["payload"].get("after")
    if not after or "c_name" not in after:
        return record
    payload = record["value"]["payload"] | {"after": {**after, "c_name": "-"}}
    return {**record, "value": {**record["value"], "payload": payload}}
