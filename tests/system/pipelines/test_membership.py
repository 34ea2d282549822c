"""One copy of an application at a time: who is named, who waits, who is fenced. No Spark here."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition

from ottla.errors import OttlaError
from ottla.pipelines.api.app import App
from ottla.pipelines.api.definitions import Application
from ottla.pipelines.lifecycle.brokers import create
from ottla.pipelines.lifecycle.membership import INSTANCE, Copy, Membership, _consumer
from ottla.pipelines.planning.topics import NewTopic

SOURCE = Path(__file__).parents[3] / "src"
HOLDER = """
import sys, threading
from ottla.pipelines.api.app import App
from ottla.pipelines.lifecycle.membership import Membership
app = App("{name}", bootstrap="{bootstrap}")
member = Membership(app.definition(), ["{name}-in"])
member.join()
assert member.wait_until_held(threading.Event())
print("held", flush=True)
while member.lost is None and member.successor is None:
    threading.Event().wait(0.1)
print(member.lost or f"handed over to {{member.successor}}", flush=True)
"""


@pytest.fixture
def application(bootstrap: str) -> Application:
    app = App(f"one-{uuid.uuid4().hex[:6]}", bootstrap=bootstrap).definition()
    create(app, [NewTopic(f"{app.name}-in", 2)])
    return app


@contextlib.contextmanager
def holder(application: Application) -> "Iterator[subprocess.Popen[str]]":
    """Another process that holds the application's place."""
    code = HOLDER.format(name=application.name, bootstrap=application.bootstrap)
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(SOURCE)},
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
    finally:
        process.kill()
        process.wait()


def membership(application: Application) -> Membership:
    return Membership(application, [f"{application.name}-in"], lambda sentence: None)


def held(member: Membership) -> bool:
    member.join()
    return member.wait_until_held(threading.Event())


def test_a_second_copy_is_told_who_runs_the_application(application: Application) -> None:
    with holder(application) as first, contextlib.closing(membership(application)) as second:
        with pytest.raises(OttlaError, match="runs already: process") as caught:
            second.claim(threading.Event())
        assert f"process {first.pid} on " in str(caught.value)
        assert "since" in str(caught.value)
        assert "--standby" in str(caught.value)


def test_a_copy_that_was_killed_on_this_machine_is_replaced_at_once(
    application: Application,
) -> None:
    with holder(application) as first, contextlib.closing(membership(application)) as second:
        first.kill()
        first.wait()
        assert second.claim(threading.Event())
        assert held(second)
        third = membership(application)
        third.own = Copy("another-host", 1, 1)
        with pytest.raises(OttlaError, match=f"runs already: process {os.getpid()} on "):
            third.claim(threading.Event())  # not the dead one is named, and nobody is fenced


def test_a_standby_waits_for_the_end_of_the_first(application: Application) -> None:
    stopping = threading.Event()
    with holder(application) as first, contextlib.closing(membership(application)) as second:
        claimed: list[bool] = []
        waiting = threading.Thread(
            target=lambda: claimed.append(second.claim(stopping, standby=True))
        )
        waiting.start()
        waiting.join(1.0)
        assert waiting.is_alive()
        first.kill()
        first.wait()
        waiting.join(30)
        assert claimed == [True]
        assert held(second)


def test_a_copy_that_slept_through_its_session_is_fenced_and_stays_out(
    application: Application,
) -> None:
    with holder(application) as first, contextlib.closing(membership(application)) as second:
        first.send_signal(signal.SIGSTOP)
        assert second.claim(threading.Event(), standby=True)  # once the first's session is over
        assert held(second)
        first.send_signal(signal.SIGCONT)
        assert first.stdout is not None
        said = first.stdout.readline()
        assert "another copy of" in said
        assert f"process {os.getpid()} on " in said
        place = TopicPartition(f"{application.name}-in", 0, 5)
        second.consumer.commit(offsets=[place], asynchronous=False)
        assert second.lost is None


def test_a_copy_that_only_its_own_lost_answer_has_fenced_joins_again(
    application: Application,
) -> None:
    topic = f"{application.name}-in"
    with contextlib.closing(membership(application)) as copy:
        assert held(copy)
        fenced = copy.consumer
        unheard = _consumer(application, copy.group, copy.own, INSTANCE)  # what the broker answered
        with contextlib.closing(unheard):
            unheard.subscribe([topic])
            while copy.consumer is fenced:
                unheard.poll(0.1)
        while not copy.consumer.assignment():
            assert copy.lost is None
            threading.Event().wait(0.1)
        copy.consumer.commit(offsets=[TopicPartition(topic, 0, 5)], asynchronous=False)
        assert copy.lost is None


def test_who_is_asked_to_hand_over_hears_of_it(application: Application) -> None:
    with holder(application) as first, contextlib.closing(membership(application)) as second:
        assert second.take_over(threading.Event())
        assert first.wait(30) == 0
        assert first.stdout is not None
        assert f"handed over to process {os.getpid()} on " in first.stdout.readline()
        assert held(second)


def test_two_runs_in_one_process_know_of_each_other(application: Application) -> None:
    with contextlib.closing(membership(application)) as first:
        assert held(first)
        again = membership(application)
        again.own = Copy(first.own.host, first.own.process, first.own.since_s + 1)
        with pytest.raises(OttlaError, match="runs already"):
            again.claim(threading.Event())
    assert again.claim(threading.Event())
