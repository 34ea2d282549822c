"""The state of one shard of the group coordinator: its groups, their offsets, their time-outs.

It applies records and hands time-outs to whom they concern; what requests do is decided in
`classic`, `consumer` and `offsets`.
"""

from collections.abc import Callable
from typing import TypeAlias

from ottla.coordination.machine import Decision, Instant, RecordTypes
from ottla.coordination.timers import Timers
from ottla.errors import ErrorCode, KafkaError
from ottla.groups.classic import heartbeats, rebalance
from ottla.groups.classic import records as classic_records
from ottla.groups.classic.group import ClassicGroup
from ottla.groups.limits import Limits
from ottla.groups.offsets import removal
from ottla.groups.offsets.store import Offsets
from ottla.groups.outcome import Outcome
from ottla.wire.message import Message
from ottla.wire.records.groups import (
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
)

TimerName: TypeAlias = tuple[str, str, str]
"""What is due, for which group, for which member."""

TOMBSTONES_PER_TICK = 1_000


class Groups:
    RECORDS = RecordTypes(
        {
            0: (OffsetCommitKey, OffsetCommitValue),  # as Kafka wrote it long ago
            1: (OffsetCommitKey, OffsetCommitValue),
            2: (GroupMetadataKey, GroupMetadataValue),
        },
        {OffsetCommitValue: 4, GroupMetadataValue: 3},
    )

    def __init__(self, limits: Limits, new_uuid: Callable[[], str]) -> None:
        self.limits = limits
        self.new_uuid = new_uuid
        self.groups: dict[str, ClassicGroup] = {}
        self.offsets = Offsets()
        self.timers: Timers[TimerName] = Timers()
        self.first_join_left_ms: dict[str, int] = {}
        self._to_check: list[str] = []  # groups whose offsets' age is looked at in this round

    # -- finding ------------------------------------------------------------------------------

    def find(self, group_id: str) -> ClassicGroup | None:
        return self.groups.get(group_id)

    def find_classic(self, group_id: str) -> ClassicGroup | None:
        return self.groups.get(group_id)

    def existing(self, group_id: str) -> ClassicGroup:
        group = self.groups.get(group_id)
        if group is None:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
        return group

    def classic(self, group_id: str, *, create: bool) -> ClassicGroup:
        group = self.groups.get(group_id)
        if group is None:
            if not create:
                raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
            group = self.groups[group_id] = ClassicGroup(group_id)
        return group

    # -- applying -----------------------------------------------------------------------------

    def replay(self, offset: int, producer_id: int, key: Message, value: Message | None) -> None:
        match key:
            case OffsetCommitKey():
                assert value is None or isinstance(value, OffsetCommitValue)
                if value is not None and key.group not in self.groups:
                    self.groups[key.group] = ClassicGroup(key.group)
                self.offsets.apply(producer_id, key, value)
            case GroupMetadataKey():
                assert value is None or isinstance(value, GroupMetadataValue)
                self._replay_group(key.group, value)

    def _replay_group(self, group_id: str, value: GroupMetadataValue | None) -> None:
        if value is None:
            self.groups.pop(group_id, None)
        else:
            classic_records.apply(self.classic(group_id, create=True), value)

    def replay_marker(self, producer_id: int, producer_epoch: int, committed: bool) -> None:
        self.offsets.end_transaction(producer_id, committed)

    # -- time ---------------------------------------------------------------------------------

    def loaded(self, now: Instant) -> Decision[None]:
        out = Outcome()
        for group in self.groups.values():
            for member in group.members.values():
                self.expect_heartbeat(group.id, member.id, now, member.session_timeout_ms)
            if len(group.members) > self.limits.classic_max_size:
                reason = f"{len(group.members)} members are more than group.max.size"
                rebalance.begin(self, group, now, reason, out)
        self._check_ages_later(now)
        return out.decision(None)

    def expect_heartbeat(
        self, group_id: str, member_id: str, now: Instant, timeout_ms: int
    ) -> None:
        self.timers.set(("session", group_id, member_id), now.seconds + timeout_ms / 1000)

    def deadline(self) -> float | None:
        return self.timers.next()

    def tick(self, now: Instant) -> Decision[None]:
        out = Outcome()
        for kind, group_id, member_id in self.timers.due(now.seconds):
            if kind == "retention":
                self._check_ages(now, out)
                continue
            group = self.groups.get(group_id)
            if group is None:
                continue
            if kind == "session":
                heartbeats.session_ended(self, group, member_id, now, out)
            elif kind == "join":
                rebalance.join_time_is_up(self, group, now, out)
            elif kind == "sync":
                rebalance.sync_time_is_up(self, group, now, out)
        return out.decision(None)

    def _check_ages_later(self, now: Instant) -> None:
        interval_s = self.limits.retention_check_interval_ms / 1000
        self.timers.set(("retention", "", ""), now.seconds + interval_s)

    def _check_ages(self, now: Instant, out: Outcome) -> None:
        """Look at all groups, a thousand tombstones at a time."""
        self._to_check = self._to_check or list(self.groups)
        while self._to_check and len(out.records) < TOMBSTONES_PER_TICK:
            group = self.groups.get(self._to_check.pop())
            if group is not None:
                out.records += removal.expire(self, group, now)
        if self._to_check:
            self.timers.set(("retention", "", ""), now.seconds)
        else:
            self._check_ages_later(now)
