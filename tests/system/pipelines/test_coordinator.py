"""Asking who is in a group while the broker dies or stands still: the process that asks lives on.

librdkafka's admin client aborts it when the answer comes after the end of the question, which no
`except` catches: so whoever asks here has a process of its own."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.brokers import BrokerProcess
from support.brokers import Kind as BrokerKind
from support.homes import Home

SOURCE = Path(__file__).parents[3] / "src"
ASKING = """
from ottla.client.connection import Connection
from ottla.pipelines.lifecycle import coordinator
coordinator.DESCRIBE_S_MAX = 1.0
while True:
    try:
        found = coordinator.{way}(Connection("{bootstrap}"), "nobody-is-in-it")
        print(f"answered {{found}}", flush=True)
    except coordinator.NobodyAnswers:
        print("nobody answers", flush=True)
"""
QUESTIONS = 3  # left open, one after another


@pytest.fixture
def own_broker(broker_kind: BrokerKind, tmp_path: Path) -> Iterator[BrokerProcess]:
    broker = BrokerProcess(broker_kind, Home(path=tmp_path / "node"))
    broker.start()
    yield broker
    broker.discard()


def kill_and_start(broker: BrokerProcess, meanwhile: Callable[[], None]) -> None:
    broker.kill9()
    meanwhile()
    broker.start()


def stop_and_go_on(broker: BrokerProcess, meanwhile: Callable[[], None]) -> None:
    os.kill(broker.pid, signal.SIGSTOP)
    meanwhile()
    os.kill(broker.pid, signal.SIGCONT)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("strike", [kill_and_start, stop_and_go_on])
@pytest.mark.parametrize(
    "way", ["members", pytest.param("_members_by_librdkafka", marks=pytest.mark.long)]
)  # as a rule, and where a property of the connection is librdkafka's alone
def test_who_asks_for_the_members_outlives_a_broker_that_is_away(
    own_broker: BrokerProcess,
    way: str,
    strike: Callable[[BrokerProcess, Callable[[], None]], None],
) -> None:
    code = ASKING.format(way=way, bootstrap=own_broker.bootstrap)
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(SOURCE)},
    ) as asking:
        assert asking.stdout is not None
        lines = asking.stdout

        def heard(sentence: str, times: int = QUESTIONS) -> None:
            while times:
                line = lines.readline()
                assert line, f"it ended: {asking.wait()}"
                times -= line == f"{sentence}\n"

        try:
            heard("answered []")
            strike(own_broker, lambda: heard("nobody answers"))
            heard("answered []")
        finally:
            asking.kill()
