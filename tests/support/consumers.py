"""Members of the consumer protocol, as a client library would play them."""

from typing import Any

from ottla.errors import ErrorCode, KafkaError
from ottla.groups.consumer.heartbeats import heartbeat
from ottla.groups.outcome import Caller
from ottla.ids import Uuid
from ottla.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    RequestTopicPartitions,
)
from support.group_driver import Driver

Places = set[tuple[str, int]]


class Consumer:
    """Gives up at once what it is told to, unless `stubborn`."""

    def __init__(
        self,
        driver: Driver,
        member_id: str,
        *topics: str,
        regex: str | None = None,
        instance: str | None = None,
        assignor: str | None = None,
    ) -> None:
        self.driver = driver
        self.id = member_id
        self.topics: list[str] | None = list(topics) if topics or regex is None else None
        self.regex = regex
        self.instance = instance
        self.assignor = assignor
        self.epoch = 0
        self.owned: dict[Uuid, set[int]] = {}
        self.stubborn = False
        self.group_id = "g"

    def send(self, epoch: int, **fields: Any) -> ConsumerGroupHeartbeatResponse | KafkaError:
        request = ConsumerGroupHeartbeatRequest(
            group_id=self.group_id,
            member_id=self.id,
            member_epoch=epoch,
            instance_id=self.instance,
            **fields,
        )
        caller = Caller("c", "/127.0.0.1", 1)
        driver = self.driver
        reply: ConsumerGroupHeartbeatResponse | KafkaError = driver.ask(
            lambda _: heartbeat(driver.groups, driver.now, request, caller)
        ).reply
        return reply

    def join(self) -> "Consumer":
        self.owned = {}
        self._take(
            self.send(
                0,
                rebalance_timeout_ms=30_000,
                subscribed_topic_names=self.topics,
                subscribed_topic_regex=self.regex,
                server_assignor=self.assignor,
                topic_partitions=[],
            )
        )
        return self

    def beat(self) -> ErrorCode:
        """One heartbeat, and a second one to report what was given up because of the first."""
        reply = self.send(self.epoch, topic_partitions=self._owned())
        if isinstance(reply, KafkaError):
            return reply.code
        before = self._owned()
        self._take(reply)
        if self._owned() != before:
            reply = self.send(self.epoch, topic_partitions=self._owned())
            assert not isinstance(reply, KafkaError), reply
            self._take(reply)
        return ErrorCode.NONE

    def leave(self, epoch: int = -1) -> None:
        assert not isinstance(self.send(epoch), KafkaError)

    @property
    def has(self) -> Places:
        names = {topic_id: topic.name for topic_id, topic in self.driver.image.topics_by_id.items()}
        return {(names[topic], index) for topic, parts in self.owned.items() for index in parts}

    def _owned(self) -> list[RequestTopicPartitions]:
        return [
            RequestTopicPartitions(topic_id=topic_id, partitions=sorted(parts))
            for topic_id, parts in sorted(self.owned.items())
            if parts
        ]

    def _take(self, reply: ConsumerGroupHeartbeatResponse | KafkaError) -> None:
        assert not isinstance(reply, KafkaError), reply
        self.epoch = reply.member_epoch
        if reply.assignment is None:
            return
        given = {
            place.topic_id: set(place.partitions) for place in reply.assignment.topic_partitions
        }
        if self.stubborn:
            for topic_id, parts in self.owned.items():
                given.setdefault(topic_id, set()).update(parts)
        self.owned = given


def settle(*consumers: Consumer) -> None:
    """Heartbeats all around until nothing moves."""
    for _ in range(10):
        before = [(consumer.epoch, consumer.has) for consumer in consumers]
        for consumer in consumers:
            assert consumer.beat() is ErrorCode.NONE
        if before == [(consumer.epoch, consumer.has) for consumer in consumers]:
            return
    raise AssertionError("the group does not settle")
