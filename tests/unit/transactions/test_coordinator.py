"""The coordinator over a shard in memory: what is written, what is told, which markers go out."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from ottla.errors import ErrorCode, KafkaError
from ottla.ids import TopicPartition
from ottla.ports.clock import SYSTEM_CLOCK
from ottla.transactions.coordinator import TransactionCoordinator, TransactionLimits
from ottla.transactions.machine import EndTransaction
from ottla.transactions.markers import results
from ottla.transactions.states import Transaction, TransactionState
from ottla.wire.messages.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from support.shard_log import MemoryLog

ORDERS = TopicPartition("orders", 0)
GONE = TopicPartition("gone", 0)


class Cluster:
    """Leaders that write markers, or fail a few times first."""

    def __init__(self) -> None:
        self.requests: list[WriteTxnMarkersRequest] = []
        self.failures: list[ErrorCode] = []
        self.refused: dict[TopicPartition, ErrorCode] = {}
        self.reachable = asyncio.Event()
        self.reachable.set()

    def exists(self, partition: TopicPartition) -> bool:
        return partition != GONE

    def leader_of(self, partition: TopicPartition) -> int | None:
        return 1

    async def write_markers(
        self, broker_id: int, request: WriteTxnMarkersRequest
    ) -> WriteTxnMarkersResponse:
        await self.reachable.wait()
        self.requests.append(request)
        code = self.failures.pop(0) if self.failures else ErrorCode.NONE
        return WriteTxnMarkersResponse(
            markers=[
                WritableTxnMarkerResult(
                    producer_id=marker.producer_id,
                    topics=[
                        WritableTxnMarkerTopicResult(
                            name=topic.name,
                            partitions=[
                                WritableTxnMarkerPartitionResult(
                                    partition_index=i,
                                    error_code=self.refused.get(
                                        TopicPartition(topic.name, i), code
                                    ),
                                )
                                for i in topic.partition_indexes
                            ],
                        )
                        for topic in marker.topics
                    ],
                )
                for marker in request.markers
            ]
        )


class Ids:
    def __init__(self) -> None:
        self.last = 6

    async def next(self) -> int:
        self.last += 1
        return self.last


class World:
    def __init__(self) -> None:
        self.cluster = Cluster()
        self.log = MemoryLog(replicated=False)
        self.now_ms = 1_000
        self.coordinator = self.new_coordinator()

    def new_coordinator(self) -> TransactionCoordinator:
        coordinator = TransactionCoordinator(
            producer_ids=Ids(),
            leaders=self.cluster,
            clock=SYSTEM_CLOCK._replace(wall_ms=lambda: self.now_ms),
            server_version=lambda: 2,
            limits=TransactionLimits(abort_interval_s=0.001),
        )
        coordinator.shards.resize(1)
        coordinator.elected(0, self.log)
        return coordinator

    async def ready(self) -> None:
        while self.coordinator.shards.loading:
            await asyncio.sleep(0)

    async def begin(self, *partitions: TopicPartition) -> Transaction:
        transaction = await self.coordinator.init_producer("app", 60_000, None)
        await self.coordinator.add_partitions(
            "app",
            transaction.producer_id,
            transaction.producer_epoch,
            frozenset(partitions),
            2,
        )
        return transaction

    async def end(self, transaction: Transaction, *, commit: bool) -> Transaction:
        ask = EndTransaction(
            producer_id=transaction.producer_id,
            producer_epoch=transaction.producer_epoch,
            commit=commit,
            client_version=2,
        )
        return await self.coordinator.end("app", ask)

    async def until(self, state: TransactionState) -> Transaction:
        async with asyncio.timeout(5):
            while (transaction := self.coordinator.describe("app")).state is not state:
                await asyncio.sleep(0.001)
        return transaction


def in_a_world(body: Callable[[World], Awaitable[None]]) -> None:
    async def run() -> None:
        world = World()
        await world.ready()
        await body(world)
        await world.coordinator.stop()

    asyncio.run(run())


def test_a_commit_sends_markers_with_the_bumped_epoch_and_then_completes() -> None:
    async def body(world: World) -> None:
        begun = await world.begin(ORDERS)
        ended = await world.end(begun, commit=True)
        assert (ended.producer_id, ended.producer_epoch) == (7, 1)
        await world.until(TransactionState.COMPLETE_COMMIT)
        (request,) = world.cluster.requests
        (marker,) = request.markers
        assert (marker.producer_id, marker.producer_epoch) == (7, 1)
        assert marker.transaction_result is True
        assert marker.topics[0].name == "orders"

    in_a_world(body)


def test_markers_are_tried_until_the_leader_takes_them() -> None:
    async def body(world: World) -> None:
        world.cluster.failures = [ErrorCode.NOT_LEADER_OR_FOLLOWER] * 2
        await world.end(await world.begin(ORDERS), commit=True)
        await world.until(TransactionState.COMPLETE_COMMIT)
        assert len(world.cluster.requests) == 3

    in_a_world(body)


def test_while_a_transaction_is_ended_only_what_has_no_marker_yet_is_described() -> None:
    """A partition whose producer has a later epoch takes none: the transaction stays there."""

    async def body(world: World) -> None:
        other = TopicPartition("orders", 1)
        world.cluster.refused = {other: ErrorCode.INVALID_PRODUCER_EPOCH}
        begun = await world.begin(ORDERS, other)
        assert world.coordinator.describe("app").partitions == {ORDERS, other}
        await world.end(begun, commit=True)
        async with asyncio.timeout(5):
            while world.coordinator.describe("app").partitions != {other}:
                await asyncio.sleep(0)
        world.cluster.refused.clear()
        looking = asyncio.create_task(world.coordinator.run())
        assert not (await world.until(TransactionState.COMPLETE_COMMIT)).partitions
        (topic,) = world.cluster.requests[-1].markers[0].topics
        assert topic.partition_indexes == [1]
        looking.cancel()

    in_a_world(body)


def test_who_resigned_remembers_no_markers() -> None:
    async def body(world: World) -> None:
        other = TopicPartition("orders", 1)
        world.cluster.refused = {other: ErrorCode.TRANSACTION_COORDINATOR_FENCED}
        await world.end(await world.begin(ORDERS, other), commit=True)
        async with asyncio.timeout(5):
            while world.coordinator.describe("app").partitions != {other}:
                await asyncio.sleep(0)
        for _ in range(10):
            await asyncio.sleep(0)  # the effort is given up
        world.coordinator.resigned(0)
        world.cluster.reachable.clear()
        world.coordinator.elected(0, world.log)
        await world.ready()
        assert world.coordinator.describe("app").partitions == {ORDERS, other}

    in_a_world(body)


def test_a_deleted_partition_needs_no_marker() -> None:
    async def body(world: World) -> None:
        await world.end(await world.begin(GONE), commit=False)
        await world.until(TransactionState.COMPLETE_ABORT)
        assert world.cluster.requests == []

    in_a_world(body)


def test_a_coordinator_that_starts_again_finishes_what_was_decided() -> None:
    async def body(world: World) -> None:
        world.cluster.reachable.clear()
        await world.end(await world.begin(ORDERS), commit=True)
        await world.coordinator.stop()
        world.cluster.reachable.set()
        world.coordinator = world.new_coordinator()
        await world.ready()
        await world.until(TransactionState.COMPLETE_COMMIT)

    in_a_world(body)


def test_a_decision_that_is_not_committed_yet_sends_no_markers() -> None:
    """Another leader may not have it, and would abort what we had told some to commit."""

    async def body(world: World) -> None:
        world.cluster.reachable.clear()
        await world.end(await world.begin(ORDERS), commit=True)
        await world.coordinator.stop()
        world.cluster.reachable.set()
        behind = MemoryLog(replicated=True)
        behind.batches, behind.log_end_offset = world.log.batches, world.log.log_end_offset
        behind.high_watermark = behind.log_end_offset - 1
        world.log = behind
        world.coordinator = world.new_coordinator()
        await world.ready()
        await asyncio.sleep(0.02)
        assert world.cluster.requests == []
        behind.commit()
        async with asyncio.timeout(5):
            while not world.cluster.requests:
                await asyncio.sleep(0.001)

    in_a_world(body)


def test_a_coordinator_elected_anew_delivers_with_its_new_epoch() -> None:
    async def body(world: World) -> None:
        world.cluster.failures = [ErrorCode.NOT_LEADER_OR_FOLLOWER] * 3
        await world.end(await world.begin(ORDERS), commit=True)
        world.coordinator.resigned(0)
        world.log = world.log.reopened()
        world.coordinator.elected(0, world.log)
        await world.ready()
        await world.until(TransactionState.COMPLETE_COMMIT)
        assert world.cluster.requests[-1].markers[0].coordinator_epoch == 1

    in_a_world(body)


def test_a_partition_is_verified_only_once_its_adding_is_committed() -> None:
    async def body(world: World) -> None:
        begun = await world.begin(GONE)
        world.coordinator.resigned(0)
        world.log = world.log.reopened()
        world.log._replicated = True
        world.coordinator.elected(0, world.log)
        await world.ready()
        producer = (begun.producer_id, begun.producer_epoch)
        adding = asyncio.ensure_future(
            world.coordinator.add_partitions("app", *producer, frozenset({ORDERS}), 2)
        )
        await asyncio.sleep(0)
        verifying = asyncio.ensure_future(
            world.coordinator.verify_partitions("app", *producer, frozenset({ORDERS}))
        )
        await asyncio.sleep(0.02)
        assert not adding.done()
        assert not verifying.done()
        world.log.commit()
        await adding
        assert await verifying == {ORDERS: ErrorCode.NONE}

    in_a_world(body)


def test_who_was_replaced_a_moment_ago_sends_its_client_on_instead_of_refusing_it() -> None:
    """Leaders have added partitions where the coordinator is now; this one does not know yet."""

    async def body(world: World) -> None:
        producer = await world.coordinator.init_producer("app", 60_000, None)
        world.log._replicated = True
        ending = asyncio.ensure_future(world.end(producer, commit=True))
        await asyncio.sleep(0.02)
        assert not ending.done(), "a refusal for good rests on what is committed after it"
        world.log.depose()
        with pytest.raises(KafkaError) as caught:
            await ending
        assert caught.value.code == ErrorCode.NOT_COORDINATOR

    in_a_world(body)


def test_a_refusal_for_good_changes_nothing() -> None:
    async def body(world: World) -> None:
        producer = await world.coordinator.init_producer("app", 60_000, None)
        before = world.coordinator.describe("app")
        with pytest.raises(KafkaError) as caught:
            await world.end(producer, commit=True)
        assert caught.value.code == ErrorCode.INVALID_TXN_STATE
        assert world.coordinator.describe("app") == before

    in_a_world(body)


def test_a_transaction_open_for_too_long_is_aborted_and_its_producer_fenced() -> None:
    async def body(world: World) -> None:
        begun = await world.begin(ORDERS)
        world.now_ms += 60_001
        running = asyncio.create_task(world.coordinator.run())
        aborted = await world.until(TransactionState.COMPLETE_ABORT)
        running.cancel()
        assert aborted.producer_epoch == begun.producer_epoch + 1
        with pytest.raises(KafkaError) as caught:
            await world.coordinator.add_partitions("app", 7, 0, frozenset({ORDERS}))
        assert caught.value.code == ErrorCode.PRODUCER_FENCED

    in_a_world(body)


def test_a_second_producer_is_told_to_wait_and_then_takes_over() -> None:
    async def body(world: World) -> None:
        await world.begin(ORDERS)
        with pytest.raises(KafkaError) as caught:
            await world.coordinator.init_producer("app", 60_000, None)
        assert caught.value.code == ErrorCode.CONCURRENT_TRANSACTIONS
        await world.until(TransactionState.COMPLETE_ABORT)
        second = await world.coordinator.init_producer("app", 60_000, None)
        assert second.producer_epoch == 2

    in_a_world(body)


def test_a_repeated_init_is_known_and_a_zombies_is_refused() -> None:
    async def body(world: World) -> None:
        init = world.coordinator.init_producer
        first = await init("app", 60_000, None)
        bumped = await init("app", 60_000, (first.producer_id, 0))
        assert (await init("app", 60_000, (first.producer_id, 0))).producer_epoch == 1
        assert bumped.producer_epoch == 1
        await init("app", 60_000, None)
        with pytest.raises(KafkaError) as caught:
            await init("app", 60_000, (first.producer_id, 1))
        assert caught.value.code == ErrorCode.PRODUCER_FENCED

    in_a_world(body)


def test_more_ids_expire_at_once_than_a_batch_has_room_for() -> None:
    async def body(world: World) -> None:
        for n in range(30):
            await world.coordinator.init_producer(f"app-{n}", 60_000, None)
        world.log.max_batch_bytes = 500
        later_ms, shard = world.now_ms + 1000, world.coordinator.shards.at(0)
        assert await shard.submit(lambda ledger, now, _: ledger.expire(later_ms, 1000)) == 30
        assert list(shard.machine) == []
        assert [record.value for record in world.log.records()[-30:]] == [None] * 30
        assert max(len(batch) for batch in world.log.batches) <= 500

    in_a_world(body)


@pytest.mark.parametrize("timeout_ms", [0, -1, 900_001])
def test_a_time_out_beyond_the_limit_is_refused(timeout_ms: int) -> None:
    async def body(world: World) -> None:
        with pytest.raises(KafkaError) as caught:
            await world.coordinator.init_producer("app", timeout_ms, None)
        assert caught.value.code == ErrorCode.INVALID_TRANSACTION_TIMEOUT

    in_a_world(body)


def test_results_name_each_partition() -> None:
    partition = WritableTxnMarkerPartitionResult(partition_index=2, error_code=6)
    topic = WritableTxnMarkerTopicResult(name="t", partitions=[partition])
    response = WriteTxnMarkersResponse(markers=[WritableTxnMarkerResult(topics=[topic])])
    assert list(results(response)) == [(TopicPartition("t", 2), ErrorCode.NOT_LEADER_OR_FOLLOWER)]
