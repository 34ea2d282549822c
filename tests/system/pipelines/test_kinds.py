"""Seven kinds of application, fed with drawn records while driver, JVM, broker, workers die: what
they write is what plain Python makes of the same records, digit by digit."""

import contextlib
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest
from confluent_kafka import KafkaException, TopicPartition

from ottla.pipelines.api.app import App
from ottla.pipelines.lifecycle.brokers import create
from ottla.pipelines.planning.topics import NewTopic
from support.brokers import Kind as BrokerKind
from system.pipelines.kinds import days, frames, letters, meeting, nested, rankings, tables
from system.pipelines.kinds.script import Expected, Kind, Record, Row, Stage, read
from system.pipelines.struck import Struck, feeding, reading

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]
KINDS = [each.KIND for each in (meeting, tables, rankings, nested, frames, letters, days)]
PARTITIONS = 2
WITHIN_S = 240.0


class Written:
    """What is committed in the topics that an application writes."""

    def __init__(self, bootstrap: str) -> None:
        self._consumer = reading(bootstrap)

    def as_(
        self, shape: Counter[Row] | dict[str, Row], topic: str
    ) -> Counter[Row] | dict[str, Row]:
        """Every row, or the latest of each key."""
        records = self._read(topic)
        if isinstance(shape, Counter):
            return Counter(text(topic, key, value) for key, value in records)
        latest: dict[str, Row] = {}
        for key, value in records:
            assert key is not None
            if value is None:
                latest.pop(key.decode(), None)
            else:
                latest[key.decode()] = read(key, value)
        return latest

    def close(self) -> None:
        self._consumer.close()

    def _read(self, topic: str) -> list[tuple[bytes | None, bytes | None]]:
        known = self._consumer.list_topics(topic, timeout=10).topics[topic].partitions
        self._consumer.assign([TopicPartition(topic, partition, 0) for partition in known])
        left, found = len(known), []
        while left:
            message = self._consumer.poll(10)
            if message is None:
                raise TimeoutError(topic)
            if message.error():
                left -= 1
                continue
            found.append((message.key(), message.value()))
        return found


def text(topic: str, key: bytes | None, value: bytes | None) -> Row:
    if topic.endswith("dead-letters"):  # as they came, whatever they are
        return f"{(key or b'').decode()} {(value or b'').decode()}"
    assert value is not None
    return read(key, value)


class Feeder:
    def __init__(self, bootstrap: str) -> None:
        self._producer = feeding(bootstrap)

    def send(self, records: Sequence[Record]) -> None:
        for record in records:
            self._producer.produce(
                record.topic,
                record.value,
                key=record.key,
                timestamp=record.at_ms,
                headers=list(record.headers),
            )
        assert self._producer.flush(60) == 0


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("seed", [1])
def test_results_are_those_of_plain_python(
    broker_kind: BrokerKind, tmp_path: Path, kind: Kind, seed: int
) -> None:
    application = Struck(broker_kind, tmp_path, kind.program)
    with contextlib.ExitStack() as closing:
        closing.callback(application.close)
        forever = {"retention.ms": "-1"}
        new = [NewTopic(topic, PARTITIONS, forever) for topic in kind.inputs]
        create(App("kind", bootstrap=application.bootstrap).definition(), new)
        feeder, written = Feeder(application.bootstrap), Written(application.bootstrap)
        closing.callback(written.close)
        application.start()
        sent: list[Record] = []
        for stage in kind.stages(Random(seed)):
            if stage.program is not None:
                application.change(stage.program)
            play(stage, application, feeder)
            sent += stage.records
            if stage.settle:
                settle(application, written, kind.expected(sent))
        application.stop()
        settle(application, written, kind.expected(sent))


def play(stage: Stage, application: Struck, feeder: Feeder) -> None:
    half = len(stage.records) // 2
    feeder.send(stage.records[:half])
    if stage.victim is not None:
        application.await_work()
        application.strike(stage.victim)
    feeder.send(stage.records[half:])


def settle(application: Struck, written: Written, expected: Expected) -> None:
    """Until what is written is what was expected."""
    deadline = time.monotonic() + WITHIN_S
    for topic, rows in expected.items():
        while True:
            found: Counter[Row] | dict[str, Row] | str
            try:
                found = written.as_(rows, topic)
            except (KafkaException, KeyError, TimeoutError) as error:
                found = repr(error)
            if found == rows:
                break
            if time.monotonic() > deadline:
                pytest.fail(f"{topic}: {difference(rows, found)}\n{application.told}")
            time.sleep(1)


def difference(
    expected: Counter[Row] | dict[str, Row], found: Counter[Row] | dict[str, Row] | str
) -> str:
    if isinstance(found, str):
        return found
    lacking = sorted(set(expected.items()) - set(found.items()))[:3]
    besides = sorted(set(found.items()) - set(expected.items()))[:3]
    return f"{len(expected)} rows expected, {len(found)} found: without {lacking}, but {besides}"
