"""What a leader concludes from a follower's fetch: only its arrival tells of the follower."""

import asyncio
from typing import Any

from ottla.broker.transport.pending_reply import PendingReply
from ottla.ids import LOST_DIRECTORY
from ottla.metadata.image import BrokerRegistration
from ottla.ports.clock import SYSTEM_CLOCK
from ottla.replication.in_sync import InSync
from ottla.replication.leader import Leader
from ottla.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ReplicaState
from ottla.wire.record_batch import NewRecord, build_batch

TOPIC = "t"
EPOCH = 7


class Followed:
    """A partition of this node that brokers 2 and 3 follow, as the controller would have it."""

    def __init__(self, asking: Any) -> None:
        self.image = asking.node.publisher.image
        self.topic = self.image.topics_by_name[TOPIC]
        self.me = asking.node.cluster.node_id
        self.image.brokers[2] = BrokerRegistration(
            id=2, epoch=EPOCH, incarnation=bytes(16), fenced=False
        )
        leader = asking.broker.partitions.find_leader(TOPIC, self.topic.id, 0, 12)
        assert isinstance(leader, Leader)
        self.leader = leader
        self.decide({self.me, 2, 3})

    @property
    def in_sync(self) -> InSync:
        return self.leader.in_sync

    def decide(self, in_sync: set[int], directory: bytes = bytes(16)) -> None:
        """The controller's word, where broker 2 has its replica in this directory."""
        state = self.topic.partitions[0]
        self.topic.partitions[0] = type(state)(
            replicas=(self.me, 2, 3),
            isr=tuple(sorted(in_sync)),
            leader=self.me,
            leader_epoch=state.leader_epoch,
            directories=(state.directories[0], directory, bytes(16)),
        )
        now = SYSTEM_CLOCK.monotonic()
        self.leader.perform(self.in_sync.decided(now, [self.me, 2, 3], in_sync))

    def fetch(self, **fields: Any) -> FetchRequest:
        wanted = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
        topics = [FetchTopic(topic=TOPIC, topic_id=self.topic.id, partitions=[wanted])]
        return FetchRequest(
            topics=topics,
            min_bytes=1,
            session_epoch=-1,
            replica_state=ReplicaState(replica_id=2, replica_epoch=EPOCH),
            **fields,
        )

    def append(self) -> None:
        clock = SYSTEM_CLOCK
        batch = build_batch([NewRecord(clock.wall_ms(), None, b"x")])
        self.leader.append(batch, now=clock.monotonic(), now_ms=clock.wall_ms())


def test_a_fetch_that_still_waits_brings_nobody_back_who_has_left(serving: Any, run: Any) -> None:
    """As when its disk is full: it has left with its last fetch still on the leader's hands."""

    async def scenario() -> None:
        async with serving() as asking:
            await asking.make_topic(TOPIC)
            followed = Followed(asking)
            waits = asking.take(followed.fetch(max_wait_ms=60_000), 18)
            assert isinstance(waits, PendingReply)
            followed.decide({followed.me, 3})
            followed.append()
            await answered(waits)
            assert followed.in_sync.proposed is None

    run(scenario())


def test_nor_does_it_when_its_time_is_over(serving: Any, run: Any) -> None:
    async def scenario() -> None:
        async with serving() as asking:
            await asking.make_topic(TOPIC)
            followed = Followed(asking)
            waits = asking.take(followed.fetch(max_wait_ms=20), 18)
            assert isinstance(waits, PendingReply)
            followed.decide({followed.me, 3})
            await answered(waits)
            assert followed.in_sync.proposed is None

    run(scenario())


def test_nor_does_a_fetch_that_comes_late_from_a_lost_directory(serving: Any, run: Any) -> None:
    async def scenario() -> None:
        async with serving() as asking:
            await asking.make_topic(TOPIC)
            followed = Followed(asking)
            followed.decide({followed.me, 3}, LOST_DIRECTORY)
            await asking.ask(followed.fetch(max_wait_ms=0), 18)
            assert followed.in_sync.proposed is None
            followed.decide({followed.me, 3})  # it found another place
            await asking.ask(followed.fetch(max_wait_ms=0), 18)
            assert followed.in_sync.proposed == {followed.me, 2, 3}

    run(scenario())


async def answered(waits: PendingReply) -> None:
    arrived: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    waits.then(arrived.set_result)
    await asyncio.wait_for(arrived, 10)
