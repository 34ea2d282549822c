"""A member of a streams group, as Kafka Streams plays it: one subtopology over the topic."""

from typing import Any

from ottla.errors import KafkaError
from ottla.groups.outcome import Caller
from ottla.groups.streams.heartbeats import StreamsGroupHeartbeatResult, heartbeat
from ottla.simulation.groups.members import (
    GONE,
    GROUP,
    HEARTBEAT_S,
    REBALANCE_MS,
    TOPIC,
    SimulatedMember,
)
from ottla.wire.messages.streams_group_heartbeat import (
    RequestTaskIds,
    StreamsGroupHeartbeatRequest,
    Subtopology,
    Topology,
)

SUBTOPOLOGY = "0"


class StreamsMember(SimulatedMember):
    """It owns the partitions whose tasks it has; two members share a process now and then."""

    def first_id(self) -> str:
        return f"s{self.number}.{self.incarnations}"

    def act(self) -> None:
        request = StreamsGroupHeartbeatRequest(
            group_id=GROUP,
            member_id=self.id,
            member_epoch=self.epoch,
            active_tasks=[RequestTaskIds(subtopology_id=SUBTOPOLOGY, partitions=sorted(self.owned))]
            if self.owned and self.epoch
            else [],
            standby_tasks=[],
            warmup_tasks=[],
        )
        if not self.epoch:
            request.rebalance_timeout_ms = REBALANCE_MS
            request.process_id = f"p{self.number % 3}"
            request.topology = Topology(
                subtopologies=[Subtopology(subtopology_id=SUBTOPOLOGY, source_topics=[TOPIC])]
            )
        caller = Caller(f"c{self.number}", "/sim", 0)
        self.ask(lambda groups, now, _: heartbeat(groups, now, request, caller), self._answered)

    def _answered(self, reply: Any) -> None:
        if isinstance(reply, KafkaError):
            if reply.code in GONE:
                self.forget()
            self._plan(0.1 + self.world.rng.random() * 0.4, self.act)
            return
        assert isinstance(reply, StreamsGroupHeartbeatResult)
        self.epoch = reply.response.member_epoch
        if reply.response.active_tasks is None:
            self._plan(HEARTBEAT_S, self.act)
            return
        given = {index for one in reply.response.active_tasks for index in one.partitions}
        kept = self.owned & given
        gave_up = kept != self.owned
        self.own(kept)  # first it closes tasks, then it begins with new ones
        self.own(given)
        self._plan(0.01 if gave_up else HEARTBEAT_S, self.act)
