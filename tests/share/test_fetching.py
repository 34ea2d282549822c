"""ShareFetch: what one partition refuses is no matter of the others."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from ottla.broker.features import SHARE_GROUPS
from ottla.broker.handlers import share_fetch
from ottla.broker.share_sessions import ShareSessions
from ottla.broker.shares import Taken
from ottla.errors import ErrorCode, KafkaError
from ottla.groups.share.in_flight import Acquired
from ottla.log.reading import Damage
from ottla.wire.messages.share_fetch import FetchPartition, FetchTopic, ShareFetchRequest

TOPIC_ID = b"t" * 16


class Shares:
    """A queue is its partition's number; that of partition 1 refuses."""

    def __init__(self, refusal: KafkaError) -> None:
        self.sessions = ShareSessions(1)
        terms = SimpleNamespace(lock_s=30.0)
        self.queues = SimpleNamespace(open=self._open, terms_of=lambda group_id: terms)
        self._refusal = refusal

    async def _open(self, group_id: str, topic_id: bytes, partition: int, **_: bool) -> int:
        return partition

    async def take(self, key: Any, queue: int, records_max: int, *, whole_batches: bool) -> Taken:
        if queue == 1:
            raise self._refusal
        return Taken(b"records", [Acquired(0, 4, 1)])


@pytest.mark.parametrize(
    ("refusal", "told"),
    [
        (KafkaError(ErrorCode.UNKNOWN_TOPIC_ID), ErrorCode.UNKNOWN_TOPIC_ID),
        (KafkaError(ErrorCode.FENCED_STATE_EPOCH), ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE), ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (Damage(7), ErrorCode.KAFKA_STORAGE_ERROR),
    ],
)
def test_a_partition_that_refuses_does_not_keep_back_what_was_taken_of_others(
    refusal: KafkaError, told: ErrorCode
) -> None:
    broker: Any = SimpleNamespace(
        image=SimpleNamespace(features={SHARE_GROUPS: 1}),
        shares=Shares(refusal),
        now=lambda: 0.0,
        partition_state=lambda *_: SimpleNamespace(leader=3, leader_epoch=2),
        endpoints=lambda *_: [],
    )
    peer = SimpleNamespace(share_sessions=set())
    context: Any = SimpleNamespace(peer=peer, listener_name="L")
    partitions = [FetchPartition(partition_index=index) for index in range(3)]
    request = ShareFetchRequest(
        group_id="g",
        member_id="m",
        max_wait_ms=500,
        max_bytes=1 << 20,
        max_records=500,
        topics=[FetchTopic(topic_id=TOPIC_ID, partitions=partitions)],
    )
    reply = asyncio.run(share_fetch.handle(request, context, broker))
    assert reply.error_code == ErrorCode.NONE
    (topic,) = reply.responses
    found = {part.partition_index: part for part in topic.partitions}
    assert {index: part.error_code for index, part in found.items()} == {0: 0, 1: told, 2: 0}
    assert [len(found[index].acquired_records) for index in range(3)] == [1, 0, 1]
    assert found[1].current_leader.leader_id == 3
