"""Streams groups, as the coordinator deals with groups."""

from typing import TYPE_CHECKING

from ottla.coordination.machine import CoordinatorRecord, Instant
from ottla.errors import ErrorCode, KafkaError
from ottla.groups.kind import MEMBER_EPOCHS_SINCE, Check, MemberEpochKind
from ottla.groups.outcome import Outcome
from ottla.groups.streams import leaving, records
from ottla.groups.streams.group import StreamsGroup
from ottla.ids import Uuid
from ottla.wire.message import Message
from ottla.wire.records.streams_groups import StreamsGroupMetadataKey

if TYPE_CHECKING:
    from ottla.groups.machine import Groups


class StreamsKind(MemberEpochKind[StreamsGroup]):
    name = "streams"
    group = StreamsGroup
    record_types = records.RECORDS
    metadata_key = StreamsGroupMetadataKey

    def apply(self, group: StreamsGroup, key: Message, value: Message | None) -> None:
        records.apply(group, key, value)

    def resume(self, groups: "Groups", group: StreamsGroup, now: Instant, out: Outcome) -> None:
        leaving.expect_again(groups, group, now)

    def time_is_up(
        self,
        groups: "Groups",
        group: StreamsGroup,
        timer: str,
        member_id: str,
        now: Instant,
        out: Outcome,
    ) -> None:
        if timer == "member":
            leaving.session_ended(groups, group, member_id, now, out)
        elif timer == "revoke":
            leaving.revocation_is_late(groups, group, member_id, now, out)
        elif timer == "delay":
            leaving.initial_delay_is_over(groups, group, now, out)

    def state(self, group: StreamsGroup) -> str:
        return group.state

    def tombstones(self, group: StreamsGroup) -> list[CoordinatorRecord]:
        return records.group_tombstones(group)

    def check_asked_in(self, group: StreamsGroup, member_id: str, epoch: int) -> None:
        member = group.member(member_id)
        if epoch != member.epoch:
            raise KafkaError(ErrorCode.STALE_MEMBER_EPOCH)

    def check_epoch(
        self, group: StreamsGroup, member_id: str, epoch: int, api_version: int
    ) -> Check | None:
        """A partition belongs to who has its task."""
        if epoch < 0 and group.is_empty:
            return None
        member = group.member(member_id)
        stale = ErrorCode.STALE_MEMBER_EPOCH
        if api_version < MEMBER_EPOCHS_SINCE:
            raise KafkaError(
                ErrorCode.UNSUPPORTED_VERSION,
                "OffsetCommit version 9 or above must be used by members of the streams protocol.",
            )
        if epoch > member.epoch or group.topology is None:
            raise KafkaError(stale)
        if epoch == member.epoch:
            return None
        topology, since = group.topology, member.since

        def check(name: str, topic_id: Uuid, partition: int) -> None:
            subtopology = topology.reader_of(name)
            if subtopology is None or since.get((subtopology, partition), epoch + 1) > epoch:
                raise KafkaError(
                    stale, f"{name}-{partition} was not the member's in epoch {epoch}."
                )

        return check
