"""A follower's Fetch: to the log's end, from the leader alone; by asking it tells what it has.

v15 (KIP-903): its broker epoch, so that an emptied broker does not pass for what it was.
"""

from typing import TYPE_CHECKING

from ottla.broker.fetching.operation import FetchOperation
from ottla.broker.fetching.reads import Source
from ottla.broker.fetching.response import Fetched
from ottla.broker.fetching.sessions import CachedPartition, Fetching
from ottla.errors import ErrorCode, KafkaError
from ottla.log.partition_log import PartitionLog
from ottla.replication.leader import Leader
from ottla.wire.messages.fetch import FetchPartition, FetchRequest

if TYPE_CHECKING:
    from ottla.broker.services import RecordServices
    from ottla.broker.transport.context import RequestContext


class ReplicaFetch(FetchOperation):
    is_replica = True

    __slots__ = ("arrived_at", "eligible", "is_arriving", "replica_epoch", "replica_id")

    def __init__(
        self,
        request: FetchRequest,
        fetching: Fetching,
        context: "RequestContext",
        services: "RecordServices",
        replica_id: int,
    ) -> None:
        super().__init__(request, fetching, context, services)
        self.replica_id = replica_id
        self.replica_epoch = request.replica_state.replica_epoch
        self.arrived_at = services.cluster.clock.monotonic()
        """When it was last heard of: not when its request is looked at again."""
        self.is_arriving = True
        """At the first look. One that still waits says nothing of who sent it: its replica may
        have left meanwhile, as when its disk is full, and must not come back by it."""
        self.eligible = False  # to be in sync, as the image has it at each look

    def read_partitions(self) -> None:
        super().read_partitions()
        self.is_arriving = False

    def to_read(self) -> list[CachedPartition]:
        """In a session, those where something has changed since."""
        cluster = self.services.cluster
        self.eligible = cluster.may_be_in_sync(self.replica_id, self.replica_epoch)
        asked = self.fetching.asked
        if self.eligible and self.fetching.incremental:
            return [one for one in asked if not self._is_settled(one)]
        return asked

    def _is_settled(self, asked: CachedPartition) -> bool:
        """It has everything of a partition, and knows it: most of a thousand, mostly."""
        leader = asked.leader
        if leader is None or leader.deposed:
            return False
        log = leader.log
        if (
            log.log_end_offset != asked.wanted.fetch_offset
            or log.high_watermark != asked.high_watermark
            or log.log_start_offset != asked.log_start_offset
        ):
            return False
        if not leader.in_sync.fetched_again(
            self.arrived_at, self.replica_id, broker_epoch=self.replica_epoch
        ):
            return False
        self.reads.sources.append(leader)
        return True

    def source(self, asked: CachedPartition) -> Leader:
        name, topic_id, partition = asked.key
        return self.services.partitions.find_leader(name, topic_id, partition, self.version)

    def read_from(self, source: Source, asked: CachedPartition, fetched: Fetched) -> None:
        """It may know of its assignment before this leader does: then it asks again."""
        assert isinstance(source, Leader)
        if self.replica_id not in source.in_sync.followers:
            names_epoch = asked.wanted.current_leader_epoch >= 0
            raise KafkaError(
                ErrorCode.UNKNOWN_LEADER_EPOCH if names_epoch else ErrorCode.NOT_LEADER_OR_FOLLOWER
            )
        super().read_from(source, asked, fetched)

    def readable_upto(self, source: Source, asked: CachedPartition, fetched: Fetched) -> int:
        assert isinstance(source, Leader)
        log, wanted = source.log, asked.wanted
        upto = log.log_end_offset  # before others hear that it was here
        if self.is_arriving:
            self.record_follower_fetch(source, wanted)
        asked.leader = source
        if log.log_start_offset > wanted.log_start_offset and self._is_start_news(asked, log):
            self.reads.must_answer = True
        if self.services.partitions.throttles.leader.partitions and self._is_held_back(source):
            return wanted.fetch_offset  # nothing of it
        return upto

    def record_follower_fetch(self, leader: Leader, wanted: FetchPartition) -> None:
        """A replica that asks for an offset has everything before it."""
        leader.perform(
            leader.in_sync.fetched(
                self.arrived_at,
                self.replica_id,
                wanted.fetch_offset,
                log_start_offset=wanted.log_start_offset,
                broker_epoch=self.replica_epoch,
                eligible=self.eligible and self._may_join(leader),
            )
        )

    def _may_join(self, leader: Leader) -> bool:
        """A fetch that was under way when its replica lost its place comes after the news."""
        return self.replica_id in leader.in_sync.committed or self.services.cluster.has_place(
            self.replica_id, leader.topic_partition
        )

    def _is_start_news(self, asked: CachedPartition, log: PartitionLog) -> bool:
        """Somebody may wait until a replica has dropped what was deleted. It is told once: only a
        session remembers that."""
        return self.fetching.session is not None and asked.log_start_offset != log.log_start_offset

    def _is_held_back(self, leader: Leader) -> bool:
        """While the quota is spent, replicas under it that are not in sync get nothing."""
        throttle = self.services.partitions.throttles.leader
        return (
            throttle.covers(leader.topic_partition)
            and self.replica_id not in leader.in_sync.maximal
            and throttle.quota.is_spent(self.services.cluster.clock.monotonic())
        )

    def rank(self, error: int) -> int:
        """It hears of what is not there in the order in which it asked."""
        return min(super().rank(error), 1)

    def is_replying(self, told: list[tuple[CachedPartition, Fetched]]) -> None:
        """What leaves under the quota counts, whoever gets it."""
        throttle = self.services.partitions.throttles.leader
        if not throttle.partitions:
            return
        for asked, fetched in told:
            if asked.leader is not None and throttle.covers(asked.leader.topic_partition):
                throttle.quota.spend(self.services.cluster.clock.monotonic(), len(fetched.data))
