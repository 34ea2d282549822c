"""A consumer group: members, what each has and should have. Changed by `records.apply` only."""

from collections.abc import Mapping
from enum import IntEnum
from typing import NoReturn

from msgspec import Struct

from ottla.errors import ErrorCode, KafkaError
from ottla.ids import Uuid
from ottla.wire.records.consumer_groups import ClassicMemberMetadata

Target = Mapping[Uuid, frozenset[int]]
"""Partitions by topic."""
Held = Mapping[Uuid, Mapping[int, int]]
"""Partitions by topic, each with the member epoch in which it was given."""

JOINING, LEAVING, LEAVING_STATIC = 0, -1, -2
"""Member epochs with a meaning of their own."""
FIRST_EPOCH = 1


class ConsumerMemberState(IntEnum):
    """The numbers are those of the records."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1  # it has to give up some first
    UNRELEASED_PARTITIONS = 2  # it waits for others to give up some
    UNKNOWN = 127


class ConsumerGroupMember(Struct, frozen=True, kw_only=True):
    id: str
    instance_id: str | None = None
    rack: str | None = None
    client_id: str = ""
    client_host: str = ""
    topics: tuple[str, ...] = ()
    regex: str = ""
    rebalance_timeout_ms: int = -1
    assignor: str | None = None
    classic: ClassicMemberMetadata | None = None  # None: it speaks the consumer protocol
    epoch: int = 0
    previous_epoch: int = 0
    state: ConsumerMemberState = ConsumerMemberState.STABLE
    held: Held = {}
    revoking: Held = {}

    def is_reconciled_to(self, target_epoch: int) -> bool:
        return self.state is ConsumerMemberState.STABLE and self.epoch == target_epoch


class ResolvedRegex(Struct, frozen=True):
    topics: tuple[str, ...]
    version: int
    timestamp: int


NOTHING: Target = {}


class ConsumerGroup:
    __slots__ = (
        "assigned_at_ms",
        "assignment_epoch",
        "epoch",
        "id",
        "members",
        "metadata_hash",
        "owners",
        "regexes",
        "static_ids",
        "targets",
        "topics_seen",
    )

    def __init__(self, id: str) -> None:
        self.id = id
        self.epoch = FIRST_EPOCH
        self.metadata_hash = 0
        self.assignment_epoch = FIRST_EPOCH
        self.assigned_at_ms = 0
        self.members: dict[str, ConsumerGroupMember] = {}
        self.static_ids: dict[str, str] = {}  # instance id → member id
        self.targets: dict[str, Target] = {}
        self.owners: dict[tuple[Uuid, int], str] = {}  # also of what is being given up
        self.regexes: dict[str, ResolvedRegex] = {}
        self.topics_seen = -1  # the version of the metadata that was looked at

    def copy(self) -> "ConsumerGroup":
        twin = ConsumerGroup(self.id)
        twin.epoch, twin.metadata_hash = self.epoch, self.metadata_hash
        twin.assignment_epoch, twin.assigned_at_ms = self.assignment_epoch, self.assigned_at_ms
        twin.members, twin.static_ids = dict(self.members), dict(self.static_ids)
        twin.targets, twin.owners = dict(self.targets), dict(self.owners)
        twin.regexes = dict(self.regexes)
        twin.topics_seen = self.topics_seen
        return twin

    @property
    def is_empty(self) -> bool:
        return not self.members

    @property
    def state(self) -> str:
        """As clients are shown it."""
        if not self.members:
            return "Empty"
        if self.epoch > self.assignment_epoch:
            return "Assigning"
        reconciled = all(
            member.is_reconciled_to(self.assignment_epoch) for member in self.members.values()
        )
        return "Stable" if reconciled else "Reconciling"

    def waiting_for(self) -> list[str]:
        """Who has not reached the target; those who hold others up before those who wait."""
        behind = [m for m in self.members.values() if not m.is_reconciled_to(self.assignment_epoch)]
        holding = [m for m in behind if m.state is not ConsumerMemberState.UNRELEASED_PARTITIONS]
        return [member.id for member in holding or behind]

    def subscribed_topics(self) -> set[str]:
        names = {topic for member in self.members.values() for topic in member.topics}
        for member in self.members.values():
            if member.regex in self.regexes:
                names.update(self.regexes[member.regex].topics)
        return names

    def topics_of(self, member: ConsumerGroupMember) -> set[str]:
        resolved = self.regexes.get(member.regex)
        return {*member.topics, *(resolved.topics if resolved else ())}

    def is_subscribed_to(self, topic: str) -> bool:
        return topic in self.subscribed_topics()

    def member(self, member_id: str) -> ConsumerGroupMember:
        member = self.members.get(member_id)
        if member is None:
            raise KafkaError(
                ErrorCode.UNKNOWN_MEMBER_ID,
                f"Member {member_id} is not a member of group {self.id}.",
            )
        return member

    def static_member(self, instance_id: str, member_id: str) -> ConsumerGroupMember:
        known = self.static_ids.get(instance_id)
        if known is None:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
        if known != member_id:
            raise KafkaError(
                ErrorCode.FENCED_INSTANCE_ID,
                f"Static member {member_id} with instance id {instance_id} was fenced by "
                f"member {known}.",
            )
        return self.members[known]

    def is_free(self, topic_id: Uuid, partition: int, member: ConsumerGroupMember) -> bool:
        """Nobody has it, or is still giving it up but the member itself."""
        is_given_up = partition in member.revoking.get(topic_id, ())
        return is_given_up or (topic_id, partition) not in self.owners


def no_consumer_group(group_id: str) -> NoReturn:
    raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a consumer group.")
