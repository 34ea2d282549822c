"""Commits that repeat an earlier one but for the offset: what a consumer sends for as long as it
lives.

To read such a request, and to write its record and its answer as messages, costs more than all the
rest of it. So a commit of one partition without metadata is remembered by the bytes that stand in
front of its offset, with the record's key and the answer; whoever sends the same bytes again is
spared all that. What differs in any other way, or would be refused, goes the usual way
(`committing`), which is the judge: a test holds the two equal.
"""

from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from ottla.coordination.batcher import RECORD_OVERHEAD
from ottla.coordination.machine import CoordinatorRecord, Instant, RecordTypes
from ottla.coordination.records import encode_entry
from ottla.errors import KafkaError
from ottla.groups.kinds import kind_of
from ottla.groups.offsets.store import Place
from ottla.ids import Uuid
from ottla.wire.codec import encode
from ottla.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from ottla.wire.record_batch import NewRecord
from ottla.wire.records.offsets import OffsetCommitKey

if TYPE_CHECKING:
    from ottla.groups.machine import Groups

REMEMBERED_MAX = 4096

_TAIL, _NO_METADATA = Struct(">qih"), (0, -1)
_FLEXIBLE_TAIL, _NO_METADATA_AND_TAGS = Struct(">qiI"), (0x01000000, 0)
_TAILS = {
    **dict.fromkeys((6, 7), (_TAIL, _NO_METADATA)),
    **dict.fromkeys((8, 9, 10), (_FLEXIBLE_TAIL, _NO_METADATA_AND_TAGS)),
}
"""How a commit of one partition ends, by version: offset, leader epoch, empty or null metadata.
Versions before these have no leader epoch."""

_VALUE = Struct(">hqiBqBBB16s")
"""The record's value in version 4: offset, leader epoch, empty metadata, time; one tag, the 16
bytes of the topic's id."""


class RepeatedCommit(NamedTuple):
    """What is the same in all of them."""

    request: OffsetCommitRequest  # the first of them
    api_version: int
    place: Place
    topic_id: Uuid | None  # None: the topic is asked for by its name
    key: bytes  # of its record
    record_size: int  # at most
    answer: bytes  # once that is committed


class RepeatedCommits:
    """Those that were seen of late."""

    __slots__ = ("_by_version",)

    def __init__(self) -> None:
        self._by_version: dict[int, dict[bytes, RepeatedCommit]] = {each: {} for each in _TAILS}

    def find(
        self, frame: memoryview, position: int, api_version: int
    ) -> tuple[RepeatedCommit, int, int] | None:
        """What the request at `position` repeats; its offset and leader epoch."""
        remembered = self._by_version.get(api_version)
        if not remembered:
            return None
        tail, without_metadata = _TAILS[api_version]
        at = len(frame) - tail.size
        found = remembered.get(bytes(frame[position:at]))
        if found is None:
            return None
        offset, leader_epoch, end = tail.unpack_from(frame, at)
        return (found, offset, leader_epoch) if end in without_metadata else None

    def remember(
        self, request: OffsetCommitRequest, api_version: int, *, by_topic_id: bool
    ) -> None:
        """If it can be repeated. Its topics exist, and are known by name and id."""
        remembered = self._by_version.get(api_version)
        if remembered is None or len(request.topics) != 1:
            return
        topic = request.topics[0]
        if len(topic.partitions) != 1 or topic.partitions[0].committed_metadata:
            return
        if len(remembered) >= REMEMBERED_MAX:
            remembered.clear()
        place = (topic.name, topic.partitions[0].partition_index)
        key = _record_key(request.group_id, place)
        remembered[_front(request, api_version)] = RepeatedCommit(
            request,
            api_version,
            place,
            topic.topic_id if by_topic_id else None,
            key,
            len(key) + _VALUE.size + RECORD_OVERHEAD,
            _answer(place, topic.topic_id, api_version),
        )


def _front(request: OffsetCommitRequest, api_version: int) -> bytes:
    return encode(request, api_version)[: -_TAILS[api_version][0].size]


def _record_key(group_id: str, place: Place) -> bytes:
    topic, partition = place
    key = OffsetCommitKey(group=group_id, topic=topic, partition=partition)
    return encode_entry(CoordinatorRecord(key, None), RecordTypes({}, {}))[0]


def _record_value(offset: int, leader_epoch: int, commit_ms: int, topic_id: Uuid) -> bytes:
    return _VALUE.pack(4, offset, leader_epoch, 1, commit_ms, 1, 0, 16, topic_id)


def _answer(place: Place, topic_id: Uuid, api_version: int) -> bytes:
    name, index = place
    partition = OffsetCommitResponsePartition(partition_index=index)
    topic = OffsetCommitResponseTopic(name=name, topic_id=topic_id, partitions=[partition])
    return encode(OffsetCommitResponse(topics=[topic]), api_version)


def commit_again(
    groups: "Groups",
    now: Instant,
    repeated: RepeatedCommit,
    offset: int,
    leader_epoch: int,
    topic_id: Uuid,
) -> NewRecord | None:
    """As `committing.commit` and the replay of its record, which is to be written. None: it has to
    go the usual way, and nothing has happened."""
    request, place = repeated.request, repeated.place
    group = groups.groups.get(request.group_id)
    if group is None:
        return None
    try:
        check = kind_of(group).check_commit(groups, group, now, request, repeated.api_version)
        if check is not None:
            check(place[0], topic_id, place[1])
    except KafkaError:
        return None
    now_ms = now.wall_ms
    groups.commit_offset(request.group_id, place, offset, leader_epoch, now_ms, topic_id)
    return NewRecord(now_ms, repeated.key, _record_value(offset, leader_epoch, now_ms, topic_id))
