"""Columns of fields are the values that the converter reads one by one, or there are none."""

import json
from collections.abc import Iterator
from typing import Any

import pyarrow
import pytest

from ottla.connect.connector import TopicPartition
from ottla.connect.data import Record
from ottla.connect.pipeline import SinkChain
from ottla.connect.runs.fields import AlikeRecords, may_have_fields, read_fields
from ottla.connect.runs.given_fields import GivenBatch, together

JSON = "org.apache.kafka.connect.json.JsonConverter"
STRING = "org.apache.kafka.connect.storage.StringConverter"
BOTH = {"key.converter": JSON, "value.converter": JSON}
DECIMAL = {
    "type": "bytes",
    "name": "org.apache.kafka.connect.data.Decimal",
    "version": 1,
    "parameters": {"scale": "2"},
}
DATE = {"type": "int32", "name": "org.apache.kafka.connect.data.Date", "version": 1}
TIMESTAMP = {"type": "int64", "name": "org.apache.kafka.connect.data.Timestamp", "version": 1}
PARTITION = TopicPartition("t", 0)


def plain(kind: str) -> dict[str, Any]:
    return {"type": kind}


FIELDS: dict[str, dict[str, Any]] = {
    "id": {**plain("int64"), "optional": False},
    "small": plain("int8"),
    "number": plain("int32"),
    "float": plain("double"),
    "single": plain("float"),
    "yes": plain("boolean"),
    "text": plain("string"),
    "bytes": plain("bytes"),
    "price": DECIMAL,
    "day": DATE,
    "at": TIMESTAMP,
}
SCHEMA = json.dumps(
    {
        "type": "struct",
        "optional": False,
        "fields": [{"optional": True, **told, "field": name} for name, told in FIELDS.items()],
    },
    separators=(",", ":"),
)


def enveloped(payload: str, schema: str = SCHEMA) -> bytes:
    return f'{{"schema":{schema},"payload":{payload}}}'.encode()


def columns(*values: bytes, chain: SinkChain | None = None) -> list[dict[str, Any]] | None:
    made = chain or SinkChain(BOTH, {})
    found = read_fields(pyarrow.array(values, pyarrow.binary()), made.value)
    if found is None:
        return None
    told = {name: one.values() for name, one in found.items()}
    return [{name: all[at] for name, all in told.items()} for at in range(len(values))]


def one_by_one(*values: bytes) -> list[dict[str, Any]]:
    chain = SinkChain(BOTH, {})
    made = [chain.record("t", 0, at, 1, None, one) for at, one in enumerate(values)]
    return [one.value.values for one in made if isinstance(one, Record)]


FIRST = '{"id":1}'
READ_ALIKE = [
    '{"id":2,"small":-128,"number":2147483647,"float":1,"single":0.1,"yes":false}',
    '{"id":-9223372036854775808,"float":-0.0,"single":1e3}',
    '{"id":3,"float":123456789012345678901234567890,"text":"ä \\ud83d\\ude00 \\" \\\\ \\n"}',
    '{"id":4,"text":"","bytes":"AAE=","price":"BNI=","day":-1,"at":1700000000123}',
    '{"id":5,"text":null,"price":null,"day":null}',
    '{"text":"{}","id":6,"yes":true}',
    '{"id":7,"text":"}"}',
    '{ "id" : 8 }',
]
ONE_BY_ONE = [
    '{"id":2.0}',
    '{"id":2e0}',
    '{"id":"2"}',
    '{"id":true}',
    '{"id":2,"small":128}',
    '{"id":2,"number":2147483648}',
    '{"id":2,"id":3}',
    '{"id":2,"more":1}',
    '{"id":2,"price":12.5}',
    '{"id":2,"text":7}',
    '{"id":2,"float":"1"}',
    '{"id":02}',
]
REFUSED = [
    "{}",
    "null",
    '{"id":null}',
    "[1]",
    '{"id":2,"float":NaN}',
    '{"id":2,"float":Infinity}',
    '{"id":2,"text":"\n"}',
    '{"id":2',
    '{"id":2}}\n{"id":3',
    '{"id":2} {"id":3}',
]


def test_columns_are_what_the_converter_reads() -> None:
    values = [enveloped(one) for one in (FIRST, *READ_ALIKE)]
    read = columns(*values)
    assert read is not None
    single = one_by_one(*values)
    assert read == single
    # A zero has a sign, which equality does not see; and true equals 1.
    assert repr(read) == repr(single)


@pytest.mark.parametrize("other", [*ONE_BY_ONE, *REFUSED])
def test_what_arrow_might_read_otherwise_is_left_to_the_converter(other: str) -> None:
    assert columns(enveloped(FIRST), enveloped(other), enveloped(FIRST)) is None


@pytest.mark.parametrize("value", ["!!!!", "A", ""])
def test_a_value_that_is_none_of_its_schemas_fails_as_the_converter_does(value: str) -> None:
    given = enveloped(f'{{"id":1,"price":"{value}"}}')
    with pytest.raises(Exception, match="Invalid bytes for Decimal field"):
        columns(enveloped(FIRST), given)
    assert one_by_one(given) == []


def test_values_of_another_schema_are_left_to_the_converter() -> None:
    other = enveloped('{"id":1}', SCHEMA.replace('"boolean"', '"string"'))
    assert columns(other) == [{**dict.fromkeys(FIELDS), "id": 1}]
    assert columns(enveloped(FIRST), other) is None


@pytest.mark.parametrize(
    "schema",
    [
        '{"type":"struct","optional":false,"fields":[]}',
        '{"type":"int32"}',
        '{"type":"struct","fields":[{"field":"id","type":"array","items":{"type":"int32"}}]}',
        "null",
    ],
)
def test_what_is_no_struct_of_plain_fields_is_left_to_the_converter(schema: str) -> None:
    assert columns(enveloped(FIRST, schema)) is None


def test_texts_that_are_no_utf8_are_left_to_the_converter() -> None:
    assert columns(enveloped('{"id":1,"text":"%s"}').replace(b"%s", b"\xff")) is None


def test_a_null_where_there_is_a_default_is_left_to_the_converter() -> None:
    schema = '{"type":"struct","fields":[{"field":"n","type":"int32","optional":true,"default":5}]}'
    given, absent = enveloped('{"n":7}', schema), enveloped("{}", schema)
    assert columns(given) == [{"n": 7}]
    assert columns(given, absent) is None
    assert one_by_one(absent) == [{"n": 5}]


def test_only_plain_chains_have_fields() -> None:
    assert may_have_fields(SinkChain(BOTH, {}))
    assert may_have_fields(SinkChain({"value.converter": JSON, "key.converter": STRING}, {}))
    assert not may_have_fields(SinkChain({"value.converter": STRING}, {}))
    hoist = {
        "transforms": "a",
        "transforms.a.type": "org.apache.kafka.connect.transforms.HoistField$Value",
        "transforms.a.field": "f",
    }
    assert not may_have_fields(SinkChain({**BOTH, **hoist}, {}))
    # Without an envelope there is no schema to read them by.
    assert columns(FIRST.encode(), chain=chain_without_schemas()) is None


def chain_without_schemas() -> SinkChain:
    return SinkChain({**BOTH, "value.converter.schemas.enable": "false"}, {})


def given(keys: list[bytes | None], values: list[bytes | None], **more: Any) -> GivenBatch:
    chain = SinkChain(BOTH, {})
    batch = pyarrow.RecordBatch.from_pydict(
        {
            "offset": range(5, 5 + len(values)),
            "key": pyarrow.array(keys, pyarrow.binary()),
            "value": pyarrow.array(values, pyarrow.binary()),
            **more,
        }
    )

    def read(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[Record]:
        for one in batches:
            for row in one.to_pylist():
                made = chain.record(*PARTITION, row["offset"], None, row["key"], row["value"])
                if isinstance(made, Record):
                    yield made

    return GivenBatch(batch, PARTITION, chain, read)


def test_keys_are_columns_too_and_a_key_that_cannot_be_read_is_looked_at() -> None:
    value = enveloped(FIRST)
    keys = [enveloped(f'{{"id":{at}}}') for at in (1, 2)]
    both = given([*keys], [value, value])
    alike = both.alike()
    assert isinstance(alike, AlikeRecords)
    assert alike.key is not None
    assert alike.key["id"].values() == [1, 2]
    assert alike.first.key.values["id"] == 1
    assert (alike.first.offset, both.end) == (5, 7)
    without = given([None, None], [value, value]).alike()
    assert without is not None
    assert without.key is None
    assert given([keys[0], b"?"], [value, value]).alike() is None
    assert [one.offset for one in given([keys[0], b"?"], [value, value]).records()] == [5]
    assert given([*keys], [value, None]).alike() is None  # a tombstone


def test_headers_are_for_their_converter() -> None:
    pair = pyarrow.struct([("key", pyarrow.string()), ("value", pyarrow.binary())])
    kind = pyarrow.list_(pair)
    times = pyarrow.array([1], pyarrow.int64())
    value = enveloped(FIRST)
    some = pyarrow.array([[{"key": "h", "value": b"1"}]], kind)
    assert given([None], [value], time=times, headers=some).alike() is None
    none = pyarrow.array([None], kind)
    alike = given([None], [value], time=times, headers=none).alike()
    assert alike is not None
    assert alike.first.timestamp == 1


def test_small_batches_are_put_together_as_far_as_they_are_not_large() -> None:
    def batch(rows: int, size: int = 1) -> pyarrow.RecordBatch:
        return pyarrow.RecordBatch.from_pydict({"value": [b"x" * size] * rows})

    assert [one.num_rows for one in together(iter([batch(4)] * 5), 10)] == [8, 8, 4]
    assert [one.num_rows for one in together(iter([batch(20), batch(1)]), 10)] == [20, 1]
    large = batch(1, 20 << 20)
    assert [one.num_rows for one in together(iter([large, large]), 10)] == [1, 1]
    assert not list(together(iter([]), 10))
