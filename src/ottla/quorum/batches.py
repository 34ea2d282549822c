"""Fetched bytes, checked, and as much of them as the machine needs to know."""

from ottla.errors import KafkaError
from ottla.quorum.control_records import control_records
from ottla.quorum.events import Batch
from ottla.quorum.voters import VoterSet
from ottla.wire.record_batch import BatchHeader, crc_is_valid, iterate_batches
from ottla.wire.records.quorum import KRaftVersionRecord, VotersRecord


def summarize(
    records: bytes | memoryview, offset: int, epoch: int
) -> tuple[tuple[Batch, ...], bytes]:
    """The whole batches that go on from `offset` and that `epoch` or an earlier one wrote.

    What follows a damaged or foreign batch is dropped: it will be fetched again.
    """
    batches: list[Batch] = []
    size = 0
    try:
        for position, header in iterate_batches(records):
            sound = header.base_offset == offset and 0 <= header.leader_epoch <= epoch
            if not sound or not crc_is_valid(records, position, header):
                break
            batches.append(_summary(records, position, header))
            offset = header.next_offset
            size = position + header.size
    except KafkaError:
        pass
    return tuple(batches), bytes(records[:size])


def _summary(records: bytes | memoryview, position: int, header: BatchHeader) -> Batch:
    voters = kraft_version = None
    if header.is_control:
        for _, record in control_records(records, position, header):
            match record:
                case KRaftVersionRecord():
                    kraft_version = record.k_raft_version
                case VotersRecord():
                    voters = VoterSet.from_record(record)
    return Batch(header.base_offset, header.next_offset, header.leader_epoch, voters, kraft_version)
