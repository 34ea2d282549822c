"""Plans carried out: replicas moved a few partitions at a time, then leaders elected."""

import asyncio
from collections.abc import Callable, Iterable, Sequence

from ottla.cli.asking import Asking
from ottla.cli.balancing import Key, Move
from ottla.cli.cluster_state import read_moving, refuse
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

AT_ONCE = 20
"""Partitions on the way at the same time: their copies share the brokers with the clients."""
LOOK_S = 0.25
PREFERRED = 0


async def carry_out(asking: Asking, moves: Sequence[Move], moved: Callable[[int], None]) -> None:
    """Returns when every replica is in place; `moved` is told how many partitions just arrived."""
    waiting = list(moves)
    under_way: set[Key] = set()
    while waiting or under_way:
        starting = waiting[: AT_ONCE - len(under_way)]
        del waiting[: len(starting)]
        if starting:
            await _start(asking, starting)
            under_way |= {(move.topic, move.partition) for move in starting}
        still = under_way & set(await read_moving(asking))
        moved(len(under_way) - len(still))
        if still == under_way:
            await asyncio.sleep(LOOK_S)
        under_way = still


async def elect_preferred(asking: Asking, partitions: Iterable[Key]) -> list[Key]:
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
    answer = await asking.any(request, ElectLeadersResponse)
    refuse(answer.error_code, None)
    fine = (ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED)
    return [
        (result.topic, one.partition_id)
        for result in answer.replica_election_results
        for one in result.partition_result
        if one.error_code not in fine
    ]


async def _start(asking: Asking, moves: Sequence[Move]) -> None:
    topics: dict[str, list[ReassignablePartition]] = {}
    for move in moves:
        target = ReassignablePartition(partition_index=move.partition, replicas=list(move.after))
        topics.setdefault(move.topic, []).append(target)
    answer = await asking.any(
        AlterPartitionReassignmentsRequest(
            topics=[ReassignableTopic(name=name, partitions=topics[name]) for name in topics]
        ),
        AlterPartitionReassignmentsResponse,
    )
    refuse(answer.error_code, answer.error_message)
    for topic in answer.responses:
        for one in topic.partitions:
            if one.error_code:
                code = ErrorCode(one.error_code).name
                raise OttlaError(
                    f"{topic.name}-{one.partition_index} cannot be moved: "
                    f"{one.error_message or code}"
                )
