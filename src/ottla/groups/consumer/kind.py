"""Consumer groups, as the coordinator deals with groups."""

from typing import TYPE_CHECKING

from ottla.coordination.machine import CoordinatorRecord, Instant
from ottla.errors import ErrorCode, KafkaError
from ottla.groups.consumer import leaving, records
from ottla.groups.consumer.group import ConsumerGroup, ConsumerMemberState
from ottla.groups.kind import MEMBER_EPOCHS_SINCE, Check, MemberEpochKind
from ottla.groups.outcome import Outcome
from ottla.ids import Uuid
from ottla.wire.message import Message
from ottla.wire.records.consumer_groups import ConsumerGroupMetadataKey

if TYPE_CHECKING:
    from ottla.groups.machine import Groups


class ConsumerKind(MemberEpochKind[ConsumerGroup]):
    name = "consumer"
    group = ConsumerGroup
    record_types = records.RECORDS
    metadata_key = ConsumerGroupMetadataKey

    def apply(self, group: ConsumerGroup, key: Message, value: Message | None) -> None:
        records.apply(group, key, value)

    def resume(self, groups: "Groups", group: ConsumerGroup, now: Instant, out: Outcome) -> None:
        for member in group.members.values():
            groups.expect_member(group.id, member.id, now, member)
            if member.state is ConsumerMemberState.UNREVOKED_PARTITIONS and member.classic is None:
                groups.expect_revocation(group.id, member.id, now, member.rebalance_timeout_ms)

    def time_is_up(
        self,
        groups: "Groups",
        group: ConsumerGroup,
        timer: str,
        member_id: str,
        now: Instant,
        out: Outcome,
    ) -> None:
        if timer == "member":
            leaving.session_ended(groups, group, member_id, now, out)
        elif timer in ("join", "sync"):
            leaving.is_late(groups, group, member_id, timer, now, out)
        elif timer == "revoke":
            leaving.revocation_is_late(groups, group, member_id, now, out)

    def state(self, group: ConsumerGroup) -> str:
        return group.state

    def tombstones(self, group: ConsumerGroup) -> list[CoordinatorRecord]:
        return records.group_tombstones(group)

    def check_asked_in(self, group: ConsumerGroup, member_id: str, epoch: int) -> None:
        member = group.member(member_id)
        if epoch != member.epoch:
            is_classic = member.classic is not None
            raise KafkaError(
                ErrorCode.ILLEGAL_GENERATION if is_classic else ErrorCode.STALE_MEMBER_EPOCH
            )

    def check_epoch(
        self, group: ConsumerGroup, member_id: str, epoch: int, api_version: int
    ) -> Check | None:
        if epoch < 0 and group.is_empty:
            return None
        member = group.member(member_id)
        stale = ErrorCode.STALE_MEMBER_EPOCH
        if member.classic is not None:
            stale = ErrorCode.ILLEGAL_GENERATION
        elif api_version < MEMBER_EPOCHS_SINCE:
            raise KafkaError(
                ErrorCode.UNSUPPORTED_VERSION,
                "OffsetCommit version 9 or above must be used by members of the consumer protocol.",
            )
        if epoch > member.epoch:
            raise KafkaError(stale)
        if epoch == member.epoch:
            return None
        held, revoking = member.held, member.revoking

        def check(name: str, topic_id: Uuid, partition: int) -> None:
            since = held.get(topic_id, {}).get(partition)
            if since is None:
                since = revoking.get(topic_id, {}).get(partition)
            if since is None or since > epoch:
                raise KafkaError(
                    stale, f"{name}-{partition} was not the member's in epoch {epoch}."
                )

        return check
