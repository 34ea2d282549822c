"""A member that speaks the consumer protocol."""

from typing import Any

from ottla.errors import KafkaError
from ottla.groups.consumer.heartbeats import heartbeat
from ottla.groups.outcome import Caller
from ottla.simulation.groups.members import (
    GONE,
    GROUP,
    HEARTBEAT_S,
    REBALANCE_MS,
    TOPIC,
    SimulatedMember,
)
from ottla.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    RequestTopicPartitions,
)


class ConsumerMember(SimulatedMember):
    """The consumer protocol: gives up when told, reports what it owns."""

    def first_id(self) -> str:
        return f"m{self.number}.{self.incarnations}"

    def act(self) -> None:
        joins = self.epoch == 0
        owned = [
            RequestTopicPartitions(topic_id=self.world.topic_id, partitions=sorted(self.owned))
        ]
        request = ConsumerGroupHeartbeatRequest(
            group_id=GROUP,
            member_id=self.id,
            member_epoch=self.epoch,
            rebalance_timeout_ms=REBALANCE_MS,
            subscribed_topic_names=[TOPIC],
            topic_partitions=owned if self.owned and not joins else [],
        )
        caller = Caller(f"c{self.number}", "/sim", 1)
        self.ask(lambda groups, now, _: heartbeat(groups, now, request, caller), self._answered)

    def _answered(self, reply: Any) -> None:
        if isinstance(reply, KafkaError):
            if reply.code in GONE:
                self.forget()
            self._plan(0.1 + self.world.rng.random() * 0.4, self.act)
            return
        self.epoch = reply.member_epoch
        if reply.assignment is None:
            self._plan(HEARTBEAT_S, self.act)
            return
        given = {p for place in reply.assignment.topic_partitions for p in place.partitions}
        kept = self.owned & given
        gave_up = kept != self.owned
        self.own(kept)  # first it gives up, then it begins with what is new
        self.own(given)
        self._plan(0.01 if gave_up else HEARTBEAT_S, self.act)
