"""Share groups, as the coordinator deals with groups. Their offsets are the share coordinator's."""

from typing import TYPE_CHECKING

from ottla.coordination.machine import CoordinatorRecord, Instant
from ottla.errors import ErrorCode, KafkaError
from ottla.groups.kind import Check, EpochKind
from ottla.groups.outcome import Outcome
from ottla.groups.share import heartbeats, records
from ottla.groups.share.group import ShareGroup
from ottla.wire.message import Message
from ottla.wire.messages.offset_commit import OffsetCommitRequest
from ottla.wire.messages.txn_offset_commit import TxnOffsetCommitRequest
from ottla.wire.records.share_groups import ShareGroupMetadataKey

if TYPE_CHECKING:
    from ottla.groups.machine import Groups


class ShareKind(EpochKind[ShareGroup]):
    name = "share"
    group = ShareGroup
    record_types = records.RECORDS
    metadata_key = ShareGroupMetadataKey
    has_offsets = False

    def apply(self, group: ShareGroup, key: Message, value: Message | None) -> None:
        records.apply(group, key, value)

    def resume(self, groups: "Groups", group: ShareGroup, now: Instant, out: Outcome) -> None:
        for member_id in group.members:
            groups.expect_member(group.id, member_id, now)

    def time_is_up(
        self,
        groups: "Groups",
        group: ShareGroup,
        timer: str,
        member_id: str,
        now: Instant,
        out: Outcome,
    ) -> None:
        heartbeats.session_ended(groups, group, member_id, now, out)

    def state(self, group: ShareGroup) -> str:
        return group.state

    def tombstones(self, group: ShareGroup) -> list[CoordinatorRecord]:
        return records.group_tombstones(group)

    def check_commit(
        self,
        groups: "Groups",
        group: ShareGroup,
        now: Instant,
        request: OffsetCommitRequest,
        api_version: int,
    ) -> Check | None:
        raise without_offsets(group)

    def check_commit_in_transaction(
        self, group: ShareGroup, request: TxnOffsetCommitRequest
    ) -> Check | None:
        raise without_offsets(group)

    def check_deletion(self, group: ShareGroup) -> None:
        raise without_offsets(group)


def without_offsets(group: ShareGroup) -> KafkaError:
    sentence = f"Group {group.id} is a share group: it has no offsets."
    return KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, sentence)
