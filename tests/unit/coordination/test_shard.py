"""The contract of a shard, shown with a machine that keeps offsets and nothing else."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import pytest

from ottla.coordination.java_hash import java_hash
from ottla.coordination.machine import (
    LATER,
    Answer,
    CoordinatorRecord,
    Decision,
    Instant,
    ProducerIdAndEpoch,
    RecordTypes,
    Ticket,
)
from ottla.coordination.shard import Phase, Shard
from ottla.coordination.shards import Shards
from ottla.errors import ErrorCode, KafkaError
from ottla.ports.clock import Clock
from ottla.simulation.engine.virtual_loop import VirtualLoop, run_virtually
from ottla.wire.message import Message
from ottla.wire.record_batch import read_header
from ottla.wire.records.offsets import OffsetCommitKey, OffsetCommitValue
from support.shard_log import MemoryLog


class Notebook:
    """Remembers a number by name; can keep who asks waiting; forgets after a while."""

    RECORDS = RecordTypes({1: (OffsetCommitKey, OffsetCommitValue)}, {OffsetCommitValue: 4})

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.pending: dict[int, dict[str, int]] = {}
        self.waiting: list[Ticket] = []
        self.wake_at: float | None = None
        self.is_loaded = False

    def replay(self, offset: int, producer_id: int, key: Message, value: Message | None) -> None:
        assert isinstance(key, OffsetCommitKey)
        numbers = self.numbers if producer_id < 0 else self.pending.setdefault(producer_id, {})
        if isinstance(value, OffsetCommitValue):
            numbers[key.group] = value.offset
        else:
            numbers.pop(key.group, None)

    def replay_marker(self, producer_id: int, producer_epoch: int, committed: bool) -> None:
        numbers = self.pending.pop(producer_id, {})
        if committed:
            self.numbers.update(numbers)

    def loaded(self, now: Instant) -> Decision[None]:
        self.is_loaded = True
        return Decision((), None)

    def deadline(self) -> float | None:
        return self.wake_at

    def tick(self, now: Instant) -> Decision[None]:
        self.wake_at = None
        return Decision([note("woken", 1)], None, [Answer(t, "woken") for t in self.waiting])

    def put(
        self, name: str, number: int, producer: ProducerIdAndEpoch | None = None
    ) -> Decision[int]:
        known = self.numbers.get(name, 0)
        return Decision([note(name, number)], known, producer=producer)

    def get(self, name: str) -> Decision[int | None]:
        return Decision((), self.numbers.get(name))

    def wait(self, now: Instant, ticket: Ticket, seconds: float) -> Decision[str]:
        self.waiting.append(ticket)
        self.wake_at = now.seconds + seconds
        return Decision((), LATER)


def note(name: str, number: int) -> CoordinatorRecord:
    return CoordinatorRecord(OffsetCommitKey(group=name), OffsetCommitValue(offset=number))


def virtual_clock() -> Clock:
    return Clock(asyncio.get_running_loop().time, lambda: 1_000)


def in_a_loop(
    body: Callable[[Shard[Notebook], MemoryLog], Awaitable[None]], *, replicated: bool = False
) -> None:
    """In virtual time: a commit times out because nobody replicates, not because of a busy host."""

    async def run() -> None:
        log = MemoryLog(replicated=replicated)
        shard = Shard("notes-0", Notebook, virtual_clock(), commit_timeout_s=0.05)
        await shard.load(log)
        await body(shard, log)
        shard.unload()

    run_virtually(run())


def test_a_decision_sees_what_was_decided_before_it() -> None:
    async def body(shard: Shard[Notebook], log: MemoryLog) -> None:
        first = shard.submit(lambda notes, now, _: notes.put("a", 1))
        second = shard.submit(lambda notes, now, _: notes.put("a", 2))
        assert [await first, await second] == [0, 1]

    in_a_loop(body)


def test_decisions_of_one_turn_share_a_batch() -> None:
    async def body(shard: Shard[Notebook], log: MemoryLog) -> None:
        puts = [shard.submit(lambda notes, now, _: notes.put("a", 1)) for _ in range(10)]
        assert log.batches == []
        await asyncio.gather(*puts)
        assert [read_header(batch).count for batch in log.batches] == [10]

    in_a_loop(body)


def test_turns_that_all_bring_something_share_a_batch() -> None:
    async def body(shard: Shard[Notebook], log: MemoryLog) -> None:
        puts = []
        for _ in range(5):
            puts.append(shard.submit(lambda notes, now, _: notes.put("a", 1)))
            await asyncio.sleep(0)
        assert log.batches == []
        await asyncio.gather(*puts)
        assert [read_header(batch).count for batch in log.batches] == [5]

    in_a_loop(body)


def test_who_comes_again_and_again_is_not_put_off_for_ever() -> None:
    async def body(shard: Shard[Notebook], log: MemoryLog) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        while not log.batches:
            assert loop.now < 1
            shard.submit(lambda notes, now, _: notes.put("a", 1))
            loop.now += 0.00001  # each turn takes a while
            await asyncio.sleep(0)

    in_a_loop(body)


def test_a_reply_waits_for_the_commit_of_its_records_and_of_those_it_saw() -> None:
    async def body(shard: Shard[Notebook], log: MemoryLog) -> None:
        put = shard.submit(lambda notes, now, _: notes.put("a", 1))
        get = shard.submit(lambda notes, now, _: notes.get("a"))
        await asyncio.sleep(0.01)
        assert not put.done()
        assert not get.done()
        log.commit()
        assert [await put, await get] == [0, 1]

    in_a_loop(body, replicated=True)


def refuse(notes: Notebook, now: Instant, _: Ticket) -> Decision[None]:
    raise KafkaError(ErrorCode.INVALID_TXN_STATE)


def test_a_refusal_waits_for_the_commit_of_what_it_saw() -> None:
    async def body(shard: Shard[Notebook], log: MemoryLog) -> None:
        with pytest.raises(KafkaError):
            shard.submit(refuse)  # at once: it rests on nothing that can be lost
        put = shard.submit(lambda notes, now, _: notes.put("a", 1))
        refused = shard.submit(refuse)
        while not log.batches:
            await asyncio.sleep(0)
        assert not refused.done()
        log.commit()
        await put
        with pytest.raises(KafkaError) as told:
            await refused
        assert told.value.code is ErrorCode.INVALID_TXN_STATE

    in_a_loop(body, replicated=True)


def test_who_is_cut_off_refuses_nobody_by_what_it_knew() -> None:
    """It cannot commit: those who ask look for its successor."""

    async def body(shard: Shard[Notebook], log: MemoryLog) -> None:
        put = shard.submit(lambda notes, now, _: notes.put("a", 1))
        with pytest.raises(KafkaError):
            await put
        refused = shard.submit(refuse)
        shard.unload()
        with pytest.raises(KafkaError) as told:
            await refused
        assert told.value.code is ErrorCode.NOT_COORDINATOR

    in_a_loop(body, replicated=True)


def test_whose_followers_are_silent_sends_clients_elsewhere() -> None:
    async def body(shard: Shard[Notebook], log: MemoryLog) -> None:
        log.is_heard = False
        with pytest.raises(KafkaError) as told:
            shard.submit(refuse)
        assert told.value.code is ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert await shard.submit(lambda notes, now, _: notes.get("a")) is None

    in_a_loop(body)


def test_a_commit_that_takes_too_long_is_refused_and_still_counts() -> None:
    async def body(shard: Shard[Notebook], log: MemoryLog) -> None:
        with pytest.raises(KafkaError) as refusal:
            await shard.submit(lambda notes, now, _: notes.put("a", 1))
        assert refusal.value.code is ErrorCode.COORDINATOR_NOT_AVAILABLE
        get = shard.submit(lambda notes, now, _: notes.get("a"))
        log.commit()
        assert await get == 1

    in_a_loop(body, replicated=True)


def test_a_failed_append_takes_the_state_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ottla.coordination.loading.RETRY_LOAD_S", 0.01)

    async def body(shard: Shard[Notebook], log: MemoryLog) -> None:
        await shard.submit(lambda notes, now, _: notes.put("a", 1))
        log.refuse_appends = ErrorCode.NOT_ENOUGH_REPLICAS
        with pytest.raises(KafkaError) as refusal:
            await shard.submit(lambda notes, now, _: notes.put("a", 2))
        assert refusal.value.code is ErrorCode.COORDINATOR_NOT_AVAILABLE
        while shard.phase is Phase.LOADING:
            await asyncio.sleep(0.01)
        assert await shard.submit(lambda notes, now, _: notes.get("a")) == 1

    in_a_loop(body)


def test_what_was_decided_upon_a_lost_batch_is_lost_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Another producer's records need a batch of their own, so the open one is appended first."""
    monkeypatch.setattr("ottla.coordination.loading.RETRY_LOAD_S", 0.01)

    async def body(shard: Shard[Notebook], log: MemoryLog) -> None:
        first = shard.submit(lambda notes, now, _: notes.put("a", 1))
        log.refuse_appends = ErrorCode.NOT_ENOUGH_REPLICAS
        with pytest.raises(KafkaError) as refusal:
            shard.submit(lambda notes, now, _: notes.put("b", 2, ProducerIdAndEpoch(7, 0)))
        log.refuse_appends = None  # before its turn comes
        assert refusal.value.code is ErrorCode.COORDINATOR_NOT_AVAILABLE
        with pytest.raises(KafkaError):
            await first
        while shard.phase is Phase.LOADING:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        assert log.batches == []

    in_a_loop(body)


def test_a_log_that_takes_nothing_is_not_read_over_and_over() -> None:
    async def body(shard: Shard[Notebook], log: MemoryLog) -> None:
        log.refuse_appends = ErrorCode.KAFKA_STORAGE_ERROR
        with pytest.raises(KafkaError):
            await shard.submit(lambda notes, now, _: notes.put("a", 1))
        for _ in range(10):
            await asyncio.sleep(0)
            assert shard.phase is Phase.LOADING, "it was loaded a moment ago"

    in_a_loop(body)


def test_what_is_due_waits_until_it_can_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ottla.coordination.shard.RETRY_TICK_S", 0.01)

    async def body(shard: Shard[Notebook], log: MemoryLog) -> None:
        machine = shard.machine
        woken = shard.submit(lambda notes, now, me: notes.wait(now, me, 0.01))
        log.refuse_appends = ErrorCode.NOT_ENOUGH_REPLICAS
        await asyncio.sleep(0.05)
        assert not woken.done()
        assert shard.machine is machine, "there was no need to load it again"
        log.refuse_appends = None
        assert await woken == "woken"

    in_a_loop(body)


def test_a_new_leader_knows_what_the_old_one_wrote() -> None:
    async def body(shard: Shard[Notebook], log: MemoryLog) -> None:
        await shard.submit(lambda notes, now, _: notes.put("a", 7))
        other = Shard("notes-0", Notebook, virtual_clock())
        loading = other.load(log.reopened())
        with pytest.raises(KafkaError) as refusal:
            other.submit(lambda notes, now, _: notes.get("a"))
        assert refusal.value.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        await loading
        assert other.machine.is_loaded
        assert other.epoch == 1
        assert await other.submit(lambda notes, now, _: notes.get("a")) == 7

    in_a_loop(body)


@pytest.mark.parametrize(
    "code", [ErrorCode.CORRUPT_MESSAGE, ErrorCode.OFFSET_OUT_OF_RANGE], ids=str
)
def test_a_log_that_could_not_be_read_is_loaded_again_while_it_is_led(
    code: ErrorCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ottla.coordination.loading.RETRY_LOAD_S", 0.01)

    async def body(shard: Shard[Notebook], log: MemoryLog) -> None:
        await shard.submit(lambda notes, now, _: notes.put("a", 7))
        next_log = log.reopened()
        next_log.refuse_reads = code
        other = Shard("notes-0", Notebook, virtual_clock())
        loading = other.load(next_log)
        for _ in range(3):
            await asyncio.sleep(0.01)
            with pytest.raises(KafkaError) as refusal:
                other.submit(lambda notes, now, _: notes.get("a"))
            assert refusal.value.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        next_log.refuse_reads = None
        await asyncio.wait_for(loading, 10)
        assert await other.submit(lambda notes, now, _: notes.get("a")) == 7

    in_a_loop(body)


def test_a_log_that_is_led_elsewhere_meanwhile_is_not_loaded_again() -> None:
    async def body(shard: Shard[Notebook], log: MemoryLog) -> None:
        await shard.submit(lambda notes, now, _: notes.put("a", 7))
        next_log = log.reopened()
        next_log.refuse_reads = ErrorCode.NOT_LEADER_OR_FOLLOWER
        other = Shard("notes-0", Notebook, virtual_clock())
        await asyncio.wait_for(other.load(next_log), 10)
        with pytest.raises(KafkaError) as refusal:
            other.submit(lambda notes, now, _: notes.get("a"))
        assert refusal.value.code is ErrorCode.NOT_COORDINATOR

    in_a_loop(body)


def test_a_new_leader_shows_nothing_that_is_not_committed_yet() -> None:
    async def body(shard: Shard[Notebook], log: MemoryLog) -> None:
        put = shard.submit(lambda notes, now, _: notes.put("a", 7))
        while not log.batches:
            await asyncio.sleep(0)
        next_log = log.reopened()
        other = Shard("notes-0", Notebook, virtual_clock())
        await other.load(next_log)
        get = other.submit(lambda notes, now, _: notes.get("a"))
        await asyncio.sleep(0)
        assert not get.done()
        next_log.commit()
        assert await get == 7
        other.unload()
        put.cancel()

    in_a_loop(body, replicated=True)


def test_unloading_refuses_everyone_who_waits() -> None:
    async def body(shard: Shard[Notebook], log: MemoryLog) -> None:
        parked = shard.submit(lambda notes, now, me: notes.wait(now, me, 60))
        put = shard.submit(lambda notes, now, _: notes.put("a", 1))
        shard.unload()
        for future in (parked, put):
            with pytest.raises(KafkaError) as refusal:
                await future
            assert refusal.value.code is ErrorCode.NOT_COORDINATOR
        with pytest.raises(KafkaError):
            shard.submit(lambda notes, now, _: notes.get("a"))
        assert log.batches == []

    in_a_loop(body)


def test_time_passing_answers_who_was_kept_waiting() -> None:
    async def body(shard: Shard[Notebook], log: MemoryLog) -> None:
        assert await shard.submit(lambda notes, now, me: notes.wait(now, me, 0.01)) == "woken"
        assert shard.machine.numbers == {"woken": 1}

    in_a_loop(body)


def test_records_of_a_transaction_count_from_its_marker_on() -> None:
    async def body(shard: Shard[Notebook], log: MemoryLog) -> None:
        producer = ProducerIdAndEpoch(9, 3)
        plain = shard.submit(lambda notes, now, _: notes.put("b", 1))
        await shard.submit(lambda notes, now, _: notes.put("a", 5, producer))
        await plain
        assert [read_header(batch).producer_id for batch in log.batches] == [-1, 9]
        assert shard.machine.numbers == {"b": 1}
        await shard.end_transaction(producer, coordinator_epoch=2, committed=True)
        assert shard.machine.numbers == {"a": 5, "b": 1}
        other = Shard("notes-0", Notebook, virtual_clock())
        await other.load(log.reopened())
        assert other.machine.numbers == {"a": 5, "b": 1}

    in_a_loop(body)


def test_a_marker_is_checked_against_what_was_decided_before_it() -> None:
    """A late one may not slip in between a decision of this turn and its append."""

    async def body(shard: Shard[Notebook], log: MemoryLog) -> None:
        producer = ProducerIdAndEpoch(7, 1)
        putting = shard.submit(lambda notes, now, _: notes.put("a", 1, producer))
        in_the_log: list[int] = []
        await shard.end_transaction(producer, 2, True, lambda: in_the_log.append(len(log.batches)))
        await putting
        assert in_the_log == [1]

    in_a_loop(body)


def test_records_too_large_for_a_batch_are_refused_before_they_are_applied() -> None:
    async def body(shard: Shard[Notebook], log: MemoryLog) -> None:
        log.max_batch_bytes = 200
        with pytest.raises(KafkaError) as refusal:
            shard.submit(lambda notes, now, _: notes.put("a" * 200, 1))
        assert refusal.value.code is ErrorCode.MESSAGE_TOO_LARGE
        assert shard.machine.numbers == {}

    in_a_loop(body)


def test_records_that_need_not_be_one_are_laid_into_as_many_batches_as_they_need() -> None:
    async def body(shard: Shard[Notebook], log: MemoryLog) -> None:
        log.max_batch_bytes = 300
        many = [note(f"name {number}", number) for number in range(20)]
        await shard.submit(lambda notes, now, _: Decision(many, None, is_atomic=False))
        assert shard.machine.numbers == {f"name {number}": number for number in range(20)}
        assert len(log.batches) > 1
        assert all(len(batch) <= 300 for batch in log.batches)

    in_a_loop(body)


def test_who_asks_a_new_leader_that_cannot_commit_is_refused_in_time() -> None:
    async def body(shard: Shard[Notebook], log: MemoryLog) -> None:
        put = shard.submit(lambda notes, now, _: notes.put("a", 7))
        await asyncio.sleep(0)
        other = Shard("notes-0", Notebook, virtual_clock(), commit_timeout_s=0.05)
        await other.load(log.reopened())
        with pytest.raises(KafkaError) as refusal:
            await asyncio.wait_for(other.submit(lambda notes, now, _: notes.put("b", 1)), 5)
        assert refusal.value.code is ErrorCode.COORDINATOR_NOT_AVAILABLE
        other.unload()
        put.cancel()

    in_a_loop(body, replicated=True)


def test_those_who_wait_are_refused_in_the_order_in_which_they_came() -> None:
    """In any other a seed would not tell the same story twice."""

    async def body(shard: Shard[Notebook], log: MemoryLog) -> None:
        refused: list[int] = []

        def ended(number: int, done: asyncio.Future[Any]) -> None:
            if done.exception():
                refused.append(number)

        for number in range(50):
            waits = shard.submit(lambda notes, now, ticket: notes.wait(now, ticket, 60.0))
            waits.add_done_callback(partial(ended, number))
        shard.unload()
        await asyncio.sleep(0)
        assert refused == list(range(50))

    in_a_loop(body)


def test_a_name_hashes_as_in_java() -> None:
    assert java_hash("abc") == 96354
    assert java_hash("my-group") == 1906497762
    assert java_hash("grüße-😀") == 347391577
    assert java_hash("polygenelubricants") == 0  # Java's smallest
    assert java_hash("group-of-round-2") == 727484981  # Java's is negative


def test_a_name_belongs_to_the_shard_of_its_hash() -> None:
    async def run() -> None:
        shards: Shards[Notebook] = Shards("notes", lambda partition: Notebook(), virtual_clock())
        with pytest.raises(KafkaError) as refusal:
            shards.partition_of("abc")
        assert refusal.value.code is ErrorCode.COORDINATOR_NOT_AVAILABLE
        shards.resize(50)
        assert shards.partition_of("abc") == 96354 % 50
        with pytest.raises(KafkaError) as refusal:
            shards.of("abc")
        assert refusal.value.code is ErrorCode.NOT_COORDINATOR
        shards.elected(96354 % 50, MemoryLog())
        assert shards.of("abc").phase is Phase.LOADING
        shards.close()

    run_virtually(run())
