"""ShareFetch: what one partition refuses is no matter of the others."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from ottla.broker.api import Listeners, apis
from ottla.broker.features import SHARE_GROUPS
from ottla.broker.handlers.share import share_fetch
from ottla.broker.services import ShareServices
from ottla.broker.share.sessions import SessionKey, ShareSession, ShareSessions, rotated
from ottla.broker.transport.context import Peer, RequestContext
from ottla.errors import ErrorCode, KafkaError
from ottla.groups.share.states import SharePartitionKey
from ottla.log.reading import Damage
from ottla.metadata.image import Image, PartitionRegistration, Topic
from ottla.wire.messages.share_fetch import FetchPartition, FetchTopic, ShareFetchRequest
from support.services import ABSENT, cluster_view

TOPIC_ID = b"t" * 16


def led_elsewhere() -> Image:
    image = Image()
    image.features[SHARE_GROUPS] = 1
    away = PartitionRegistration(replicas=(3,), isr=(3,), leader=3, leader_epoch=2)
    image.topics_by_id[TOPIC_ID] = Topic(TOPIC_ID, "t", dict.fromkeys(range(3), away))
    return image


class Shares:
    """Every queue refuses, each in its own way."""

    now = staticmethod(lambda: 0.0)

    def __init__(self, refusals: list[KafkaError]) -> None:
        self.sessions = ShareSessions(1)
        terms = SimpleNamespace(lock_s=30.0)
        self.queues = SimpleNamespace(open=self._open, terms_of=lambda group_id: terms)
        self._refusals = refusals

    def open_session(self, key: SessionKey, asker: Peer) -> ShareSession:
        return self.sessions.open(key, asker)

    def _open(self, place: SharePartitionKey) -> None:
        raise self._refusals[place.partition]


def test_each_partition_tells_what_a_client_understands() -> None:
    refusals = [
        KafkaError(ErrorCode.UNKNOWN_TOPIC_ID),
        KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE),
        Damage(7),
    ]
    shares: Any = Shares(refusals)
    services = ShareServices(
        cluster=cluster_view(led_elsewhere()),
        groups=ABSENT,
        coordinator=ABSENT,
        states=ABSENT,
        shares=shares,
        background=ABSENT,
        fetch_bytes_max=1 << 20,
    )
    peer = Peer("L", Listeners.BROKER, "127.0.0.1")
    context = RequestContext(apis(Listeners.BROKER)[78], 2, 1, None, peer)
    partitions = [FetchPartition(partition_index=index) for index in range(3)]
    request = ShareFetchRequest(
        group_id="g",
        member_id="m",
        max_wait_ms=500,
        max_bytes=1 << 20,
        max_records=500,
        topics=[FetchTopic(topic_id=TOPIC_ID, partitions=partitions)],
    )
    reply = asyncio.run(share_fetch.handle(request, context, services))
    assert reply.error_code == ErrorCode.NONE
    (topic,) = reply.responses
    found = {part.partition_index: part for part in topic.partitions}
    assert {index: part.error_code for index, part in found.items()} == {
        0: ErrorCode.UNKNOWN_TOPIC_ID,
        1: ErrorCode.NOT_LEADER_OR_FOLLOWER,
        2: ErrorCode.KAFKA_STORAGE_ERROR,
    }
    assert found[1].current_leader.leader_id == 3


@pytest.mark.parametrize(("epoch", "first"), [(0, 0), (1, 1), (2, 2), (3, 0), (4, 1), (-1, 0)])
def test_another_partition_goes_first_with_each_request(epoch: int, first: int) -> None:
    partitions = [(TOPIC_ID, index) for index in range(3)]
    assert rotated(partitions, epoch)[0] == (TOPIC_ID, first)
