"""Proposals of in-sync sets on their way: what a leader may forget, and what not."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ottla.errors import ErrorCode, KafkaError
from ottla.ids import TopicPartition
from ottla.metadata.image import Image
from ottla.replication.in_sync import InSync
from ottla.replication.in_sync_changes import PAUSE_S, InSyncChanges
from ottla.replication.leader import Leader
from ottla.simulation.engine.virtual_loop import run_virtually
from ottla.wire.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    ResponsePartitionData,
    ResponseTopicData,
)

WHERE, TOPIC_ID = TopicPartition("t", 0), bytes(15) + b"\x07"


class Asked:
    """A controller that answers as it was told to, one after another, and then never."""

    def __init__(self, *answers: ErrorCode | Exception) -> None:
        self.answers = list(answers)
        self.requests: list[AlterPartitionRequest] = []

    async def ask(self, request: AlterPartitionRequest, response: object) -> AlterPartitionResponse:
        self.requests.append(request)
        if not self.answers:
            await asyncio.get_running_loop().create_future()
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        data = ResponsePartitionData(partition_index=0, error_code=int(answer))
        return AlterPartitionResponse(
            topics=[ResponseTopicData(topic_id=TOPIC_ID, partitions=[data])]
        )


def leading(controller: Asked) -> Leader:
    """A leader with one follower in sync and one that has just caught up."""
    in_sync = InSync(
        0.0,
        node_id=1,
        replicas=(1, 2, 3),
        in_sync=(1, 2),
        end_offset=5,
        high_watermark=5,
        min_in_sync=2,
        lag_s_max=3.0,
    )
    log = cast(Any, SimpleNamespace(topic_partition=WHERE, topic_id=TOPIC_ID))
    state = SimpleNamespace(partition_epoch=1, replicas=(1, 2, 3))
    replica = SimpleNamespace(topic_partition=WHERE, state=state, leader=None)
    partitions = cast(Any, SimpleNamespace(find=lambda *_: replica, image=Image()))
    changes = InSyncChanges(cast(Any, controller), lambda: partitions, 1, lambda: 9, lambda: 0.0)
    leader = Leader(log, 4, in_sync, lambda _: None, changes.propose)
    replica.leader = leader
    leader.perform(in_sync.fetched(0.0, 3, 5, broker_epoch=1, eligible=True))
    return leader


@pytest.mark.parametrize("lost", [KafkaError(ErrorCode.NOT_CONTROLLER), ValueError("a fault")])
def test_a_proposal_whose_answer_is_lost_still_counts_and_is_asked_again(lost: Exception) -> None:
    async def story() -> None:
        controller = Asked(lost, ErrorCode.INVALID_UPDATE_VERSION)
        leader = leading(controller)
        await asyncio.sleep(3 * PAUSE_S)
        assert leader.in_sync.maximal == {1, 2, 3}
        assert len(controller.requests) == 3

    run_virtually(story())


def test_a_replica_that_may_not_count_is_not_waited_for() -> None:
    async def story() -> None:
        leader = leading(Asked(ErrorCode.INELIGIBLE_REPLICA))
        await asyncio.sleep(2 * PAUSE_S)
        assert leader.in_sync.proposed is None

    run_virtually(story())


def test_a_late_refusal_does_not_withdraw_the_proposal_that_came_after() -> None:
    async def story() -> None:
        leader = leading(Asked(ErrorCode.INELIGIBLE_REPLICA))
        await asyncio.sleep(PAUSE_S / 2)
        leader.perform(leader.in_sync.decided(0.0, (1, 2, 3), (1, 2)))
        leader.perform(leader.in_sync.fetched(0.0, 3, 5, broker_epoch=2, eligible=True))
        await asyncio.sleep(PAUSE_S)
        assert leader.in_sync.proposed == frozenset({1, 2, 3})

    run_virtually(story())
