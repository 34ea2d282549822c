"""What a connector would write, without a worker, without Spark, and without a trace.

A source is read here, in this process, as a first run would read it; its rows pass transforms and
converters and go nowhere. A sink is given the first records of its topics, and says what it would
make of them. No offset is stored, no group moved, no slot made, nothing written.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from ottla.connect import plugins
from ottla.connect.connector import (
    Config,
    PreviewedSink,
    PreviewedSource,
    Progress,
    Slice,
    SourceConnector,
    Written,
)
from ottla.connect.data import Record
from ottla.connect.java_text import text
from ottla.connect.pipeline import Failure, Reported, Row, SinkChain, SourceChain
from ottla.connect.runs.client_settings import consumer_connection, said
from ottla.connect.runs.run import RunPlan
from ottla.connect.runs.sink_input import SinkInput

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message

FIRST_WITHIN_S = 10.0
MORE_WITHIN_S = 0.3  # after the first rows, others are there or are not waited for


def source_rows(
    config: Config, worker: Mapping[str, str], rows_max: int, report: Reported
) -> Iterator[Row]:
    """The first rows of each slice: of each table, where there are several."""
    connector = plugins.source(config)
    chain = SourceChain(config, worker)
    if isinstance(connector, PreviewedSource):
        for slice in connector.preview():
            yield from islice(chain.rows(_records(slice.read(), []), report), rows_max)
        return
    try:
        connector.task_configs(1)
        connector.start(lambda partition: None)
        for slices in _polled(connector):
            found = 0
            progress: list[Progress] = []
            for slice in slices:
                read = chain.rows(_records(slice.read(), progress), report)
                for row in islice(read, rows_max):
                    yield row
                    found += 1
            if found >= rows_max:
                return
            connector.committed(progress)  # it goes on from there, in its own memory
    finally:
        connector.stop()


def _polled(connector: SourceConnector) -> Iterator[Sequence[Slice]]:
    until = time.monotonic() + FIRST_WITHIN_S
    while (left_s := until - time.monotonic()) > 0:
        if slices := connector.poll(min(left_s, 1.0)):
            yield slices
            until = time.monotonic() + MORE_WITHIN_S


def _records(read: Iterator[Record | Progress], progress: list[Progress]) -> Iterator[Record]:
    for one in read:
        if isinstance(one, Record):
            yield one
        else:
            progress.append(one)


def sink_writes(plan: RunPlan, rows_max: int, report: Reported) -> Iterator[Written]:
    """What becomes of the first records of the topics, wherever the group stands."""
    connector = plugins.sink(plan.resolved)
    records = _converted(plan, rows_max, report)
    if isinstance(connector, PreviewedSink):
        yield from connector.preview(records)
        return
    for one in records:
        topic, partition, offset = one.original or (one.topic, one.partition, one.offset)
        yield Written(
            f"{topic}-{partition}@{offset}",
            None if one.key is None else text(one.key, one.key_schema),
            None if one.value is None else text(one.value, one.value_schema),
        )


def _converted(plan: RunPlan, rows_max: int, report: Reported) -> Iterator[Record]:
    chain = SinkChain(plan.resolved, plan.worker)
    for message in islice(_consumed(plan), rows_max):
        made = chain.record(
            message.topic() or "",
            message.partition() or 0,
            message.offset() or 0,
            message.timestamp()[1],
            message.key(),
            message.value(),
            message.headers() or (),  # type: ignore[arg-type]
        )
        if isinstance(made, Failure):
            report(made)
            chain.tolerate(made)
        elif made is not None:
            yield made


def _consumed(plan: RunPlan) -> "Iterator[Message]":
    """From the beginning of each partition to its end, by a consumer that commits nothing."""
    from confluent_kafka import OFFSET_BEGINNING, TopicPartition

    watched = SinkInput(plan)
    try:
        partitions = watched.partitions()
        bounds = watched.bounds(partitions)
    finally:
        watched.close()
    left = {one for one, (low, end) in bounds.items() if end > low}
    consumer = consumer_connection(plan).consumer(
        fixed={
            "group.id": f"connect-{plan.name}",  # librdkafka asks for one
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": said(plan, "consumer").get("isolation.level", "read_uncommitted"),
        }
    )
    try:
        consumer.assign([TopicPartition(*one, OFFSET_BEGINNING) for one in sorted(left)])
        yield from _to_the_ends(consumer, len(left))
    finally:
        consumer.close()


def _to_the_ends(consumer: "Consumer", partitions: int) -> "Iterator[Message]":
    from confluent_kafka import KafkaError, KafkaException

    until = time.monotonic() + FIRST_WITHIN_S
    while partitions and time.monotonic() < until:
        message = consumer.poll(0.5)
        if message is None:
            continue
        error = message.error()
        if error is None:
            yield message
        elif error.code() == KafkaError._PARTITION_EOF:
            partitions -= 1
        else:
            raise KafkaException(error)
