"""JsonConverter's numbers, and its schemas, which are remembered; headers in batches."""

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from ottla.connect.converters.json import JsonConverter
from ottla.connect.data import DataError, Field, Schema, Struct, Type
from ottla.connect.java_text import double_text
from ottla.connect.runs import rows

DOUBLE = Schema(type=Type.FLOAT64)
PAIR = Schema(
    type=Type.STRUCT,
    fields=(
        Field("word", Schema(type=Type.STRING, optional=True)),
        Field("number", Schema(type=Type.INT32, default=7)),
    ),
)
PLAIN = JsonConverter({"converter.type": "value", "schemas.enable": "false"})


def payload(schema: Schema, value: object) -> bytes:
    written = PLAIN.from_connect("t", schema, value)
    assert written is not None
    return written


@given(st.floats() | st.floats(-1e8, 1e8) | st.integers(-(10**9), 10**9).map(lambda n: n / 100))
def test_a_double_has_the_digits_that_java_gives_it(number: float) -> None:
    shown = double_text(number)
    named = shown in ("NaN", "Infinity", "-Infinity")
    assert payload(DOUBLE, number).decode() == (f'"{shown}"' if named else shown)


@given(
    st.none() | st.text(st.characters(codec="utf-8")),
    st.none() | st.integers(-(2**31), 2**31 - 1),
)
def test_fields_stand_in_the_schemas_order_with_defaults_for_nulls(
    word: str | None, number: int | None
) -> None:
    written = payload(PAIR, Struct(PAIR, {"number": number, "word": word}))
    assert list(json.loads(written).items()) == [
        ("word", word),
        ("number", 7 if number is None else number),
    ]


def test_schemas_that_come_and_go_are_not_taken_for_one_another() -> None:
    """Their addresses are used again; the text must be that of the schema at hand."""
    converter = JsonConverter({"converter.type": "value"})
    for number in range(5000):
        schema = replace(DOUBLE, name=f"n{number}")
        written = converter.from_connect("t", schema, 0.5)
        assert written is not None
        assert json.loads(written)["schema"]["name"] == f"n{number}"


_TEXTS = st.builds(
    "".join,
    st.tuples(
        st.sampled_from(['{"schema":', '{ "schema":', ""]),
        st.sampled_from(['{"type":"int32"}', '{"type":"string","optional":true}', "null"]),
        st.sampled_from([',"payload":', ', "payload":', ',"payload":1,"schema":']),
        st.sampled_from(["1", "007", '"a"', "null", '{"type":"int32"}', "1.5", ""]),
        st.sampled_from(["}", "} ", "}}", ',"schema":{"type":"string"}}', ',"payload":2}', ""]),
    ),
)


@given(st.lists(_TEXTS, min_size=2, max_size=8))
def test_what_was_read_before_does_not_change_what_is_read(texts: list[str]) -> None:
    converter = _enveloped()
    for one in texts:
        assert _read(converter, one) == _read(_enveloped(), one)


def test_a_schema_that_is_said_twice_is_not_remembered_by_the_first() -> None:
    converter = _enveloped()
    twice = '{"schema":{"type":"int32"},"payload":1,"schema":{"type":"string"}}'
    assert _read(converter, twice) == (Schema(type=Type.STRING), None)
    once = '{"schema":{"type":"int32"},"payload":1}'
    assert _read(converter, once) == (Schema(type=Type.INT32), 1)


def _enveloped() -> JsonConverter:
    return JsonConverter({"converter.type": "value"})


def _read(converter: JsonConverter, said: str) -> object:
    try:
        return converter.to_connect("t", said.encode())
    except DataError as error:
        return str(error)


def test_a_batch_keeps_the_headers_of_each_row() -> None:
    headers = [None, [("a", b"1"), ("b", None)], [], [("a", b"2")]]
    (batch,) = rows.batches(iter([rows.Row("t", None, b"v", one) for one in headers]))
    assert batch.column("headers").to_pylist() == [
        None if one is None else [{"key": name, "value": value} for name, value in one]
        for one in headers
    ]
