"""Streams groups (KIP-1071): Kafka Streams with `group.protocol=streams`, and Kafka's tools."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from support.brokers import BrokerProcess, Kind
from support.confluent import create_topic, wait_until
from support.homes import Home
from support.toolbox import Toolbox
from support.word_count import (
    APPLICATION,
    LINES_PER_ROUND,
    PARTITIONS,
    SOURCE,
    TARGET,
    Counting,
    Counts,
    compile_into,
    write,
)

pytestmark = [pytest.mark.java, pytest.mark.timeout(400)]

TOOL = "org.apache.kafka.tools.streams.StreamsGroupCommand"
PATIENCE_S = 90  # a killed instance leaves a transaction open for ten seconds


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_into(tmp_path_factory.mktemp("word-count"))


class Application:
    """A broker, and instances that count what is written to it."""

    def __init__(self, kind: Kind, home: Home, classes: Path, folder: Path) -> None:
        self.broker = BrokerProcess(kind, home)
        self.broker.start()
        for topic in (SOURCE, TARGET):
            create_topic(self.broker.bootstrap, topic, PARTITIONS)
        self.counts = Counts(self.broker.bootstrap)
        self.expected: Counter[str] = Counter()
        self.rounds = 0
        self.instances = [
            Counting(classes, self.broker.bootstrap, folder / name, "streams")
            for name in ("one", "two")
        ]

    def write(self) -> None:
        self.rounds += 1
        self.expected += write(self.broker.bootstrap, self.rounds)

    def wait_for(self, count: int) -> None:
        wait_until(lambda: self.counts.total() >= count, seconds=PATIENCE_S)

    def tail(self) -> str:
        logs = [instance.log.read_text()[-3000:] for instance in self.instances]
        return "\n".join([*logs, self.broker.tail()])

    def end(self) -> None:
        for instance in self.instances:
            instance.kill()
        self.broker.discard()


def shown_by_ottla(bootstrap: str, *words: str) -> list[dict[str, object]] | dict[str, object]:
    command = [sys.executable, "-m", "ottla", "group", *words, "--json", "-b", bootstrap]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    read: list[dict[str, object]] | dict[str, object] = json.loads(ran.stdout)
    return read


def active_tasks(bootstrap: str) -> list[list[str]]:
    shown = shown_by_ottla(bootstrap, "describe", APPLICATION)
    assert isinstance(shown, dict)
    return sorted(sorted(member["active"]) for member in shown["members"])  # type: ignore[attr-defined]


def shared_by(count: int, bootstrap: str) -> Callable[[], bool]:
    """Whether so many members have all tasks, each of them some."""

    def shared() -> bool:
        tasks = active_tasks(bootstrap)
        return len(tasks) == count and all(tasks) and sum(map(len, tasks)) == 2 * PARTITIONS

    return shared


def test_two_instances_count_exactly_while_one_and_the_broker_are_killed(
    home: Home, broker_kind: Kind, classes: Path, toolbox: Toolbox, tmp_path: Path
) -> None:
    app = Application(broker_kind, home, classes, tmp_path)
    bootstrap = app.broker.bootstrap
    try:
        app.write()
        app.wait_for(app.expected.total())
        wait_until(shared_by(2, bootstrap), seconds=PATIENCE_S)
        tools_show_the_group(toolbox, bootstrap)
        app.write()
        app.wait_for(app.expected.total() - LINES_PER_ROUND)
        app.instances[0].kill()
        app.wait_for(app.expected.total())
        wait_until(shared_by(1, bootstrap), seconds=PATIENCE_S)
        app.instances[0].start()
        app.write()
        wait_until(shared_by(2, bootstrap), seconds=PATIENCE_S)
        app.broker.kill9()
        app.broker.start()
        app.write()
        app.wait_for(app.expected.total())
        assert app.counts.total() == app.expected.total()
    except AssertionError:
        print(app.tail())
        raise
    finally:
        app.end()
    assert app.counts.told == {
        word: list(range(1, count + 1)) for word, count in app.expected.items()
    }


def tools_show_the_group(toolbox: Toolbox, bootstrap: str) -> None:
    def run(*args: str) -> list[str]:
        return toolbox.run(TOOL, "--bootstrap-server", bootstrap, *args).lines

    assert APPLICATION in run("--list")
    assert any("Stable" in line for line in run("--list", "--state"))
    of_it = ("--describe", "--group", APPLICATION)
    state = run(*of_it, "--state")
    assert "Stable" in state[-1]
    members = [line for line in run(*of_it, "--members") if line.startswith(APPLICATION)]
    assert len(members) == 2
    topics = {line.split()[1] for line in run(*of_it) if line.startswith(APPLICATION)}
    assert SOURCE in topics
    assert any(topic.endswith("-repartition") for topic in topics)
    shown = shown_by_ottla(bootstrap, "list")
    assert isinstance(shown, list)
    assert {"group": APPLICATION, "state": "stable", "type": "streams"} in shown
