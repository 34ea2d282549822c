"""When a node writes its image down: never amid a transaction, half of which nobody would find."""

import asyncio
from collections.abc import Iterable

from ottla.metadata.publisher import Publisher
from ottla.metadata.records import Record, frames
from ottla.metadata.snapshotting import Snapshotting
from ottla.wire.records.metadata import BeginTransactionRecord, EndTransactionRecord, TopicRecord
from support.ids import new_uuid


class SnapshotsKept:
    def __init__(self) -> None:
        self.written: list[tuple[int, list[str]]] = []

    async def write_snapshot(self, values: Iterable[bytes], end_offset: int, epoch: int) -> None:
        reader = Publisher()
        reader.load_snapshot(values, end_offset, epoch)
        self.written.append((end_offset, sorted(reader.image.topics_by_name)))


async def turns() -> None:
    for _ in range(3):
        await asyncio.sleep(0)


def test_a_snapshot_waits_for_the_end_of_a_transaction_that_began_in_the_same_turn() -> None:
    async def run() -> None:
        publisher, kept = Publisher(), SnapshotsKept()
        Snapshotting(publisher, kept, bytes_max=1, interval_ms=0, now=lambda: 0.0)

        def commit(offset: int, *records: Record) -> None:
            publisher.committed(offset, 1, frames(records), 0)

        commit(0, TopicRecord(name="before", topic_id=new_uuid()))
        commit(1, BeginTransactionRecord(), TopicRecord(name="inside", topic_id=new_uuid()))
        await turns()
        assert kept.written == []
        commit(3, EndTransactionRecord())
        await turns()
        assert kept.written == [(4, ["before", "inside"])]

    asyncio.run(run())
