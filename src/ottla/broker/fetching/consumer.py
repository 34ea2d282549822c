"""A consumer's Fetch: what is committed, of partitions led here or, from version 11 on, followed.

Up to the high watermark, or with read_committed to the last stable offset, and then with the
transactions that were aborted. v11 (KIP-392): racks; a consumer may be sent to a closer replica.
"""

from ottla.broker.fetching.operation import FIRST_WITH_LEADERS, FetchOperation
from ottla.broker.fetching.reads import Source, Transactions, begun_before, end_of
from ottla.broker.fetching.replica_selector import nearest_replica
from ottla.broker.fetching.response import Endpoint, Fetched
from ottla.broker.fetching.sessions import CachedPartition
from ottla.errors import ErrorCode, KafkaError
from ottla.log.reading import Read
from ottla.replication.leader import Leader

FIRST_WITH_RACKS = 11


class ConsumerFetch(FetchOperation):
    is_replica = False

    __slots__ = ()

    def source(self, asked: CachedPartition) -> Source:
        name, topic_id, partition = asked.key
        partitions = self.services.partitions
        try:
            return partitions.find_leader(name, topic_id, partition, self.version)
        except KafkaError:
            follower = partitions.standby(name, topic_id, partition)
            if follower is None or self.version < FIRST_WITH_RACKS:
                raise
            return follower

    def readable_upto(self, source: Source, asked: CachedPartition, fetched: Fetched) -> int | None:
        log, offset = source.log, asked.wanted.fetch_offset
        if not isinstance(source, Leader):
            if offset > log.log_end_offset:  # the leader has it, and so will this one
                raise KafkaError(ErrorCode.OFFSET_NOT_AVAILABLE)
        elif self.services.reads_nearby and self.request.rack_id:
            near = nearest_replica(self.services.cluster, source, self.request.rack_id, offset)
            if near is not None:
                fetched.preferred_read_replica = near
                fetched.bounds_of(log)
                self.reads.must_answer = True
                return None
        return log.last_stable_offset if self.is_committed else log.high_watermark

    def was_read(self, source: Source, fetched: Fetched, read: Read, offset: int) -> None:
        fetched.aborted = self._aborted(source, offset, read)

    def _aborted(self, source: Source, offset: int, read: Read) -> Transactions:
        log = source.log
        if read.cold:
            return log.aborted_transactions(offset, log.last_stable_offset)
        aborted = log.aborted_transactions(offset, log.log_end_offset)
        if not aborted or not read.data:
            return []
        return begun_before(aborted, log.indexed_end(offset, end_of(read.data)))

    @property
    def is_cut_short(self) -> bool:
        if self.min_bytes <= 1:
            return False
        reads, committed = self.reads, self.is_committed
        return any(read.more for _, read in reads.cold) or any(
            end_of(one.data) < (one.last_stable_offset if committed else one.high_watermark)
            for _, one in reads.fetched
            if len(one.data)
        )

    def endpoints(self) -> list[Endpoint] | None:
        if self.version < FIRST_WITH_LEADERS:
            return None
        leaders = {
            fetched.current_leader[0] for _, fetched in self.reads.fetched if fetched.current_leader
        }
        if not leaders:
            return []
        return self.services.cluster.endpoints(leaders, self.context.listener_name)
