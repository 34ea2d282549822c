"""Classic groups, as the coordinator deals with groups."""

from types import MappingProxyType
from typing import TYPE_CHECKING

from ottla.coordination.machine import CoordinatorRecord, Instant
from ottla.errors import ErrorCode, KafkaError
from ottla.groups.classic import heartbeats, rebalance, records
from ottla.groups.classic.group import ClassicGroup, ClassicGroupState
from ottla.groups.consumer import migration
from ottla.groups.kind import Check, GroupKind
from ottla.groups.offsets.store import Committed
from ottla.groups.outcome import Outcome
from ottla.wire.message import Message
from ottla.wire.messages.offset_commit import OffsetCommitRequest
from ottla.wire.messages.txn_offset_commit import TxnOffsetCommitRequest
from ottla.wire.records.classic_groups import GroupMetadataKey, GroupMetadataValue

if TYPE_CHECKING:
    from ottla.groups.machine import Groups


class ClassicKind(GroupKind[ClassicGroup]):
    name = "classic"
    group = ClassicGroup
    record_types = MappingProxyType({2: (GroupMetadataKey, GroupMetadataValue)})

    def replay(self, groups: "Groups", key: Message, value: Message | None) -> None:
        assert isinstance(key, GroupMetadataKey)
        assert value is None or isinstance(value, GroupMetadataValue)
        group_id = key.group
        group = groups.groups.get(group_id)
        downgrade = groups.downgrades.pop(group_id, None)
        if downgrade is not None and value is not None:
            groups.groups[group_id] = downgrade.group
            records.apply(downgrade.group, value)
            migration.go_on(groups, downgrade)
        elif value is None:
            if isinstance(group, ClassicGroup):
                del groups.groups[group_id]
        else:
            if not isinstance(group, ClassicGroup):
                group = groups.groups[group_id] = ClassicGroup(group_id)
            records.apply(group, value)

    def resume(self, groups: "Groups", group: ClassicGroup, now: Instant, out: Outcome) -> None:
        for member in group.members.values():
            groups.expect_heartbeat(group.id, member.id, now, member.session_timeout_ms)
        if len(group.members) > groups.limits.classic_max_size:
            reason = f"{len(group.members)} members are more than group.max.size"
            rebalance.begin(groups, group, now, reason, out)

    def time_is_up(
        self,
        groups: "Groups",
        group: ClassicGroup,
        timer: str,
        member_id: str,
        now: Instant,
        out: Outcome,
    ) -> None:
        if timer == "session":
            heartbeats.session_ended(groups, group, member_id, now, out)
        elif timer == "join":
            rebalance.join_time_is_up(groups, group, now, out)
        elif timer == "sync":
            rebalance.sync_time_is_up(groups, group, now, out)

    def protocol_type(self, group: ClassicGroup) -> str:
        return group.protocol_type or ""

    def state(self, group: ClassicGroup) -> str:
        return group.state.value

    def tombstones(self, group: ClassicGroup) -> list[CoordinatorRecord]:
        return [records.tombstone(group.id)]

    def check_commit(
        self,
        groups: "Groups",
        group: ClassicGroup,
        now: Instant,
        request: OffsetCommitRequest,
        api_version: int,
    ) -> Check | None:
        generation = request.generation_id_or_member_epoch
        if not self._is_outside(group, generation):
            if generation < 0 and not request.member_id and request.group_instance_id is None:
                raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
            self._check_member(group, request.member_id, request.group_instance_id, generation)
            if group.state is ClassicGroupState.COMPLETING_REBALANCE:
                raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS)
        committer = group.members.get(request.member_id)
        if committer is not None and group.state in (
            ClassicGroupState.STABLE,
            ClassicGroupState.PREPARING_REBALANCE,
        ):
            groups.expect_heartbeat(group.id, committer.id, now, committer.session_timeout_ms)
        return None

    def check_commit_in_transaction(
        self, group: ClassicGroup, request: TxnOffsetCommitRequest
    ) -> Check | None:
        """A producer may commit for a group without being of it."""
        generation, instance_id = request.generation_id, request.group_instance_id
        if not self._is_outside(group, generation) and (
            generation >= 0 or request.member_id or instance_id is not None
        ):
            self._check_member(group, request.member_id, instance_id, generation)
        return None

    def _is_outside(self, group: ClassicGroup, generation: int) -> bool:
        """Nobody is in the group, and the committer does not claim to be."""
        return generation < 0 and group.is_empty

    def _check_member(
        self, group: ClassicGroup, member_id: str, instance_id: str | None, generation: int
    ) -> None:
        group.check_member(member_id, instance_id)
        if generation != group.generation:
            raise KafkaError(ErrorCode.ILLEGAL_GENERATION)

    def check_deletion(self, group: ClassicGroup) -> None:
        if not (group.is_empty or group.uses_consumer_protocol):
            raise KafkaError(ErrorCode.NON_EMPTY_GROUP)

    def ages_since(self, group: ClassicGroup, offset: Committed) -> int | None:
        """When the group became empty, or the commit where nobody ever joined."""
        if group.is_simple:
            return offset.commit_ms
        if group.is_empty:
            return group.state_since_ms if group.state_since_ms >= 0 else offset.commit_ms
        if group.state is ClassicGroupState.STABLE and group.subscribed_topics is not None:
            return offset.commit_ms
        return None

    def is_awaited(self, group: ClassicGroup) -> bool:
        return bool(group.pending_joins)
