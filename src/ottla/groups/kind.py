"""What a kind of group must say about itself; the machine and the offsets know no other difference.

Each protocol has one (`classic.kind`, `consumer.kind`, `share.kind`, `streams.kind`), and
`groups.kinds` lists them. How a group of one kind becomes one of another is decided where a request
asks for it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from ottla.coordination.machine import CoordinatorRecord, Instant
from ottla.groups.offsets.store import Committed
from ottla.groups.outcome import Outcome
from ottla.ids import Uuid
from ottla.wire.message import Message
from ottla.wire.messages.list_groups import ListedGroup
from ottla.wire.messages.offset_commit import OffsetCommitRequest
from ottla.wire.messages.offset_fetch import OffsetFetchRequestGroup
from ottla.wire.messages.txn_offset_commit import TxnOffsetCommitRequest

if TYPE_CHECKING:
    from ottla.groups.machine import Group, Groups

G = TypeVar("G", bound="Group")
MEMBER_EPOCHS_SINCE = 9
"""From this version of OffsetCommit on, members of the newer protocols can say their epoch."""
Check = Callable[[str, Uuid, int], None]
"""Refuses the commit when this topic's partition was not the member's in the epoch it knows."""


class GroupKind(ABC, Generic[G]):
    name: ClassVar[str]
    group: type[G]
    record_types: Mapping[int, tuple[type[Message], type[Message]]]
    """Key and value of its records, by the type in front of the key."""

    # -- the log and time -----------------------------------------------------------------

    @abstractmethod
    def replay(self, groups: "Groups", key: Message, value: Message | None) -> None: ...

    @abstractmethod
    def resume(self, groups: "Groups", group: G, now: Instant, out: Outcome) -> None:
        """The coordinator has loaded the group: nobody is late yet."""

    @abstractmethod
    def time_is_up(
        self, groups: "Groups", group: G, timer: str, member_id: str, now: Instant, out: Outcome
    ) -> None: ...

    # -- from outside -----------------------------------------------------------------------

    def listed(self, group: G) -> ListedGroup:
        return ListedGroup(
            group_id=group.id,
            protocol_type=self.protocol_type(group),
            group_state=self.state(group),
            group_type=self.name,
        )

    def protocol_type(self, group: G) -> str:
        return self.name

    @abstractmethod
    def state(self, group: G) -> str: ...

    @abstractmethod
    def tombstones(self, group: G) -> list[CoordinatorRecord]:
        """All of the group but its offsets."""

    # -- offsets ----------------------------------------------------------------------------

    @abstractmethod
    def check_commit(
        self,
        groups: "Groups",
        group: G,
        now: Instant,
        request: OffsetCommitRequest,
        api_version: int,
    ) -> Check | None:
        """Refuses who may not commit; None: it may commit what it likes."""

    @abstractmethod
    def check_commit_in_transaction(
        self, group: G, request: TxnOffsetCommitRequest
    ) -> Check | None: ...

    def check_fetch(self, group: G, request: OffsetFetchRequestGroup) -> None:
        """A member says in which epoch it asks, so that zombies notice."""

    def check_deletion(self, group: G) -> None:
        """Of single offsets, which nobody may be using."""

    has_offsets: ClassVar[bool] = True

    def ages_since(self, group: G, offset: Committed) -> int | None:
        """From when on an offset counts as unused; None: it is in use."""
        return offset.commit_ms

    def is_awaited(self, group: G) -> bool:
        """An empty group that somebody is about to join does not go."""
        return False


class EpochKind(GroupKind[G]):
    """Of protocols with epochs: a record of the group's epoch makes it, its tombstone ends it."""

    metadata_key: type[Message]

    @abstractmethod
    def apply(self, group: G, key: Message, value: Message | None) -> None: ...

    def replay(self, groups: "Groups", key: Message, value: Message | None) -> None:
        group_id: str = key.group_id  # type: ignore[attr-defined]  # all of them have it
        group = groups.groups.get(group_id)
        if not isinstance(group, self.group):
            if value is None:
                return
            group = groups.groups[group_id] = self.group(group_id)
        if value is None and isinstance(key, self.metadata_key):
            del groups.groups[group_id]
        else:
            self.apply(group, key, value)


class MemberEpochKind(EpochKind[G]):
    """Of those whose members commit and fetch offsets in the epoch that they know."""

    @abstractmethod
    def check_epoch(self, group: G, member_id: str, epoch: int, api_version: int) -> Check | None:
        """A member in its epoch may commit what it likes; one that has not yet heard of its newest
        epoch, what it has had since the epoch it knows; zombies have nothing (KIP-1251)."""

    @abstractmethod
    def check_asked_in(self, group: G, member_id: str, epoch: int) -> None:
        """Refuses a member that asks in another epoch than its own."""

    def check_commit(
        self,
        groups: "Groups",
        group: G,
        now: Instant,
        request: OffsetCommitRequest,
        api_version: int,
    ) -> Check | None:
        epoch = request.generation_id_or_member_epoch
        return self.check_epoch(group, request.member_id, epoch, api_version)

    def check_commit_in_transaction(
        self, group: G, request: TxnOffsetCommitRequest
    ) -> Check | None:
        if request.generation_id < 0 and not request.member_id:
            return None  # a producer that commits for a group without being of it
        return self.check_epoch(
            group, request.member_id, request.generation_id, MEMBER_EPOCHS_SINCE
        )

    def check_fetch(self, group: G, request: OffsetFetchRequestGroup) -> None:
        if request.member_id is not None or request.member_epoch >= 0:
            self.check_asked_in(group, request.member_id or "", request.member_epoch)
