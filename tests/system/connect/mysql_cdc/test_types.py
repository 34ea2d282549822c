"""Every type, key and kind of change, read to its end; a row looks the same however it was read."""

from pathlib import Path
from typing import Any

import pytest

from support.cdc import DirectRun, payloads, statements
from support.mariadb import MariaDb
from support.mysql_cdc import MemoryHistory, config, direct_run

FOLDER = Path(__file__).parent
MODES: tuple[dict[str, str], ...] = (
    {},
    {
        "decimal.handling.mode": "string",
        "time.precision.mode": "connect",
        "bigint.unsigned.handling.mode": "precise",
        "binary.handling.mode": "hex",
    },
    {
        "decimal.handling.mode": "double",
        "time.precision.mode": "isostring",
        "binary.handling.mode": "base64",
    },
    {"time.precision.mode": "nanoseconds", "binary.handling.mode": "base64-url-safe"},
)


def rows(run: DirectRun, table: str, op: str) -> list[Any]:
    records = [one for one in run.records if one.topic.endswith(f".{table}")]
    found = [one for one in payloads(records) if one and one.get("op") == op]
    return [one["after"] for one in found]


@pytest.fixture
def runs(mariadb: MariaDb) -> list[DirectRun]:
    """One for each of MODES, over the same changes."""
    mariadb.run(*statements(FOLDER / "tables.sql"))
    begun = [
        direct_run(config(mariadb, topic_prefix=f"p{n}") | modes, MemoryHistory())
        for n, modes in enumerate(MODES)
    ]
    for run in begun:
        run.until(lambda run=run: "snapshot" not in (run.offset or {"snapshot": ""}))  # type: ignore[misc]
        run.step()
    mariadb.run(*statements(FOLDER / "changes.sql"))
    for run in begun:
        run.until(lambda run=run: {"a": 99, "b": "end"} in rows(run, "nokey", "c"))  # type: ignore[misc]
        run.stop()
    return begun


def test_a_row_of_a_snapshot_and_a_row_of_the_binlog_are_equal(runs: list[DirectRun]) -> None:
    for run in runs:
        for table, read, changed in (("wild", 1, 0), ("shapes", 0, 0), ("latin", 0, 0)):
            one, other = rows(run, table, "r")[read], rows(run, table, "c")[changed]
            # An option's comma is escaped in changes alone, as Debezium's converters have it.
            apart = {"id": 0, "c_enum": 0}
            assert {**one, **apart} == {**other, **apart}, table
        assert rows(run, "strict", "r")[0] == {**rows(run, "strict", "u")[0], "a": 1}


def test_values_are_those_that_were_written(runs: list[DirectRun]) -> None:
    row = rows(runs[0], "wild", "c")[0]
    shown = {
        "c_tinyu": 255,
        "c_intu": 4294967295,
        "c_bigu": -1,
        "c_big": -9223372036854775808,
        "c_charlatin": "äö",
        "c_ucs2": "ucs€",
        "c_sjis": "日本",
        "c_cp1251": "Привет",
        "c_enum": "c\\,d",
        "c_set": "x,z",
        "c_date": 18321,
        "c_time6": 45296789012,
        "c_dt3": 1582979696789,
        "c_dt6": 1582979696789012,
        "c_ts3": "2020-02-29T12:34:56.789Z",
        "c_year": 2020,
        "c_json": '{"a" : [1, 2.50, "ü"]}',
        "c_uuid": "6f1d7b2e-0000-4000-8000-000000000001",
    }
    assert {name: row[name] for name in shown} == shown
    other = rows(runs[1], "wild", "c")[0]
    assert other["c_dec6530"] == "12345678901234567890.123456789000000000000000000000"
    assert other["c_blob"] == "00ff10"


def test_columns_follow_the_definitions_of_their_time(runs: list[DirectRun]) -> None:
    found = [list(one) for one in rows(runs[0], "composite", "c")]
    assert found[:6] == [
        ["b", "a", "v"],
        ["b", "a", "v"],  # its key was changed
        ["b", "a", "v"],
        ["b", "a", "v", "extra"],
        ["first_one", "b", "a", "mid", "v", "extra"],
        ["first_one", "b", "a", "vv", "extra"],
    ]
    (renamed,), (again,) = rows(runs[0], "renamed", "c"), rows(runs[0], "renamed2", "c")
    assert list(again) == [*renamed, "z"]
