"""Stages rebuilt from history beside the version that runs, and the switch to them.

A rebuilt stage has a checkpoint of its own and, while it is being rebuilt, a topic of its own, so
until the switch nothing that runs is touched. The switch is one write: the manifest that names the
new checkpoints. What it names as `switching` is then brought into the public topics: of a table the
difference, in one transaction, computed from what the topic holds, so that doing it twice does no
harm. A stream's past cannot be taken back: there the rebuilt state ends with what the old version
has read, to the record, and the new version goes on after it in the same topic.
"""

import contextlib
import json
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ottla.errors import OttlaError
from ottla.pipelines.api.definitions import Application, Merge, Node, Source
from ottla.pipelines.lifecycle.changing import Change
from ottla.pipelines.lifecycle.state import State
from ottla.pipelines.planning.manifest import StageRecord
from ottla.pipelines.planning.plan import renamed

TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class Row:
    partition: int
    value: bytes | None
    headers: tuple[tuple[str, Any], ...]
    timestamp_ms: int


def rebuilding_topic(record: StageRecord, generation: int) -> str:
    """Where a stage writes while it is rebuilt."""
    topic = renamed(record.topic, generation)
    return topic if record.internal else f"{topic}-rebuild-{record.version}"


def rebuilding_names(change: Change, generation: int) -> dict[str, str]:
    """The topics of the stages that are rebuilt, until the switch."""
    records = change.manifest.stages
    return {
        stage.sink.topic: rebuilding_topic(records[stage.name], generation)
        for stage in change.plan.stages
        if stage.name in {verdict.stage for verdict in change.rebuilds}
    }


def check(change: Change) -> None:
    """Refuse what cannot be rebuilt in place, before anything begins."""
    for verdict in change.rebuilds:
        old, new = verdict.old, verdict.new
        if old is None or new is None or not is_public_stream(new):
            continue
        if (why := _untold(change, old, new)) is not None:
            raise OttlaError(
                f"{verdict.stage} writes a stream, whose past cannot be taken back, and {why}, so "
                f"where the new version would go on cannot be told ({', '.join(verdict.changes)}). "
                "Give it another topic, which begins with the whole history, or write everything "
                "anew beside what is there with --replay."
            )


def _untold(change: Change, old: StageRecord, new: StageRecord) -> str | None:
    """Why it cannot be told up to which record of its topics a stage's past reaches."""
    between = sorted(t for t in new.reads if t in change.manifest.stages
                     and change.manifest.stages[t].internal)  # fmt: skip
    if old.table:
        return "its topic was a table's"
    if between:
        return f"it reads {', '.join(between)}, which is written anew with other offsets"
    if old.reads != new.reads:
        [stage] = [stage for stage in change.plan.stages if stage.name == new.name]
        topics = [source.topic for source in read_order(stage.node)]
        if twice := sorted({topic for topic in topics if topics.count(topic) > 1}):
            return f"it reads {', '.join(twice)} more than once"
    return None


def read_order(node: Node) -> list[Source]:
    """What Spark reads for a stage, in the order in which its checkpoint tells it."""
    if isinstance(node, Source):
        return [] if node.is_global else [node]
    found: list[Source] = []
    for before in node.inputs:
        # Each part of a merge reads its topics by itself, other operators share what they read.
        found += [s for s in read_order(before) if isinstance(node, Merge) or s not in found]
    return found


def is_public_stream(record: StageRecord) -> bool:
    """What such a stage has said cannot be taken back: the new version goes on after it."""
    return not record.internal and not record.table


def plan_next(
    state: State,
    old: str,
    new: str,
    first: frozenset[str],
    begins: Callable[[str], str],
    as_read_now: Callable[[tuple[str, ...]], tuple[str, ...]] = lambda ends: ends,
) -> bool:
    """Let the rebuilt checkpoint's next batch end where the old one stands.

    So that all that the old version has read goes into the state, and what comes later into the
    topic. `first` are tables, which are read before the streams that meet them; `begins` is where
    a topic begins; `as_read_now` turns the ends of what the old version read into those of what
    the new one reads. False when there is nothing left to read.
    """
    reached, mine = state.last_batch(old), state.last_batch(new)
    if reached is None:
        return False
    ends = as_read_now(reached.ends)
    if mine is None and first:
        ends = tuple(end if first & set(json.loads(end)) else begins(end) for end in ends)
    if mine is not None and mine.ends == ends:
        return False
    if mine is None or not mine.open:
        state.plan_batch(new, mine, ends, reached.conf if mine is None else mine.conf)
    return True


def bring_over(application: Application, rebuilt: str, topic: str, partitions: int) -> int:
    """Make a table's topic say what the rebuilt one says; the number of rows that differed."""

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
    producer = application.connection.producer(
        {"transactional.id": f"{application.name}-switch-{topic}"}
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
    from confluent_kafka import KafkaError, TopicPartition

    consumer = application.connection.consumer(
        {
            "group.id": f"{application.name}-{uuid.uuid4().hex}",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
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


def delete(application: Application, topics: list[str]) -> None:
    """Delete topics that are the application's own; one that is gone already is as good."""
    from confluent_kafka import KafkaException

    from ottla.pipelines.lifecycle.brokers import connect

    if not topics:
        return
    client = connect(application)
    for done in client.delete_topics(topics, operation_timeout=10).values():
        with contextlib.suppress(KafkaException):
            done.result(TIMEOUT_S)
