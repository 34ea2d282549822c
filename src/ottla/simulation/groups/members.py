"""Members of a group as client libraries play them, over a network that loses and repeats."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ottla.coordination.machine import Decision, ProducerIdAndEpoch
from ottla.errors import ErrorCode, KafkaError
from ottla.groups.offsets.committing import commit, commit_in_transaction
from ottla.ids import Uuid
from ottla.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from ottla.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)

if TYPE_CHECKING:
    from ottla.simulation.groups.world import GroupWorld

GROUP, TOPIC = "g", "t"
SIDE_TOPIC = "u"  # nobody reads it; offsets of it are committed in transactions, and it is deleted
HEARTBEAT_S = 1.0
SESSION_MS, REBALANCE_MS = 10_000, 8_000
PATIENCE_S = 3.0
JOIN_PATIENCE_S = 12.0
TRANSACTIONAL = 0.3  # of commits
ASIDE = 0.3  # of those
ELSEWHERE = (
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.REQUEST_TIMED_OUT,
)
"""Then a client asks again who the coordinator is; it goes on with the one it knows until then."""
GONE = (
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.FENCED_MEMBER_EPOCH,
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.GROUP_ID_NOT_FOUND,
    ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
)


class SimulatedMember(ABC):
    """What both kinds have: one request under way at a time, and commits of what it owns."""

    def __init__(self, world: "GroupWorld", number: int) -> None:
        self.world = world
        self.number = number
        self.incarnations = 0
        self.alive = False
        self.id = ""
        self.epoch = 0
        self.owned: set[int] = set()
        self.joined_life = 0  # of the group: epochs of another one say nothing
        self.frozen_until = 0.0  # a stopped process: it notices nothing, and goes on later
        self._awaited = 0  # the request whose answer counts
        self._coordinator = world.coordinator
        self.start()

    def start(self) -> None:
        self.alive = True
        self.incarnations += 1
        self.id, self.epoch, self.owned = self.first_id(), 0, set()
        self._plan(self.world.rng.random(), self.act)
        self._plan(self.world.rng.random(), self.commit)

    def die(self) -> None:
        self.alive, self.owned = False, set()
        self.world.note(f"member {self.number} dies")

    def first_id(self) -> str:
        return ""

    @abstractmethod
    def act(self) -> None:
        """Ask the coordinator what its protocol asks next."""

    def forget(self) -> None:
        """It is not a member any more: it owns nothing, and starts anew."""
        self.epoch, self.owned = 0, set()

    def own(self, partitions: set[int]) -> None:
        self.owned = partitions
        self.world.check_owners()

    # -- talking ------------------------------------------------------------------------------

    def ask(
        self,
        decide: Callable[..., Decision[Any]],
        answered: Callable[[Any], None],
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._awaited += 1
        awaited, incarnation, network = self._awaited, self.incarnations, self.world.network

        def arrive(reply: object) -> None:
            if self.world.clock.now < self.frozen_until:
                self.world.clock.at(self.frozen_until, lambda: arrive(reply))
            elif self.alive and self.incarnations == incarnation and self._awaited == awaited:
                self._awaited += 1
                if isinstance(reply, KafkaError) and reply.code in ELSEWHERE:
                    self._coordinator = self.world.coordinator
                answered(reply)

        coordinator = self._coordinator
        if not self.epoch:
            self.joined_life = self.world.group_lives
        served = False

        def serve() -> None:
            """As over TCP: once, and not when the client has closed the connection."""
            nonlocal served
            if served or self._awaited != awaited:
                return
            served = True
            coordinator.submit(
                decide, lambda reply: network.carry(0, self.number, lambda: arrive(reply))
            )

        network.carry(self.number, 0, serve)
        self._plan(patience_s, lambda: arrive(KafkaError(ErrorCode.REQUEST_TIMED_OUT)))

    def _plan(self, delay: float, action: Callable[[], None]) -> None:
        incarnation, clock = self.incarnations, self.world.clock

        def act() -> None:
            if clock.now < self.frozen_until:
                clock.at(self.frozen_until, act)
            elif self.alive and self.incarnations == incarnation:
                action()

        clock.after(delay, act)

    # -- committing ---------------------------------------------------------------------------

    def commit(self) -> None:
        """On a connection of its own, as often as heartbeats: whatever it owns by now."""
        self._plan(HEARTBEAT_S * (0.5 + self.world.rng.random()), self.commit)
        if not self.owned or not self.epoch:
            return
        partition = self.world.rng.choice(sorted(self.owned))
        self.world.last_offset += 1
        offset = self.world.last_offset
        coordinator, member_id, epoch = self._coordinator, self.id, self.epoch
        joined_life = self.joined_life
        transactional = self.world.rng.random() < TRANSACTIONAL
        decide_commit = self._in_transaction if transactional else self._plainly
        decided = decide_commit(partition, offset)

        def decide(groups: Any, now: Any, _: Any) -> Decision[Any]:
            decision = decided(groups, now)
            if decision.records and joined_life == self.world.group_lives:
                self.world.commit_accepted(coordinator, member_id, epoch, partition)
            return decision

        def told(reply: Any) -> None:
            refused = isinstance(reply, KafkaError) or reply.topics[0].partitions[0].error_code
            if not refused:
                self.world.commit_promised(offset)
                if transactional:
                    self.world.end_transaction(ProducerIdAndEpoch(offset, 0))
                else:
                    self.world.onlooker.expect(partition)

        self.world.network.carry(self.number, 0, lambda: coordinator.submit(decide, told))

    def _plainly(self, partition: int, offset: int) -> Callable[[Any, Any], Decision[Any]]:
        place = OffsetCommitRequestPartition(
            partition_index=partition,
            committed_offset=offset,
            committed_metadata=self.world.token(offset),
        )
        request = OffsetCommitRequest(
            group_id=GROUP,
            member_id=self.id,
            generation_id_or_member_epoch=self.epoch,
            topics=[
                OffsetCommitRequestTopic(
                    name=TOPIC, topic_id=self.world.topic_id, partitions=[place]
                )
            ],
        )
        return lambda groups, now: commit(groups, now, request, 9)

    def _in_transaction(self, partition: int, offset: int) -> Callable[[Any, Any], Decision[Any]]:
        """Each in a transaction of its own."""
        topic = SIDE_TOPIC if self.world.rng.random() < ASIDE else TOPIC
        place = TxnOffsetCommitRequestPartition(
            partition_index=partition,
            committed_offset=offset,
            committed_metadata=self.world.token(offset),
        )
        request = TxnOffsetCommitRequest(
            group_id=GROUP,
            member_id=self.id,
            generation_id=self.epoch,
            producer_id=offset,
            producer_epoch=0,
            topics=[TxnOffsetCommitRequestTopic(name=topic, partitions=[place])],
        )
        return lambda groups, now: commit_in_transaction(groups, now, request)


def commit_from_outside(world: "GroupWorld", partition: int) -> None:
    """As people do with a tool while the group has no members."""
    world.last_offset += 1
    offset = world.last_offset
    place = OffsetCommitRequestPartition(
        partition_index=partition, committed_offset=offset, committed_metadata=world.token(offset)
    )
    topic = OffsetCommitRequestTopic(name=TOPIC, topic_id=world.topic_id, partitions=[place])
    request = OffsetCommitRequest(group_id=GROUP, topics=[topic])

    def told(reply: object) -> None:
        if not isinstance(reply, KafkaError):
            world.commit_promised(offset)
            world.onlooker.expect(partition)

    world.coordinator.submit(lambda groups, now, _: commit(groups, now, request, 9), told)


def topic_id_of(name: str) -> Uuid:
    return name.encode().ljust(16, b".")
