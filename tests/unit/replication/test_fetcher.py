"""What a leader answers counts only for those who still follow it when the answer comes."""

import asyncio
import os
from collections.abc import Callable, Coroutine
from errno import EIO
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ottla.errors import ErrorCode
from ottla.ids import TopicPartition
from ottla.log.config import LogConfig
from ottla.log.files import OpenFiles
from ottla.log.partition_log import LogResources, PartitionLog
from ottla.log.recovery import open_log
from ottla.log.tail import TailCache
from ottla.ports.clock import SYSTEM_CLOCK
from ottla.ports.network import Frame, LinkLost
from ottla.replication.fetcher import Fetcher
from ottla.replication.fetcher_means import FetchingBroker, FetchLimits, Flushed
from ottla.replication.fetchers import Fetchers
from ottla.replication.follower import FollowedPartition
from ottla.replication.throttles import Throttle
from ottla.wire.codec import encode
from ottla.wire.message import Message
from ottla.wire.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from ottla.wire.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from support.log_batches import NOW, append, batch, values_from

ORDERS, TOPIC = TopicPartition("orders", 0), b"o" * 16
FETCH, LIST_OFFSETS = 1, 2
ONE_FETCHER = partial(Fetcher, 1)


class Leader:
    """Answers when the test says so. It is its own network, and its own only link."""

    def __init__(self) -> None:
        self._asked: asyncio.Queue[tuple[int, bytes, asyncio.Future[Frame]]] = asyncio.Queue()
        self._open: set[asyncio.Future[Frame]] = set()
        self.is_open = False

    async def is_asked(self, key: int) -> Callable[[Message, int], None]:
        """The way to answer the next request, which has this key."""
        async with asyncio.timeout(5):
            asked, correlation, answer = await self._asked.get()
        assert asked == key

        def respond(response: Message, version: int) -> None:
            tags = b"\x00" if version >= response.FLEXIBLE_SINCE else b""
            answer.set_result(correlation + tags + encode(response, version))

        return respond

    @property
    def is_left_alone(self) -> bool:
        return self._asked.empty()

    # what a fetcher knows of it

    async def connect(self, host: str, port: int, lost: Callable[[], None]) -> "Leader":
        self.is_open = True
        return self

    async def exchange(self, frame: bytes) -> Frame:
        answer: asyncio.Future[Frame] = asyncio.get_running_loop().create_future()
        self._open.add(answer)
        self._asked.put_nowait((int.from_bytes(frame[:2], "big"), frame[4:8], answer))
        return await answer

    def close(self) -> None:
        self.is_open = False
        for answer in self._open:
            if not answer.done():
                answer.set_exception(LinkLost("closed"))
        self._open.clear()

    def lost(self, broker_id: int) -> None:
        pass

    def found(self, broker_id: int) -> None:
        pass


@pytest.fixture
def log(tmp_path: Path) -> PartitionLog:
    resources = LogResources(OpenFiles(), TailCache())
    log = open_log(
        tmp_path / "orders-0", ORDERS, LogConfig(), resources, now_ms=NOW, topic_id=TOPIC
    )
    append(log, *(b"%d" % n for n in range(10)))
    return log


async def never_due(log: PartitionLog, offset: int) -> None:
    raise AssertionError("flush.messages is not set")


def fetching(
    scenario: Callable[[Leader, Any], Coroutine[Any, Any, None]],
    flushed: Flushed = never_due,
    kind: Callable[..., Fetcher | Fetchers] = ONE_FETCHER,
) -> None:
    async def run() -> None:
        leader = Leader()
        broker = FetchingBroker(2, lambda: 1)
        address = "leader", 1
        fetcher = kind(
            broker,
            lambda _: address,
            leader,
            FetchLimits(),
            leader,
            flushed,
            Throttle("follower"),
            SYSTEM_CLOCK,
        )
        try:
            await scenario(leader, fetcher)
        finally:
            await fetcher.stop()

    asyncio.run(run())


def fetched(**fields: Any) -> FetchResponse:
    data = PartitionData(partition_index=0, **fields)
    topic = FetchableTopicResponse(topic_id=TOPIC, partitions=[data])
    return FetchResponse(session_id=1, responses=[topic])


def listed(offset: int) -> ListOffsetsResponse:
    partition = ListOffsetsPartitionResponse(partition_index=0, offset=offset)
    return ListOffsetsResponse(
        topics=[ListOffsetsTopicResponse(name="orders", partitions=[partition])]
    )


async def is_out_of_range(leader: Leader, start: int, end: int) -> Callable[[], None]:
    """Up to the last answer, after which the follower would cut its log."""
    respond = await leader.is_asked(FETCH)
    respond(fetched(error_code=ErrorCode.OFFSET_OUT_OF_RANGE), 17)
    respond = await leader.is_asked(LIST_OFFSETS)
    respond(listed(start), 7)
    respond = await leader.is_asked(LIST_OFFSETS)
    return lambda: respond(listed(end), 7)


async def settled() -> None:
    """All that can happen now has happened."""
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.mark.parametrize(("start", "end"), [(500, 900), (0, 3)])
def test_a_replica_that_leads_meanwhile_does_not_cut_its_log(
    log: PartitionLog, start: int, end: int
) -> None:
    async def scenario(leader: Leader, fetcher: Fetcher) -> None:
        fetcher.follow(FollowedPartition(log, leader_id=1, epoch=5))
        answer = await is_out_of_range(leader, start, end)
        fetcher.forget(ORDERS)
        answer()
        await settled()
        assert (log.log_start_offset, log.log_end_offset) == (0, 10)

    fetching(scenario)


def test_an_answer_to_an_older_epoch_is_not_taken_for_one_to_the_newer(log: PartitionLog) -> None:
    async def scenario(leader: Leader, fetcher: Fetcher) -> None:
        fetcher.follow(FollowedPartition(log, leader_id=1, epoch=5))
        respond = await leader.is_asked(FETCH)
        respond(fetched(records=batch(b"of epoch 5", base_offset=10, leader_epoch=5)), 17)
        fetcher.forget(ORDERS)
        fetcher.follow(FollowedPartition(log, leader_id=1, epoch=7))
        respond = await leader.is_asked(FETCH)
        assert log.log_end_offset == 10
        respond(fetched(records=batch(b"of epoch 7", base_offset=10, leader_epoch=7)), 17)
        await leader.is_asked(FETCH)
        assert values_from(log, 10) == [b"of epoch 7"]

    fetching(scenario)


@pytest.mark.parametrize(("start", "end"), [(11, 20), (0, 3)])
def test_a_disk_that_fails_while_a_log_is_cut_is_reported_and_the_link_stays(
    log: PartitionLog, start: int, end: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise OSError(EIO, os.strerror(EIO))

    async def scenario(leader: Leader, fetcher: Fetcher) -> None:
        monkeypatch.setattr(PartitionLog, "truncate_to", fail)
        monkeypatch.setattr(PartitionLog, "truncate_fully_and_start_at", fail)
        fetcher.follow(FollowedPartition(log, leader_id=1, epoch=5))
        answer = await is_out_of_range(leader, start, end)
        answer()
        await settled()
        assert log.health.failure is not None
        assert leader.is_open

    fetching(scenario)


def test_a_log_that_meets_its_leaders_after_all_is_kept(log: PartitionLog) -> None:
    async def scenario(leader: Leader, fetcher: Fetcher) -> None:
        fetcher.follow(FollowedPartition(log, leader_id=1, epoch=5))
        answer = await is_out_of_range(leader, start=4, end=12)
        answer()
        await leader.is_asked(FETCH)
        assert (log.log_start_offset, log.log_end_offset) == (0, 10)

    fetching(scenario)


@pytest.mark.parametrize(("start", "end"), [(11, 20), (0, 3)])
def test_a_log_beyond_its_leaders_is_cut_and_one_before_it_begins_anew(
    log: PartitionLog, start: int, end: int
) -> None:
    async def scenario(leader: Leader, fetcher: Fetcher) -> None:
        fetcher.follow(FollowedPartition(log, leader_id=1, epoch=5))
        answer = await is_out_of_range(leader, start, end)
        answer()
        await leader.is_asked(FETCH)
        assert log.log_end_offset == (start if start > 10 else end)

    fetching(scenario)


class SlowDisk:
    """Flushes when the test says so."""

    def __init__(self) -> None:
        self.may_flush = asyncio.Event()

    async def flushed(self, log: PartitionLog, offset: int) -> None:
        await self.may_flush.wait()
        self.may_flush.clear()
        log.flush()


def test_a_follower_tells_its_leader_of_nothing_that_is_not_on_its_disk(log: PartitionLog) -> None:
    log.config = LogConfig(flush_messages=1)
    disk = SlowDisk()

    async def scenario(leader: Leader, fetcher: Fetcher) -> None:
        fetcher.follow(FollowedPartition(log, leader_id=1, epoch=5))
        await settled()
        assert leader.is_left_alone, "what an earlier life left is not on the disk yet"
        disk.may_flush.set()
        respond = await leader.is_asked(FETCH)
        respond(fetched(records=batch(b"new", base_offset=10, leader_epoch=5)), 17)
        await settled()
        assert (log.log_end_offset, log.recovery_point) == (11, 10)
        assert leader.is_left_alone
        disk.may_flush.set()
        respond = await leader.is_asked(FETCH)
        assert log.recovery_point == 11
        respond(fetched(), 17)
        await leader.is_asked(FETCH)  # nothing new, nothing to wait for

    fetching(scenario, disk.flushed)


def test_who_follows_another_leader_meanwhile_still_waits_for_the_disk(log: PartitionLog) -> None:
    log.config = LogConfig(flush_messages=1)
    disk = SlowDisk()

    async def scenario(leader: Leader, fetchers: Fetchers) -> None:
        fetchers.follow(FollowedPartition(log, leader_id=1, epoch=5))
        await settled()
        fetchers.follow(FollowedPartition(log, leader_id=3, epoch=6))
        await settled()
        assert leader.is_left_alone
        disk.may_flush.set()
        await leader.is_asked(FETCH)
        assert log.recovery_point == 10

    fetching(scenario, disk.flushed, Fetchers)


def test_a_partition_that_waits_for_the_disk_keeps_no_other_waiting(
    log: PartitionLog, tmp_path: Path
) -> None:
    log.config = LogConfig(flush_messages=1)
    other = open_log(
        tmp_path / "orders-1",
        TopicPartition("orders", 1),
        LogConfig(),
        LogResources(OpenFiles(), TailCache()),
        now_ms=NOW,
        topic_id=TOPIC,
    )
    append(other, b"not flushed")
    disk = SlowDisk()

    async def scenario(leader: Leader, fetchers: Fetchers) -> None:
        fetchers.follow(FollowedPartition(log, leader_id=1, epoch=5))
        fetchers.follow(FollowedPartition(other, leader_id=1, epoch=5))
        respond = await leader.is_asked(FETCH)
        respond(fetched(), 17)
        await leader.is_asked(FETCH)
        assert log.recovery_point == other.recovery_point == 0

    fetching(scenario, disk.flushed, Fetchers)


def test_a_follower_whose_disk_cannot_flush_tells_its_leader_nothing(log: PartitionLog) -> None:
    log.config = LogConfig(flush_messages=1)

    async def fail(log: PartitionLog, offset: int) -> None:
        raise OSError(EIO, os.strerror(EIO))

    async def scenario(leader: Leader, fetcher: Fetcher) -> None:
        fetcher.follow(FollowedPartition(log, leader_id=1, epoch=5))
        await settled()
        assert log.health.failure is not None
        assert leader.is_left_alone

    fetching(scenario, fail)
