"""What a job's tasks told, as the JVM hands it over."""

import pickle

import pytest

from ottla.connect.runs.failures import JobFailed, Kind
from ottla.connect.runs.jobs import outcome
from ottla.connect.runs.rows import Failure


def piece(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


def of_java(kind: str, text: str) -> bytes:
    return (-1).to_bytes(4, "big", signed=True) + piece(kind.encode()) + piece(text.encode())


def test_what_tasks_told_is_heard_in_its_order() -> None:
    told = [("a", 1), b"", ["x" * 100_000]]
    assert outcome(b"".join(piece(pickle.dumps(one)) for one in told)) == told
    assert outcome(b"") == []


def test_the_first_failure_is_raised_when_all_were_heard() -> None:
    failure = Failure(Kind.RETRIABLE, "first")
    said = piece(pickle.dumps("one")) + piece(pickle.dumps(failure))
    said += of_java("fenced", "second") + piece(pickle.dumps("two"))
    with pytest.raises(JobFailed) as raised:
        outcome(said)
    assert (raised.value.kind, raised.value.trace) == (Kind.RETRIABLE, "first")
    assert raised.value.told == ["one", "two"]


def test_a_failure_of_the_jvm_has_its_kind_and_its_text() -> None:
    with pytest.raises(JobFailed) as raised:
        outcome(of_java("fenced", "ProducerFencedException: süß"))
    assert (raised.value.kind, raised.value.trace) == (
        Kind.FENCED,
        "ProducerFencedException: süß",
    )
