"""A classic group: its members, its state, and the rules that need nothing else."""

from collections import Counter
from collections.abc import Sequence
from enum import Enum

from ottla.coordination.machine import Ticket
from ottla.errors import ErrorCode, KafkaError
from ottla.groups.java_order import hash_map_order
from ottla.wire.codec import MalformedMessage, decode
from ottla.wire.records.consumer_protocol import ConsumerProtocolSubscription

CONSUMER = "consumer"  # the protocol type of Kafka's own consumers
Protocols = Sequence[tuple[str, bytes]]
"""Names of assignors with what the member says to each, the favourite first."""


class ClassicGroupState(Enum):
    """The values are what clients are shown."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"  # members are expected to join again
    COMPLETING_REBALANCE = "CompletingRebalance"  # the leader is expected to assign
    STABLE = "Stable"


MAY_BECOME = {
    ClassicGroupState.EMPTY: {ClassicGroupState.PREPARING_REBALANCE},
    ClassicGroupState.PREPARING_REBALANCE: {
        ClassicGroupState.COMPLETING_REBALANCE,
        ClassicGroupState.EMPTY,
    },
    ClassicGroupState.COMPLETING_REBALANCE: {
        ClassicGroupState.STABLE,
        ClassicGroupState.PREPARING_REBALANCE,
    },
    ClassicGroupState.STABLE: {ClassicGroupState.PREPARING_REBALANCE},
}


class ClassicGroupMember:
    __slots__ = (
        "assignment",
        "client_host",
        "client_id",
        "id",
        "instance_id",
        "is_new",
        "join_ticket",
        "protocols",
        "rebalance_timeout_ms",
        "session_timeout_ms",
        "sync_ticket",
    )

    def __init__(
        self,
        *,
        id: str,
        instance_id: str | None,
        client_id: str,
        client_host: str,
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
        protocols: Protocols,
        assignment: bytes = b"",
    ) -> None:
        self.id = id
        self.instance_id = instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.session_timeout_ms = session_timeout_ms
        self.protocols = protocols
        self.assignment = assignment
        self.join_ticket: Ticket | None = None  # waits for the generation to begin
        self.sync_ticket: Ticket | None = None  # waits for the leader's assignment
        self.is_new = False

    def metadata(self, protocol: str | None) -> bytes:
        return next((data for name, data in self.protocols if name == protocol), b"")

    def vote(self, candidates: set[str]) -> str:
        return next(name for name, _ in self.protocols if name in candidates)

    @property
    def excused(self) -> bool:
        """Waits for an answer of ours, so it cannot send heartbeats; a new one has no excuse."""
        return not self.is_new and (self.join_ticket or self.sync_ticket) is not None


class ClassicGroup:
    __slots__ = (
        "generation",
        "id",
        "leader",
        "members",
        "new_member_added",
        "pending_joins",
        "pending_syncs",
        "previous_state",
        "protocol",
        "protocol_type",
        "state",
        "state_since_ms",
        "static_ids",
        "subscribed_topics",
        "written",
    )

    def __init__(self, id: str) -> None:
        self.id = id
        self.state = ClassicGroupState.EMPTY
        self.previous_state = ClassicGroupState.EMPTY
        self.state_since_ms = -1
        self.generation = 0
        self.protocol_type: str | None = None
        self.protocol: str | None = None
        self.leader: str | None = None
        self.members: dict[str, ClassicGroupMember] = {}
        self.static_ids: dict[str, str] = {}  # instance id → member id
        self.pending_joins: set[str] = set()  # ids we gave out and wait to see again
        self.pending_syncs: set[str] = set()
        self.new_member_added = False  # while an initial rebalance is delayed
        self.subscribed_topics: frozenset[str] | None = None  # None: nobody knows
        self.written = False  # there is a record of it

    # -- looking ------------------------------------------------------------------------------

    @property
    def is_empty(self) -> bool:
        return self.state is ClassicGroupState.EMPTY

    @property
    def is_simple(self) -> bool:
        """Only a place for offsets: nobody ever joined."""
        return self.protocol_type is None

    @property
    def uses_consumer_protocol(self) -> bool:
        return self.protocol_type == CONSUMER

    def is_subscribed_to(self, topic: str) -> bool:
        if self.subscribed_topics is None:
            return self.uses_consumer_protocol
        return topic in self.subscribed_topics

    def all_joined(self) -> bool:
        return not self.pending_joins and all(m.join_ticket for m in self.members.values())

    def awaiting_join(self) -> int:
        return sum(member.join_ticket is not None for member in self.members.values())

    def waiting_for(self) -> list[str]:
        """Whom a rebalance under way waits for."""
        if self.state is ClassicGroupState.PREPARING_REBALANCE:
            return [m.id for m in self.members.values() if m.join_ticket is None]
        if self.state is ClassicGroupState.COMPLETING_REBALANCE:
            return sorted(self.pending_syncs)
        return []

    def rebalance_timeout_ms(self) -> int:
        return max((m.rebalance_timeout_ms for m in self.members.values()), default=0)

    def supports(self, protocol_type: str, names: Sequence[str]) -> bool:
        if self.is_empty:
            return bool(protocol_type) and bool(names)
        if not self.members:  # all who began this rebalance are gone again
            return self.protocol_type == protocol_type and bool(names)
        return self.protocol_type == protocol_type and not self.candidates().isdisjoint(names)

    def candidates(self) -> set[str]:
        """The protocols that every member speaks."""
        counts = Counter(name for m in self.members.values() for name in dict(m.protocols))
        return {name for name, count in counts.items() if count == len(self.members)}

    def elect_protocol(self) -> str:
        candidates = self.candidates()
        votes = Counter(member.vote(candidates) for member in self.members.values())
        return max(hash_map_order(votes), key=votes.__getitem__)  # of equals Kafka's first

    def check_member(self, member_id: str, instance_id: str | None) -> ClassicGroupMember:
        if instance_id is not None:
            known = self.static_ids.get(instance_id)
            if known is None:
                raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
            if known != member_id:
                raise KafkaError(ErrorCode.FENCED_INSTANCE_ID)
        member = self.members.get(member_id)
        if member is None:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        return member

    # -- changing -----------------------------------------------------------------------------

    def become(self, state: ClassicGroupState, now_ms: int) -> None:
        assert state in MAY_BECOME[self.state], (self.state, state)
        self.previous_state, self.state, self.state_since_ms = self.state, state, now_ms

    def add(self, member: ClassicGroupMember) -> None:
        self.members[member.id] = member
        self.pending_joins.discard(member.id)
        if member.instance_id is not None:
            self.static_ids[member.instance_id] = member.id

    def remove(self, member_id: str) -> None:
        self.pending_joins.discard(member_id)
        self.pending_syncs.discard(member_id)
        member = self.members.pop(member_id, None)
        if member is None:
            return
        if member.instance_id is not None and self.static_ids.get(member.instance_id) == member_id:
            del self.static_ids[member.instance_id]
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)

    def elect_joined_leader(self) -> bool:
        """Keep the leader if it has joined, else take one who has; False: nobody has."""
        leader = self.members.get(self.leader or "")
        if leader is not None and leader.join_ticket is not None:
            return True
        joined = next((m for m in self.members.values() if m.join_ticket is not None), None)
        if joined is None:
            return False
        self.leader = joined.id
        return True

    def note_subscriptions(self) -> None:
        self.subscribed_topics = self._subscriptions()

    def _subscriptions(self) -> frozenset[str] | None:
        if not self.uses_consumer_protocol:
            return None
        try:
            return frozenset(
                topic
                for member in self.members.values()
                for topic in subscription_of(member.metadata(self.protocol)).topics
            )
        except (MalformedMessage, ValueError):
            return None


def subscription_of(metadata: bytes) -> ConsumerProtocolSubscription:
    """What a consumer subscribes to: version 0 is a prefix of every later one."""
    if len(metadata) < 2:
        raise MalformedMessage("a subscription without a version")
    version = int.from_bytes(metadata[:2], "big", signed=True)
    known = max(0, min(version, ConsumerProtocolSubscription.VERSIONS[-1]))
    return decode(ConsumerProtocolSubscription, known, metadata, 2)[0]
