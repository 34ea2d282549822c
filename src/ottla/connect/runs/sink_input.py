"""What a sink reads, seen from Kafka: partitions, their ends, the group's offsets, and news.

One consumer of librdkafka, which belongs to no group: it commits offsets as `connect-NAME`, and
waits for news with a fetch at the end of each partition, which brokers answer when there is any.
Records themselves are read in Spark's tasks.
"""

import re
import time
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ottla.connect.connector import ConnectError, TopicPartition
from ottla.connect.runs.client_settings import consumer_connection, said
from ottla.connect.runs.failures import JobFailed, Kind
from ottla.connect.runs.run import RunPlan

if TYPE_CHECKING:
    from confluent_kafka import KafkaException

ASK_WITHIN_S = 20.0
LOOK_FOR_TOPICS_S = 5.0
COMMIT_AGAIN_S = 3600.0  # well before brokers forget the offsets of a group without members
_WATCHING: Mapping[str, Any] = {
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "auto.offset.reset": "error",  # an offset that is gone is news, too
    # What arrives here is only looked at: a record at a time is enough.
    "queued.min.messages": 1,
    "queued.max.messages.kbytes": 1,
    "fetch.message.max.bytes": 1,
    "fetch.wait.max.ms": 5000,
    "socket.timeout.ms": 60_000,
}


class SinkInput:
    def __init__(self, plan: RunPlan) -> None:
        connection = consumer_connection(plan)
        settings = said(plan, "consumer")
        self.group = settings.get("group.id", f"connect-{plan.name}")
        self.committed_only = settings.get("isolation.level") == "read_committed"
        self._consumer = connection.consumer(fixed={**_WATCHING, "group.id": self.group})
        self._admin = connection.admin()
        self._topics = [
            one.strip() for one in plan.resolved.get("topics", "").split(",") if one.strip()
        ]
        self._pattern = plan.resolved.get("topics.regex", "").strip()
        self._watched: frozenset[tuple[TopicPartition, int]] = frozenset()
        self._committed: dict[TopicPartition, int] = {}
        self._committed_at = time.monotonic()

    def close(self) -> None:
        self._consumer.close()

    def partitions(self) -> set[TopicPartition]:
        """Of all topics that are there and wanted."""
        try:
            # By the client that asks for ends next: it waits for seconds where it knows no leaders.
            found = self._admin.list_topics(timeout=ASK_WITHIN_S).topics
        except _kafka_exception() as error:
            raise failure_of(error) from error
        wanted = self._wanted(found)
        return {
            TopicPartition(topic, partition)
            for topic in wanted
            if found[topic].error is None
            for partition in found[topic].partitions
        }

    def _wanted(self, found: Iterable[str]) -> list[str]:
        if self._pattern:
            internal = ("__consumer_offsets", "__transaction_state", "__share_group_state")
            return [
                one for one in found if one not in internal and re.fullmatch(self._pattern, one)
            ]
        return [one for one in found if one in self._topics]

    def group_offsets(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        from confluent_kafka import TopicPartition as Asked

        if not partitions:
            return {}
        try:
            told = self._consumer.committed([Asked(*one) for one in partitions], ASK_WITHIN_S)
        except _kafka_exception() as error:
            raise failure_of(error) from error
        return {
            TopicPartition(one.topic, one.partition): one.offset for one in told if one.offset >= 0
        }

    def bounds(
        self, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, tuple[int, int]]:
        """First offset, and the one behind the last that can be read."""
        from confluent_kafka.admin import OffsetSpec

        lows = self._offsets(partitions, OffsetSpec.earliest())
        ends = self._offsets(partitions, OffsetSpec.latest())
        return {one: (lows[one], ends[one]) for one in partitions}

    def _offsets(
        self, partitions: Collection[TopicPartition], spec: Any
    ) -> dict[TopicPartition, int]:
        from confluent_kafka import IsolationLevel
        from confluent_kafka import TopicPartition as Asked

        if not partitions:
            return {}
        isolation = (
            IsolationLevel.READ_COMMITTED
            if self.committed_only
            else IsolationLevel.READ_UNCOMMITTED
        )
        try:
            asked = self._admin.list_offsets(
                {Asked(*one): spec for one in partitions},
                isolation_level=isolation,
                request_timeout=ASK_WITHIN_S,
            )
            return {
                TopicPartition(one.topic, one.partition): told.result().offset
                for one, told in asked.items()
            }
        except _kafka_exception() as error:
            raise failure_of(error) from error

    def wait(self, ends: Mapping[TopicPartition, int], timeout_s: float) -> bool:
        """Whether there is a record behind one of these; waits that long for it."""
        from confluent_kafka import TopicPartition as Asked

        watched = frozenset(ends.items())
        if watched != self._watched:
            self._consumer.assign([Asked(*one, end) for one, end in ends.items()])
            self._watched = watched
        message = self._consumer.poll(timeout_s)
        if message is None:
            return False
        self._watched = frozenset()  # what was read here is to be asked for again
        return True  # an error is news, too: it is found out where records are read

    def commit(self, positions: Mapping[TopicPartition, int]) -> None:
        from confluent_kafka import TopicPartition as Place

        moved = {one: to for one, to in positions.items() if self._committed.get(one) != to}
        if moved:
            try:
                self._consumer.commit(
                    offsets=[Place(*one, to) for one, to in moved.items()], asynchronous=False
                )
            except _kafka_exception() as error:
                raise failure_of(error) from error
            self._committed |= moved
            self._committed_at = time.monotonic()

    def commit_again(self) -> None:
        """What has not moved for long, so that brokers keep it."""
        if self._committed and time.monotonic() - self._committed_at > COMMIT_AGAIN_S:
            before, self._committed = self._committed, {}
            self.commit(before)


def _kafka_exception() -> "type[KafkaException]":
    from confluent_kafka import KafkaException

    return KafkaException


def failure_of(error: "KafkaException") -> Exception:
    told = error.args[0]
    if told.name() in _OF_MEMBERS:
        return JobFailed(Kind.UNREACHABLE, f"{_OCCUPIED} {told.str()}")
    if told.retriable() or told.name().startswith("_") or told.name() in _PASSING:
        return JobFailed(Kind.UNREACHABLE, f"Kafka does not answer: {told.str()}")
    return ConnectError(f"Kafka refuses: {told.str()}")


# A task of Connect's that was killed is a member until its session is over.
_OF_MEMBERS = ("UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION", "STALE_MEMBER_EPOCH")
_OCCUPIED = "The sink's group has members, and is waited for until they are gone:"

# Librdkafka says of none of them that they pass; coordinators move, and are loading at first.
_PASSING = (
    "UNKNOWN_TOPIC_OR_PART",
    "LEADER_NOT_AVAILABLE",
    "NOT_LEADER_FOR_PARTITION",
    "NOT_COORDINATOR",
    "COORDINATOR_NOT_AVAILABLE",
    "COORDINATOR_LOAD_IN_PROGRESS",
    "REQUEST_TIMED_OUT",
    "UNSTABLE_OFFSET_COMMIT",
)
