"""Chains between records and bytes: what comes out, what fails, and what is tolerated."""

import pickle

import pytest

from ottla.connect.data import Header, Record
from ottla.connect.pipeline import Failure, Row, SinkChain, SourceChain, Stage, ToleranceExceeded

STRING = "org.apache.kafka.connect.storage.StringConverter"
JSON = "org.apache.kafka.connect.json.JsonConverter"
PLAIN_JSON = {"value.converter": JSON, "value.converter.schemas.enable": "false"}
WORKER = {"key.converter": STRING, "value.converter": STRING}


def test_a_sources_records_become_rows_after_the_chain_was_pickled() -> None:
    chain = pickle.loads(pickle.dumps(SourceChain(PLAIN_JSON, WORKER)))
    header = Header("h", None, [1, "a"])
    record = Record(topic="t", key="k", value={"a": [1, 1e10]}, headers=(header,), timestamp=7)
    row = Row("t", b"k", b'{"a":[1,1.0E10]}', [("h", b'[1,"a"]')], None, 7)
    assert list(chain.rows([record])) == [row]


def test_settings_of_a_converter_come_from_where_its_class_is_named() -> None:
    worker = WORKER | {"value.converter": JSON, "value.converter.schemas.enable": "false"}
    assert next(SourceChain({}, worker).rows([Record(topic="t", value=1)])).value == b"1"
    enveloped = SourceChain({"value.converter": JSON}, worker)
    row = next(enveloped.rows([Record(topic="t", value=1)]))
    assert row.value == b'{"schema":null,"payload":1}'


def test_a_record_that_fails_is_reported_and_ends_the_task_unless_tolerated() -> None:
    bad, good = Record(topic="t", value={1, 2}), Record(topic="t", value=1)
    reported: list[Failure] = []
    with pytest.raises(ToleranceExceeded, match="Tolerance exceeded in error handler"):
        list(SourceChain(PLAIN_JSON, WORKER).rows([bad], reported.append))
    tolerant = SourceChain(PLAIN_JSON | {"errors.tolerance": "all"}, WORKER)
    rows = list(tolerant.rows([bad, good], reported.append))
    assert [row.value for row in rows] == [b"1"]
    assert [one.stage for one in reported] == [Stage.VALUE_CONVERTER] * 2
    assert reported[0].record is bad


def test_a_sinks_failure_has_the_ten_headers_of_a_dead_letter() -> None:
    chain = SinkChain(PLAIN_JSON, WORKER)
    failure = chain.record("t", 1, 2, 3, b"k", b"{", [])
    assert isinstance(failure, Failure)
    headers = dict(failure.headers("sink", 0, "t", 1, 2))
    assert len(headers) == 10
    assert headers["__connect.errors.stage"] == b"VALUE_CONVERTER"
    assert headers["__connect.errors.class.name"] == JSON.encode()
    assert headers["__connect.errors.exception.class.name"] == (
        b"org.apache.kafka.connect.errors.DataException"
    )
    with pytest.raises(ToleranceExceeded):
        chain.tolerate(failure)
    SinkChain(PLAIN_JSON | {"errors.tolerance": "all"}, WORKER).tolerate(failure)


def test_a_sinks_record_knows_where_it_stood() -> None:
    record = SinkChain(PLAIN_JSON, WORKER).record("t", 1, 2, -1, b"k", b'{"a": 1}', [("h", b"1")])
    assert isinstance(record, Record)
    assert (record.key, record.value, record.timestamp) == ("k", {"a": 1}, None)
    assert record.original == ("t", 1, 2)
    assert [(one.name, one.value) for one in record.headers] == [("h", 1)]
