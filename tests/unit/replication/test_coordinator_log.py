"""What a coordinator may answer: what is committed, and on the disk where an option asks for it."""

import asyncio
import os
from errno import EIO
from pathlib import Path

import pytest

from ottla.errors import ErrorCode, KafkaError
from ottla.ids import TopicPartition
from ottla.log.config import LogConfig
from ottla.log.files import OpenFiles
from ottla.log.partition_log import LogResources, PartitionLog
from ottla.log.recovery import open_log
from ottla.log.tail import TailCache
from ottla.replication.coordinator_log import CoordinatorLog
from ottla.replication.in_sync import InSync
from ottla.replication.leader import Leader
from support.log_batches import NOW, append, batch


@pytest.fixture
def log(tmp_path: Path) -> PartitionLog:
    return open_log(
        tmp_path / "__consumer_offsets-0",
        TopicPartition("__consumer_offsets", 0),
        LogConfig(flush_messages=1),
        LogResources(OpenFiles(), TailCache()),
        now_ms=NOW,
    )


class Lead:
    """Where the only replica leads, whatever it appends is committed."""

    def __init__(self, log: PartitionLog, replicas: tuple[int, ...] = (1,)) -> None:
        in_sync = InSync(
            0.0,
            node_id=1,
            replicas=replicas,
            in_sync=replicas,
            end_offset=log.log_end_offset,
            high_watermark=log.log_end_offset,
            min_in_sync=1,
            lag_s_max=30.0,
        )
        log.advance_high_watermark(log.log_end_offset)
        self.leader = Leader(log, 0, in_sync, lambda _: None, lambda *_: None)
        self.asked: list[int] = []
        self.log = CoordinatorLog(self.leader, lambda: 0.0, lambda _, offset: self.ask(offset))

    def ask(self, offset: int) -> None:
        self.asked.append(offset)

    def wake(self) -> None:
        for watcher in list(self.leader.watchers):
            watcher.look()


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_nothing_counts_as_committed_before_it_is_on_the_disk(log: PartitionLog) -> None:
    async def scenario() -> None:
        lead = Lead(log)
        end_offset = lead.log.append(batch(b"an offset"), NOW)
        assert lead.asked == [end_offset]
        assert (log.high_watermark, lead.log.high_watermark) == (1, 0)
        waiting = asyncio.ensure_future(lead.log.committed(end_offset))
        await settled()
        lead.wake()
        await settled()
        assert not waiting.done()
        log.flush()
        lead.wake()
        await asyncio.wait_for(waiting, 5)
        assert lead.log.high_watermark == 1

    asyncio.run(scenario())


def test_who_has_just_begun_to_lead_is_not_heard_before_somebody_follows(
    log: PartitionLog,
) -> None:
    """A node that was killed comes back and believes that it leads, by what it knew: it must not
    refuse a transaction that another coordinator knows by now."""
    lead = Lead(log, replicas=(1, 2, 3))
    assert not lead.log.is_heard
    lead.leader.in_sync.fetched(0.0, 2, 0, broker_epoch=1, eligible=True)
    assert lead.log.is_heard
    assert Lead(log).log.is_heard, "who is alone in sync is right"


def test_what_a_new_leader_finds_counts_once_it_is_on_its_disk(log: PartitionLog) -> None:
    append(log, b"from the leader before")
    lead = Lead(log)
    assert lead.asked == [1]
    assert lead.log.high_watermark == 0
    log.flush()
    assert lead.log.high_watermark == 1


def test_without_the_option_nobody_waits_for_the_disk(log: PartitionLog) -> None:
    log.config = LogConfig()
    append(log, b"from the leader before")
    lead = Lead(log)
    assert lead.log.append(batch(b"an offset"), NOW) == lead.log.high_watermark == 2
    assert lead.asked == []


def test_a_disk_that_fails_is_told_to_who_waits_for_it(log: PartitionLog) -> None:
    async def scenario() -> None:
        lead = Lead(log)
        waiting = asyncio.ensure_future(lead.log.committed(lead.log.append(batch(b"x"), NOW)))
        await settled()
        log.health.fail(OSError(EIO, os.strerror(EIO)))
        lead.wake()
        with pytest.raises(KafkaError) as refusal:
            await asyncio.wait_for(waiting, 5)
        assert refusal.value.code is ErrorCode.KAFKA_STORAGE_ERROR

    asyncio.run(scenario())
