"""Plans carried out: replicas moved a few partitions at a time, then leaders elected."""

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from ottla.client.balancing import Key, Move
from ottla.client.cluster_state import read_moving, refuse
from ottla.client.wire_client import WireClient
from ottla.errors import ErrorCode, OttlaError
from ottla.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from ottla.wire.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    TopicPartitions,
)
from ottla.wire.messages.metadata import MetadataRequest, MetadataResponse

AT_ONCE = 20
"""Partitions on the way at the same time: their copies share the brokers with the clients."""
LOOK_S = 0.25
STALLED_S = 15.0
"""After so long without an arrival it is asked whether one can be hoped for."""
PREFERRED = 0


async def carry_out(wire: WireClient, moves: Sequence[Move], moved: Callable[[int], None]) -> None:
    """Returns when every replica is in place; `moved` is told how many partitions just arrived."""
    now = asyncio.get_running_loop().time
    waiting = list(moves)
    under_way: set[Key] = set()
    arrived_at = now()
    while waiting or under_way:
        starting = waiting[: AT_ONCE - len(under_way)]
        del waiting[: len(starting)]
        if starting:
            targets = {(move.topic, move.partition): list(move.after) for move in starting}
            await _reassign(wire, targets)
            under_way |= targets.keys()
        still = under_way & set(await read_moving(wire))
        moved(len(under_way) - len(still))
        if still != under_way:
            arrived_at = now()
        elif now() - arrived_at > STALLED_S:
            await _refuse_without_leader(wire, under_way)
            arrived_at = now()
        else:
            await asyncio.sleep(LOOK_S)
        under_way = still


async def elect_preferred(wire: WireClient, partitions: Iterable[Key]) -> list[Key]:
    """The first replica of each shall lead; those where it cannot, because it is not in sync."""
    topics: dict[str, list[int]] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, []).append(partition)
    if not topics:
        return []
    request = ElectLeadersRequest(
        election_type=PREFERRED,
        topic_partitions=[TopicPartitions(topic=name, partitions=topics[name]) for name in topics],
    )
    answer = await wire.ask_any(request, ElectLeadersResponse)
    refuse(answer.error_code, None)
    fine = (ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED)
    return [
        (result.topic, one.partition_id)
        for result in answer.replica_election_results
        for one in result.partition_result
        if one.error_code not in fine
    ]


async def _refuse_without_leader(wire: WireClient, under_way: Collection[Key]) -> None:
    """It cannot be called off either: no replica is in sync that it could go back to."""
    everything = MetadataRequest(topics=None, allow_auto_topic_creation=False)
    lost = [
        key
        for topic in (await wire.ask_any(everything, MetadataResponse)).topics
        for one in topic.partitions
        if one.leader_id < 0 and (key := (topic.name or "", one.partition_index)) in under_way
    ]
    if not lost:
        return
    names = ", ".join(f"{topic}-{partition}" for topic, partition in sorted(lost))
    raise OttlaError(
        f"Without a leader there is nobody to copy from: {names}. Start the brokers that hold "
        "them: then they move on, and the same command does the rest."
    )


async def _reassign(wire: WireClient, targets: Mapping[Key, list[int]]) -> None:
    topics: dict[str, list[ReassignablePartition]] = {}
    for (topic, partition), replicas in targets.items():
        target = ReassignablePartition(partition_index=partition, replicas=replicas)
        topics.setdefault(topic, []).append(target)
    answer = await wire.ask_any(
        AlterPartitionReassignmentsRequest(
            topics=[ReassignableTopic(name=name, partitions=topics[name]) for name in topics]
        ),
        AlterPartitionReassignmentsResponse,
    )
    refuse(answer.error_code, answer.error_message)
    for answered in answer.responses:
        for one in answered.partitions:
            if one.error_code:
                code = ErrorCode(one.error_code).name
                raise OttlaError(
                    f"{answered.name}-{one.partition_index} cannot be moved: "
                    f"{one.error_message or code}"
                )
