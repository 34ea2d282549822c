"""The quorum's own records: leader changes, voters, and what frames a snapshot.

They travel in control batches beside the data; Kafka writes all of them at version 0.
"""

from collections.abc import Iterator, Sequence

from ottla.wire.codec import decode, encode
from ottla.wire.message import Message
from ottla.wire.record_batch import (
    BatchHeader,
    NewRecord,
    build_batch,
    control_key,
    iterate_records,
    read_control_type,
)
from ottla.wire.records.quorum import (
    KRaftVersionRecord,
    LeaderChangeMessage,
    LeaderChangeMessageVoter,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    VotersRecord,
)

TYPES: dict[int, type[Message]] = {
    2: LeaderChangeMessage,
    3: SnapshotHeaderRecord,
    4: SnapshotFooterRecord,
    5: KRaftVersionRecord,
    6: VotersRecord,
}
TYPE_OF = {cls: kind for kind, cls in TYPES.items()}
VERSION = 0


def build_control_batch(
    records: Sequence[Message], *, base_offset: int, epoch: int, now_ms: int
) -> bytes:
    return build_batch(
        [
            NewRecord(now_ms, control_key(TYPE_OF[type(record)]), encode(record, VERSION))
            for record in records
        ],
        base_offset=base_offset,
        leader_epoch=epoch,
        control=True,
    )


def control_records(
    buffer: bytes | memoryview, position: int, header: BatchHeader
) -> Iterator[tuple[int, Message]]:
    """(offset, record) of a control batch; types of a later Kafka are passed over."""
    for record in iterate_records(buffer, position, header):
        cls = TYPES.get(read_control_type(record))
        if cls is not None and record.value is not None:
            yield record.offset, decode(cls, VERSION, record.value)[0]


def leader_change(leader: int, voters: Sequence[int], granting: Sequence[int]) -> Message:
    return LeaderChangeMessage(
        leader_id=leader,
        voters=[LeaderChangeMessageVoter(voter_id=voter) for voter in voters],
        granting_voters=[LeaderChangeMessageVoter(voter_id=voter) for voter in granting],
    )
