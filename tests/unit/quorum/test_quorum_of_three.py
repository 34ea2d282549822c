"""Several members over real sockets: elections, copies, fail-over, and voters that change."""

import asyncio
import time
from pathlib import Path

import pytest

from ottla.errors import ErrorCode
from ottla.wire.messages.add_raft_voter import AddRaftVoterRequest, AddRaftVoterResponse, Listener
from ottla.wire.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    RequestPartitionData,
    RequestTopicData,
)
from ottla.wire.messages.remove_raft_voter import RemoveRaftVoterRequest
from support.quorum_members import CLUSTER_ID, Member, Members, eventually

FAIL_OVER_SECONDS_MAX = 1.5


@pytest.mark.parametrize("static", [True, False])
def test_what_one_appends_all_are_told(tmp_path: Path, static: bool) -> None:
    async def scenario() -> None:
        async with Members(tmp_path, 3, static=static) as members:
            leader = await members.leader()
            await leader.quorum.append([b"a", b"b"])
            await leader.quorum.append([b"c"])
            for member in members.all.values():
                await eventually(lambda member=member: member.memory.values == [b"a", b"b", b"c"])

    asyncio.run(scenario())


def test_a_dead_leader_is_replaced_at_once_and_comes_back(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Members(tmp_path, 3, static=False) as members:
            leader = await members.leader()
            await leader.quorum.append([b"before"])
            began = time.perf_counter()
            await leader.die()
            successor = await members.leader()
            await successor.quorum.append([b"after"])
            assert time.perf_counter() - began < FAIL_OVER_SECONDS_MAX
            await leader.start()
            await eventually(lambda: leader.memory.values == [b"before", b"after"])

    asyncio.run(scenario())


def test_a_leader_that_stops_hands_over(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Members(tmp_path, 3, static=True) as members:
            leader = await members.append(b"before")
            epoch = leader.quorum.epoch  # it may hear of its successor's before it is gone
            await leader.stop()
            successor = await members.append(b"after")
            assert successor.quorum.epoch > epoch

    asyncio.run(scenario())


def test_a_member_that_missed_much_starts_from_a_snapshot(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Members(tmp_path, 3, static=True) as members:
            leader = await members.leader()
            late = next(member for member in members.all.values() if member is not leader)
            await late.stop()
            values = [b"%d" % n for n in range(100)]
            for value in values:
                await leader.quorum.append([value])
            quorum = leader.quorum
            for _ in range(2):  # the second drops the segment that the first ended
                await quorum.append([b"x"])
                values.append(b"x")
                await quorum.write_snapshot(values, quorum.high_watermark, quorum.epoch)
            await late.start()
            await eventually(lambda: late.memory.values == values)
            assert late.memory.snapshots

    asyncio.run(scenario())


async def describe(member: Member) -> DescribeQuorumResponse:
    topic = RequestTopicData(
        topic_name="__cluster_metadata", partitions=[RequestPartitionData(partition_index=0)]
    )
    response = await member.quorum.handle(DescribeQuorumRequest(topics=[topic]), 2)
    assert isinstance(response, DescribeQuorumResponse)
    return response


def test_an_observer_becomes_a_voter_and_the_leader_leaves(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Members(tmp_path, 2, static=False, voters=1) as members:
            leader, observer = members.all.values()
            await leader.quorum.append([b"a"])
            await eventually(lambda: observer.memory.values == [b"a"])
            add = AddRaftVoterRequest(
                cluster_id=CLUSTER_ID,
                timeout_ms=5000,
                voter_id=2,
                voter_directory_id=observer.config.directory_id,
                listeners=[
                    Listener(name=each.listener, host=each.host, port=each.port)
                    for each in observer.config.endpoints
                ],
            )
            added = await leader.quorum.handle(add, 1)
            assert added == AddRaftVoterResponse(error_code=ErrorCode.NONE)
            (partition,) = (await describe(leader)).topics[0].partitions
            assert [voter.replica_id for voter in partition.current_voters] == [1, 2]
            remove = RemoveRaftVoterRequest(
                cluster_id=CLUSTER_ID, voter_id=1, voter_directory_id=leader.config.directory_id
            )
            await leader.quorum.handle(remove, 0)
            successor = await members.leader(other_than=leader)
            await successor.quorum.append([b"b"])
            await eventually(lambda: leader.memory.values == [b"a", b"b"])

    asyncio.run(scenario())
