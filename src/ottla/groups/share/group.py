"""A share group: its members and what each may take from. Changed by `records.apply` only."""

from collections.abc import Mapping
from typing import NoReturn

from msgspec import Struct

from ottla.errors import ErrorCode, KafkaError
from ottla.ids import Uuid

Partitions = Mapping[Uuid, frozenset[int]]
NOTHING: Partitions = {}
Topics = Mapping[Uuid, tuple[str, frozenset[int]]]
"""Topics by their id: name and partitions."""
FIRST_EPOCH = 1


class ShareGroupMember(Struct, frozen=True, kw_only=True):
    id: str
    rack: str | None = None
    client_id: str = ""
    client_host: str = ""
    topics: tuple[str, ...] = ()
    epoch: int = 0
    previous_epoch: int = 0
    partitions: Partitions = NOTHING


class Noted(Struct, frozen=True, kw_only=True):
    """Which partitions have a state with the share coordinator, as far as the group knows.

    Only `initialized` ones are given to members. The states of `initializing` ones may exist or
    not, and those of `deleting` ones.
    """

    initialized: Topics = {}
    initializing: Topics = {}
    deleting: Mapping[Uuid, str] = {}


class ShareGroup:
    __slots__ = (
        "assigned_at_ms",
        "assignment_epoch",
        "epoch",
        "id",
        "members",
        "metadata_hash",
        "noted",
        "targets",
        "topics_seen",
    )

    def __init__(self, id: str) -> None:
        self.id = id
        self.epoch = FIRST_EPOCH
        self.metadata_hash = 0
        self.assignment_epoch = FIRST_EPOCH
        self.assigned_at_ms = 0
        self.members: dict[str, ShareGroupMember] = {}
        self.targets: dict[str, Partitions] = {}
        self.noted: Noted | None = None  # nothing ever was
        self.topics_seen = -1

    def copy(self) -> "ShareGroup":
        twin = ShareGroup(self.id)
        twin.epoch, twin.metadata_hash = self.epoch, self.metadata_hash
        twin.assignment_epoch, twin.assigned_at_ms = self.assignment_epoch, self.assigned_at_ms
        twin.topics_seen = self.topics_seen
        twin.members, twin.targets = dict(self.members), dict(self.targets)
        twin.noted = self.noted
        return twin

    @property
    def is_empty(self) -> bool:
        return not self.members

    @property
    def state(self) -> str:
        return "Stable" if self.members else "Empty"

    @property
    def initialized(self) -> Topics:
        return {} if self.noted is None else self.noted.initialized

    def subscribed_topics(self) -> set[str]:
        return {topic for member in self.members.values() for topic in member.topics}

    def is_subscribed_to(self, topic: str) -> bool:
        return topic in self.subscribed_topics()

    def waiting_for(self) -> list[str]:
        return [m.id for m in self.members.values() if m.epoch != self.assignment_epoch]

    def member(self, member_id: str) -> ShareGroupMember:
        member = self.members.get(member_id)
        if member is None:
            raise KafkaError(
                ErrorCode.UNKNOWN_MEMBER_ID,
                f"Member {member_id} is not a member of group {self.id}.",
            )
        return member


def no_share_group(group_id: str) -> NoReturn:
    raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a share group.")
