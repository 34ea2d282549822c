"""Two real logs and no network: a follower ends with what its leader has, whatever happened."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ottla.errors import ErrorCode
from ottla.ids import TopicPartition
from ottla.log.config import LogConfig
from ottla.log.files import OpenFiles
from ottla.log.partition_log import LogResources, PartitionLog
from ottla.log.recovery import open_log
from ottla.log.tail import TailCache
from ottla.replication.follower import FollowedPartition, Verdict
from ottla.wire.messages.fetch import EpochEndOffset, PartitionData
from support.log_batches import NOW, batch, values_from

ORDERS = TopicPartition("orders", 0)
OpenReplica = Callable[[str], PartitionLog]


def open_replica_in(folder: Path) -> OpenReplica:
    resources = LogResources(OpenFiles(limit=8), TailCache(budget=1 << 20))
    config = LogConfig(segment_bytes=500)

    def open_it(name: str) -> PartitionLog:
        (folder / name).mkdir(exist_ok=True)
        return open_log(folder / name / "orders-0", ORDERS, config, resources, now_ms=NOW)

    return open_it


@pytest.fixture
def open_replica(tmp_path: Path) -> OpenReplica:
    return open_replica_in(tmp_path)


def write(log: PartitionLog, epoch: int, *values: bytes) -> None:
    log.epochs.assign(epoch, log.log_end_offset)
    for value in values:
        log.append_as_leader(batch(value), leader_epoch=epoch, now_ms=NOW)


def answer(leader: PartitionLog, follower: FollowedPartition) -> PartitionData:
    """What a leader replies to the follower's next fetch."""
    wanted = follower.wanted(max_bytes=200)
    if not leader.log_start_offset <= wanted.fetch_offset <= leader.log_end_offset:
        return PartitionData(error_code=ErrorCode.OFFSET_OUT_OF_RANGE)
    if wanted.last_fetched_epoch >= 0:
        end = leader.epochs.end_offset_for(wanted.last_fetched_epoch, leader.log_end_offset)
        if end.epoch < wanted.last_fetched_epoch or end.start_offset < wanted.fetch_offset:
            return PartitionData(
                diverging_epoch=EpochEndOffset(epoch=end.epoch, end_offset=end.start_offset)
            )
    read = leader.read(wanted.fetch_offset, 200, upto=leader.log_end_offset)
    return PartitionData(
        high_watermark=leader.high_watermark,
        log_start_offset=leader.log_start_offset,
        records=bytes(read.fetch_cold() if read.cold else read.data),
    )


def catch_up(leader: PartitionLog, log: PartitionLog, epoch: int) -> None:
    follower = FollowedPartition(log, leader_id=1, epoch=epoch)
    for _ in range(1_000):
        data = answer(leader, follower)
        if follower.took(data, NOW) is Verdict.OUT_OF_RANGE:
            follower.restart_at(leader.log_start_offset, leader.log_end_offset, NOW)
        elif not data.records and data.diverging_epoch.epoch < 0:
            return
    raise AssertionError("the follower does not come to rest")


def contents(log: PartitionLog) -> list[bytes | None]:
    return values_from(log, log.log_start_offset)


def test_a_follower_copies_its_leader(open_replica: OpenReplica) -> None:
    leader, follower = open_replica("a"), open_replica("b")
    write(leader, 0, *[b"%d" % n for n in range(40)])
    leader.advance_high_watermark(30)
    catch_up(leader, follower, 0)
    assert contents(follower) == contents(leader)
    assert follower.high_watermark == 30
    assert follower.epochs.entries == leader.epochs.entries


def test_what_only_the_old_leader_had_is_cut_by_epoch(open_replica: OpenReplica) -> None:
    old, new = open_replica("a"), open_replica("b")
    write(old, 0, b"shared")
    catch_up(old, new, 0)
    write(old, 0, b"never replicated", b"nor this")
    write(new, 1, b"from the new leader")
    catch_up(new, old, 1)
    assert contents(old) == [b"shared", b"from the new leader"]


def test_two_failovers_without_writes_between_do_not_diverge(open_replica: OpenReplica) -> None:
    """KIP-279: the leader answers with the largest epoch it knows below the asked one."""
    first, second = open_replica("a"), open_replica("b")
    write(first, 0, b"shared")
    catch_up(first, second, 0)
    write(first, 1, b"only first")
    write(second, 2, b"only second")
    catch_up(second, first, 2)
    assert contents(first) == contents(second) == [b"shared", b"only second"]
    assert first.epochs.entries == second.epochs.entries


def test_a_follower_never_truncates_what_the_leader_has(open_replica: OpenReplica) -> None:
    """KIP-101: the high watermark of a restarted follower lags; its records must stay."""
    leader, follower = open_replica("a"), open_replica("b")
    write(leader, 0, b"acknowledged")
    catch_up(leader, follower, 0)
    follower.high_watermark = 0
    catch_up(leader, follower, 1)
    assert contents(follower) == [b"acknowledged"]


def test_a_follower_behind_the_leaders_start_begins_there(open_replica: OpenReplica) -> None:
    leader, follower = open_replica("a"), open_replica("b")
    write(leader, 0, *[b"%d" % n for n in range(20)])
    leader.advance_high_watermark(20)
    leader.delete_records_before(10)
    leader.enforce_retention(NOW)
    catch_up(leader, follower, 0)
    assert follower.log_end_offset == 20
    assert contents(follower)[-10:] == [b"%d" % n for n in range(10, 20)]


def test_an_error_of_the_leader_is_waited_out(open_replica: OpenReplica) -> None:
    follower = FollowedPartition(open_replica("b"), leader_id=1, epoch=3)
    fenced = PartitionData(error_code=ErrorCode.FENCED_LEADER_EPOCH)
    assert follower.took(fenced, NOW) is Verdict.TRY_LATER


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 3), st.sampled_from("abc"))))
def test_replicas_agree_after_any_history(
    tmp_path_factory: pytest.TempPathFactory, history: list[tuple[str, int, str]]
) -> None:
    open_replica = open_replica_in(tmp_path_factory.mktemp("history"))
    logs = {name: open_replica(name) for name in "abc"}
    for epoch, (leader, writes, copier) in enumerate(history):
        write(logs[leader], epoch, *[b"%d-%d" % (epoch, n) for n in range(writes)])
        if copier != leader:
            catch_up(logs[leader], logs[copier], epoch)
    last = logs["a"]
    write(last, len(history), b"end")
    for name in "bc":
        catch_up(last, logs[name], len(history))
        assert contents(logs[name]) == contents(last)
        assert logs[name].epochs.entries == last.epochs.entries
    for log in logs.values():
        log.close()
