"""The state of one shard of the group coordinator: its groups, their offsets, their time-outs.

It hands records and time-outs to the kind of group that they concern (`kinds`); what requests do is
decided in `classic`, `consumer`, `share`, `streams` and `offsets`.
"""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from ottla.coordination.machine import Decision, Instant, RecordTypes
from ottla.coordination.timers import Timers
from ottla.errors import ErrorCode, KafkaError
from ottla.groups.classic.group import ClassicGroup
from ottla.groups.consumer.group import ConsumerGroup, ConsumerGroupMember
from ottla.groups.consumer.migration import Downgrade
from ottla.groups.history import Rebalance
from ottla.groups.kinds import BY_RECORD, KINDS, kind_of
from ottla.groups.limits import GroupLimits, Pace
from ottla.groups.offsets import removal
from ottla.groups.offsets.store import Offsets, Place
from ottla.groups.outcome import Outcome
from ottla.groups.share.group import ShareGroup
from ottla.groups.streams.group import StreamsGroup
from ottla.ids import Uuid
from ottla.metadata.image import Image
from ottla.wire.message import Message
from ottla.wire.records.classic_groups import GroupMetadataValue
from ottla.wire.records.offsets import OffsetCommitKey, OffsetCommitValue

Group: TypeAlias = ClassicGroup | ConsumerGroup | ShareGroup | StreamsGroup
TimerName: TypeAlias = tuple[str, str, str]
"""What is due, for which group, for which member."""

OFFSETS_PER_TICK = 1_000
BREATH_S = 0.001


class Groups:
    RECORDS = RecordTypes(
        {
            0: (OffsetCommitKey, OffsetCommitValue),  # as Kafka wrote it long ago
            1: (OffsetCommitKey, OffsetCommitValue),
            **{number: classes for kind in KINDS for number, classes in kind.record_types.items()},
        },
        {OffsetCommitValue: 4, GroupMetadataValue: 3},
    )

    def __init__(
        self,
        limits: GroupLimits,
        new_uuid: Callable[[], Uuid],
        image: Callable[[], Image] = Image,
        paces: Mapping[str, Pace] | None = None,
    ) -> None:
        """`image` gives the cluster's topics, `paces` what is configured for single groups."""
        self.limits = limits
        self.new_uuid = new_uuid
        self.image = image
        self.topics_version = 0  # moves with every change of topics
        self.groups: dict[str, Group] = {}
        self.unseen: set[str] = set()
        """Made by a commit of which nothing was kept: in no list before anything is written."""
        self.forgotten: dict[str, Group] = {}
        """No longer there, and shown until anything is written."""
        self.offsets = Offsets()
        self.timers: Timers[TimerName] = Timers()
        self.first_join_left_ms: dict[str, int] = {}
        self.downgrades: dict[str, Downgrade] = {}  # decided, and applied in the same breath
        self.share_attempts: dict[tuple[str, Uuid], float] = {}  # when states were last begun
        self._paces = {} if paces is None else paces
        self._histories: dict[str, Rebalance] = {}
        self._to_check: list[str] = []  # groups whose offsets' age is looked at in this round

    # -- finding ------------------------------------------------------------------------------

    def find(self, group_id: str) -> Group | None:
        return self.groups.get(group_id)

    def existing(self, group_id: str) -> Group:
        group = self.groups.get(group_id)
        if group is None:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
        return group

    def find_consumer(self, group_id: str) -> ConsumerGroup | None:
        group = self.groups.get(group_id)
        return group if isinstance(group, ConsumerGroup) else None

    def classic(self, group_id: str, *, create: bool) -> ClassicGroup:
        group = self.groups.get(group_id)
        other = isinstance(group, ConsumerGroup | StreamsGroup) and group.is_empty
        if create and (group is None or other):
            group = self.groups[group_id] = ClassicGroup(group_id)
        if not isinstance(group, ClassicGroup):
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
        return group

    def make_simple(self, group_id: str) -> None:
        """One that nobody manages: whoever commits for it makes it."""
        self.groups[group_id] = ClassicGroup(group_id)
        self.unseen.add(group_id)

    def forget(self, group_id: str) -> None:
        """As Kafka does with an empty group when a member that nobody knows joins it: nothing is
        written, so it is there again for the next coordinator."""
        self.forgotten[group_id] = self.groups.pop(group_id)

    def shown(self, group_id: str) -> Group | None:
        """The group as one who only reads sees it."""
        before = self.forgotten.get(group_id)
        if before is not None or group_id in self.unseen:
            return before
        return self.groups.get(group_id)

    def all_shown(self) -> list[Group]:
        seen = [group for group in self.groups.values() if group.id not in self.unseen]
        return [*seen, *self.forgotten.values()]

    def pace_of(self, group_id: str) -> Pace:
        return self._paces.get(group_id, self.limits.pace)

    def note_topics_seen(self, group_id: str) -> None:
        group = self.groups.get(group_id)
        if isinstance(group, ConsumerGroup | ShareGroup):
            group.topics_seen = self.topics_version

    def history(self, group_id: str) -> Rebalance:
        """What people may want to know; nothing is decided by it."""
        found = self._histories.get(group_id)
        if found is None:
            found = self._histories[group_id] = Rebalance()
        return found

    # -- applying -----------------------------------------------------------------------------

    def replay(self, offset: int, producer_id: int, key: Message, value: Message | None) -> None:
        self._written()
        if isinstance(key, OffsetCommitKey):
            assert value is None or isinstance(value, OffsetCommitValue)
            if value is not None and key.group not in self.groups:
                self.groups[key.group] = ClassicGroup(key.group)
            self.offsets.apply(producer_id, key, value)
        else:
            BY_RECORD[key.API_KEY].replay(self, key, value)

    def commit_offset(
        self,
        group_id: str,
        place: Place,
        offset: int,
        leader_epoch: int,
        commit_ms: int,
        topic_id: Uuid,
    ) -> None:
        """As `replay` of the record of a commit without metadata, for a group that is there."""
        self._written()
        self.offsets.commit(group_id, place, offset, leader_epoch, commit_ms, topic_id)

    def _written(self) -> None:
        """What only memory knew is known to all."""
        if self.unseen or self.forgotten:
            self.unseen.clear()
            self.forgotten.clear()

    def replay_marker(self, producer_id: int, producer_epoch: int, committed: bool) -> None:
        self.offsets.end_transaction(producer_id, committed)

    # -- time ---------------------------------------------------------------------------------

    def loaded(self, now: Instant) -> Decision[None]:
        out = Outcome()
        for group in self.groups.values():
            kind_of(group).resume(self, group, now, out)
        self._check_ages_later(now)
        return out.decision(None)

    def expect_heartbeat(
        self, group_id: str, member_id: str, now: Instant, timeout_ms: int
    ) -> None:
        self.timers.set(("session", group_id, member_id), now.seconds + timeout_ms / 1000)

    def expect_member(
        self, group_id: str, member_id: str, now: Instant, member: ConsumerGroupMember | None = None
    ) -> None:
        """A member of a consumer group; those of the classic protocol bring their time-out."""
        pace = self.pace_of(group_id)
        timeout_ms = pace.session_timeout_ms
        if isinstance(self.groups.get(group_id), ShareGroup):
            timeout_ms = pace.share_session_timeout_ms
        if member is not None and member.classic is not None:
            timeout_ms = member.classic.session_timeout_ms
        self.timers.set(("member", group_id, member_id), now.seconds + timeout_ms / 1000)

    def expect_revocation(
        self, group_id: str, member_id: str, now: Instant, timeout_ms: int
    ) -> None:
        """Others wait for what the member has to give up."""
        self.timers.set(("revoke", group_id, member_id), now.seconds + timeout_ms / 1000)

    def deadline(self) -> float | None:
        return self.timers.next()

    def tick(self, now: Instant) -> Decision[None]:
        """What is due, one at a time: a decision must see what the one before it wrote."""
        out = Outcome()
        while not out.records and (name := self.timers.pop_due(now.seconds)) is not None:
            timer, group_id, member_id = name
            if timer == "retention":
                self._check_ages(now, out)
                continue
            group = self.groups.get(group_id)
            if group is not None:
                kind_of(group).time_is_up(self, group, timer, member_id, now, out)
        return out.decision(None)

    def _check_ages_later(self, now: Instant) -> None:
        interval_s = self.limits.retention_check_interval_ms / 1000
        self.timers.set(("retention", "", ""), now.seconds + interval_s)

    def _check_ages(self, now: Instant, out: Outcome) -> None:
        """Look at all groups, some at a time: others have their turn in between."""
        self._to_check = self._to_check or list(
            dict.fromkeys((*self.groups, *self.offsets.groups()))
        )
        looked_at = 0
        while self._to_check and looked_at < OFFSETS_PER_TICK:
            group_id = self._to_check.pop()
            offsets = self.offsets.of(group_id)
            group = self.groups.get(group_id)
            if group is None and not offsets:
                continue
            looked_at += 1 + len(offsets)
            records = removal.expire(self, group or ClassicGroup(group_id), now)
            if len(records) > OFFSETS_PER_TICK:  # too many for one batch; the group goes last
                del records[OFFSETS_PER_TICK:]
                self._to_check.append(group_id)
            out.records += records
        if self._to_check:
            self.timers.set(("retention", "", ""), now.seconds + BREATH_S)
        else:
            gone = self._histories.keys() - self.groups.keys()
            for group_id in gone:
                del self._histories[group_id]
            self._check_ages_later(now)
