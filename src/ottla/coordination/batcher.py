"""The batch that a shard is about to append: what comes together becomes one. Pure."""

from collections.abc import Sequence
from typing import NamedTuple

from ottla.coordination.machine import Answer, CoordinatorRecord, ProducerIdAndEpoch, RecordTypes
from ottla.coordination.records import encode_entry
from ottla.wire.record_batch import NewRecord, build_batch

RECORD_OVERHEAD = 21  # varints and attributes around a record's key and value, at most


class EncodedRecords(NamedTuple):
    records: list[NewRecord]
    size: int  # of a batch with these alone, without its header, at most


class ClosedBatch(NamedTuple):
    """Closed: nothing more is added."""

    records: list[NewRecord]
    producer: ProducerIdAndEpoch | None  # whose transaction all of them are part of
    answers: list[Answer]  # given once the batch is committed

    def encode(self, leader_epoch: int) -> bytes:
        producer = self.producer
        return build_batch(
            self.records,
            leader_epoch=leader_epoch,
            producer_id=-1 if producer is None else producer.id,
            producer_epoch=-1 if producer is None else producer.epoch,
            transactional=producer is not None,
        )


def encode_records(
    entries: Sequence[CoordinatorRecord], types: RecordTypes, now_ms: int
) -> EncodedRecords:
    records: list[NewRecord] = []
    size = 0
    for entry in entries:
        key, value = encode_entry(entry, types)
        size += len(key) + len(value or b"") + RECORD_OVERHEAD
        records.append(NewRecord(now_ms, key, value))
    return EncodedRecords(records, size)


class Batcher:
    """The open batch. Its records are applied already; nobody was told of them yet."""

    __slots__ = ("_answers", "_producer", "_size", "records")

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self.records: list[NewRecord] = []
        self._size = 0
        self._producer: ProducerIdAndEpoch | None = None
        self._answers: list[Answer] = []

    def fits(self, size: int, producer: ProducerIdAndEpoch | None, limit: int) -> bool:
        """A batch belongs to one transaction, or to none, and is not larger than `limit`."""
        return producer == self._producer and self._size + size <= limit

    def add(self, encoded: EncodedRecords, producer: ProducerIdAndEpoch | None) -> None:
        self.records += encoded.records
        self._size += encoded.size
        self._producer = producer

    def add_one(self, record: NewRecord, size: int, answer: Answer) -> None:
        """A record outside of transactions, and who waits for it."""
        self.records.append(record)
        self._size += size
        self._producer = None
        self._answers.append(answer)

    def answer_with_it(self, answers: Sequence[Answer]) -> None:
        self._answers.extend(answers)

    def close(self) -> ClosedBatch:
        batch = ClosedBatch(self.records, self._producer, self._answers)
        self._begin()
        return batch
