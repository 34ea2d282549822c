"""Stages rebuilt from history beside the version that runs, and the switch to them.

A rebuilt stage has a checkpoint of its own and, while it is being rebuilt, a topic of its own, so
until the switch nothing that runs is touched. The switch is one write: the manifest that names the
new checkpoints. What it names as `switching` is then brought into the public topics: of a table the
difference, in one transaction, computed from what the topic holds, so that doing it twice does no
harm.
"""

import contextlib
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ottla.errors import OttlaError
from ottla.pipelines.changing import Change
from ottla.pipelines.definitions import Application
from ottla.pipelines.manifest import StageRecord, Verdict

TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class Row:
    partition: int
    value: bytes | None
    headers: tuple[tuple[str, Any], ...]
    timestamp_ms: int


def rebuilding_topic(record: StageRecord) -> str:
    """Where a stage writes while it is rebuilt."""
    return record.topic if record.internal else f"{record.topic}-rebuild-{record.version}"


def rebuilding_names(change: Change) -> dict[str, str]:
    """The topics of the stages that are rebuilt, until the switch."""
    records = change.manifest.stages
    return {
        stage.sink.topic: rebuilding_topic(records[stage.name])
        for stage in change.plan.stages
        if stage.name in {verdict.stage for verdict in change.rebuilds}
    }


def check(change: Change, generation: int) -> None:
    """Refuse what cannot be rebuilt in place, before anything begins."""
    if generation > 1:
        raise OttlaError("A replay is its own upgrade: run it with --replay once more.")
    for verdict in change.rebuilds:
        if _is_public_stream(verdict):
            raise OttlaError(
                f"{verdict.stage} writes a stream, whose past cannot be taken back: "
                f"{', '.join(verdict.changes)}. Give it another topic, which begins with the "
                "whole history, or write everything anew beside what is there with --replay."
            )


def _is_public_stream(verdict: Verdict) -> bool:
    record = verdict.new
    return record is not None and not record.internal and not record.table


def bring_over(application: Application, rebuilt: str, topic: str, partitions: int) -> int:
    """Make a table's topic say what the rebuilt one says; the number of rows that differed."""
    from confluent_kafka import Producer

    new = dict(latest(application, rebuilt))
    old = dict(latest(application, topic))
    changed: dict[bytes | None, Row] = {
        key: row for key, row in new.items() if key not in old or old[key].value != row.value
    }
    gone = {
        key: Row(row.partition, None, (), row.timestamp_ms)
        for key, row in old.items()
        if key not in new
    }
    if not (changed or gone):
        return 0
    producer = Producer(
        {
            "bootstrap.servers": application.bootstrap,
            "transactional.id": f"{application.name}-switch-{topic}",
            "log_level": 2,
            **application.client,
        }
    )
    producer.init_transactions(TIMEOUT_S)
    producer.begin_transaction()
    for key, row in (changed | gone).items():
        while True:
            try:
                producer.produce(
                    topic, row.value, key, partition=row.partition % partitions,
                    timestamp=row.timestamp_ms, headers=list(row.headers),
                )  # fmt: skip
                break
            except BufferError:
                producer.poll(0.1)
    producer.commit_transaction(TIMEOUT_S)
    return len(changed) + len(gone)


def latest(application: Application, topic: str) -> Iterator[tuple[bytes | None, Row]]:
    """The last record of every key, of committed records; deleted keys are absent."""
    from confluent_kafka import Consumer, KafkaError, TopicPartition

    consumer = Consumer(
        {
            "bootstrap.servers": application.bootstrap,
            "group.id": f"{application.name}-{uuid.uuid4().hex}",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "log_level": 2,
            **application.client,
        }
    )
    with contextlib.closing(consumer):
        found = consumer.list_topics(topic, timeout=TIMEOUT_S).topics[topic].partitions
        consumer.assign([TopicPartition(topic, partition, 0) for partition in found])
        rows: dict[bytes | None, Row] = {}
        left = set(found)
        while left:
            message = consumer.poll(TIMEOUT_S)
            if message is None:
                raise OttlaError(f"The broker stopped answering while {topic} was read.")
            if (error := message.error()) is not None:
                if error.code() != KafkaError._PARTITION_EOF:
                    raise OttlaError(f"{topic} cannot be read: {error}")
                left.discard(message.partition())
                continue
            key: Any = message.key()
            if message.value() is None:
                rows.pop(key, None)
            else:
                rows[key] = _row(message)
    yield from rows.items()


def _row(message: Any) -> Row:
    return Row(
        message.partition(),
        message.value(),
        tuple(message.headers() or ()),
        message.timestamp()[1],
    )


def delete(application: Application, topics: Mapping[str, str] | list[str]) -> None:
    """Delete topics that are the application's own; one that is gone already is as good."""
    from confluent_kafka import KafkaException

    from ottla.pipelines.topics import connect

    client = connect(application)
    for done in client.delete_topics(list(topics), operation_timeout=10).values():
        with contextlib.suppress(KafkaException):
            done.result(TIMEOUT_S)
