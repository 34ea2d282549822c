"""Formats: what one writes it reads, and what it cannot read it says."""

from pathlib import Path

import pytest

import ottla.pipelines
from ottla.pipelines import bytes as as_bytes
from ottla.pipelines import formats, json, long, string
from ottla.pipelines.api.definitions import Source
from ottla.pipelines.formats import FORMATS
from ottla.pipelines.formats.format import Format
from ottla.pipelines.formats.row_format import Kept, Row
from ottla.pipelines.planning.signatures import plain
from ottla.pipelines.planning.stages import may_fail
from ottla.pipelines.runtime import sessions
from ottla.pipelines.runtime.where import here

PAGE = Path(__file__).parents[3] / "docs" / "pipelines.md"
GIVEN: dict[str, Format] = {
    "json": json("n BIGINT, s STRING"),
    "string": string("s"),
    "bytes": as_bytes("b"),
    "long": long("n"),
}
WITH_A_REGISTRY = {"avro", "json_schema", "protobuf"}  # test_avro.py and so on
GARBAGE = "X'FFFEFD'"


def test_every_format_is_handed_out_documented_and_tested_here() -> None:
    assert {*GIVEN, *WITH_A_REGISTRY} == set(FORMATS) == set(formats.__all__)
    assert set(FORMATS) <= set(ottla.pipelines.__all__)
    page = PAGE.read_text()
    assert [name for name in FORMATS if f"`{name}(" not in page] == []


@pytest.mark.parametrize("name", GIVEN)
def test_a_format_reads_what_it_writes(name: str) -> None:
    format = GIVEN[name]
    spark = sessions.session()
    row = spark.sql("SELECT -7L AS n, 'zażółć' AS s, X'00FF' AS b")
    columns = [field.name for field in format.schema]
    sent = row.selectExpr(f"{format.written(columns, row.schema)} AS value")
    read = sent.selectExpr("*", f"{format.parsed(()) or 'NULL'} AS _parsed")
    back = read.selectExpr(*(f"{format.read(column, 'value')} AS {column}" for column in columns))
    assert back.first() == row.selectExpr(*columns).first()


@pytest.mark.parametrize("name", GIVEN)
def test_a_format_that_may_fail_says_why_and_others_never_do(name: str) -> None:
    format = GIVEN[name]
    cases = format.reasons("value", is_table=False)
    assert bool(cases) == format.may_fail
    if not cases:
        return
    read = sessions.session().sql(f"SELECT {GARBAGE} AS value")
    read = read.selectExpr("*", f"{format.parsed(()) or 'NULL'} AS _parsed")
    found = read.selectExpr(f"CASE {' '.join(cases)} END").first()
    assert found is not None
    assert found[0] is not None


def test_what_the_application_has_written_itself_never_fails() -> None:
    def source(key: Format, value: Format) -> Source:
        return Source(where=here(), schema=value.schema, topic="t", key=key, value=value)

    assert not may_fail(source(string(), Row(json("n INT").schema)))
    assert not may_fail(source(string(), Kept(json("n INT").schema)))
    assert may_fail(source(long(), string()))


def test_a_format_is_described_as_earlier_releases_described_it() -> None:
    assert plain(json("n INT NOT NULL")) == {
        "name": "json",
        "schema": [{"name": "n", "type": "INT", "required": True}],
        "column": "value",
    }
    assert plain(long("x")) == {
        "name": "long",
        "schema": [{"name": "x", "type": "BIGINT", "required": False}],
        "column": "x",
    }
    assert json("n INT, s STRING").in_words() == "json(n INT, s STRING)"
