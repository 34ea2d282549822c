"""Secrets taken out of texts."""

import queue
import threading
from collections.abc import Callable

import pytest

from ottla.client.connection import Connection
from ottla.connect.connector import ConnectError
from ottla.connect.connectors.elasticsearch.keys import options
from ottla.connect.connectors.jdbc.database import database
from ottla.connect.connectors.jdbc.source_keys import DEFINITIONS as jdbc_keys
from ottla.connect.connectors.object_files.stores import S3Store
from ottla.connect.redaction import Redaction
from ottla.connect.runs.run import RunEvent, RunPlan, TaskState
from ottla.connect.runs.supervised import SupervisedRun

SAID = {
    "connection.url": "jdbc:postgresql://${env:HOST}/${file:/s:db}?x=1",
    "connection.password": "${file:/s:password}",
    "ssl.key.password": "literal",
    "plain": "plain",
}
RESOLVED = {
    "connection.url": "jdbc:postgresql://inner/ledger?x=1",
    "connection.password": "hush-hush",
    "ssl.key.password": "literal",
    "plain": "plain",
}
SIGNED = {"connection.username": "me", "connection.password": "hush-hush"}
JDBC = jdbc_keys.parse(
    {"connection.url": "jdbc:postgresql://h/d", "mode": "bulk", "topic.prefix": "p"}
)
redacted = Redaction(SAID, RESOLVED, ("connection.password", "ssl.key.password"))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("hush-hush is wrong", "${file:/s:password} is wrong"),
        ("no ledger at inner", "no ${file:/s:db} at ${env:HOST}"),
        (RESOLVED["connection.url"], SAID["connection.url"]),
        ("key literal", "key [hidden]"),
        ("plain", "plain"),
    ],
)
def test_a_secret_is_shown_as_what_stood_for_it(text: str, shown: str) -> None:
    assert redacted(text) == shown


def test_a_password_that_is_a_name_as_well_does_not_make_texts_unreadable() -> None:
    config = {"user": "postgres", "password": "postgres", "short": "${env:N}"}
    quiet = Redaction(config, config | {"short": "1"}, ("password",))
    assert quiet("line 1: postgres is away") == "line 1: postgres is away"


class Failing:
    def work(self, stopping: threading.Event, succeeded: Callable[[], None]) -> None:
        raise ConnectError("hush-hush is no topic")

    def interrupt(self) -> None: ...

    def cancel(self) -> None: ...


def test_a_trace_and_the_log_have_no_secret(caplog: pytest.LogCaptureFixture) -> None:
    plan = RunPlan(
        name="r",
        config={"topic": "${env:TOPIC}"},
        resolved={"topic": "hush-hush"},
        tasks=1,
        group_id="g",
        offsets_topic="offsets",
        connection=Connection(),
        worker={},
    )
    events: queue.Queue[RunEvent] = queue.Queue()
    SupervisedRun(plan, events.put, Failing())
    event = events.get(timeout=30)
    assert isinstance(event, TaskState)
    assert event.trace is not None
    assert event.trace.startswith("ConnectError: ${env:TOPIC} is no topic")
    assert "hush-hush" not in event.trace + caplog.text


def test_what_is_made_of_secrets_does_not_show_them() -> None:
    """As in the log, where something is shown as it is."""
    shown = [
        repr(S3Store(bucket="b", secret_key="hush-hush")),
        repr(options({"connection.url": "http://x", **SIGNED})),
        repr(database({**JDBC, "connection.password": "hush-hush"}, "source")),
    ]
    assert not [one for one in shown if "hush-hush" in one]
