"""The fetchers of this node: one for each leader, made when first needed, and one more for those
partitions of it that wait for the disk."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from ottla.ids import TopicPartition
from ottla.log.config import NEVER_MS
from ottla.ports.clock import Clock
from ottla.ports.network import Network
from ottla.replication.fetcher_means import (
    Address,
    FailureDetector,
    FetchingBroker,
    FetchLimits,
    Flushed,
)
from ottla.replication.follower import FollowedPartition
from ottla.replication.throttles import Throttle

if TYPE_CHECKING:
    from ottla.replication.fetcher import Fetcher


class Fetchers:
    def __init__(
        self,
        broker: FetchingBroker,
        address: Address,
        network: Network,
        limits: FetchLimits,
        suspects: FailureDetector,
        flushed: Flushed,
        throttle: Throttle,
        clock: Clock,
    ) -> None:
        def new_fetcher(leader_id: int) -> "Fetcher":
            from ottla.replication.fetcher import Fetcher

            return Fetcher(
                leader_id, broker, address, network, limits, suspects, flushed, throttle, clock
            )

        self._new_fetcher: Callable[[int], Fetcher] = new_fetcher
        self._all: dict[tuple[int, bool], Fetcher] = {}
        self._fetcher_of: dict[TopicPartition, Fetcher] = {}

    def follow(self, follower: FollowedPartition) -> None:
        self.forget(follower.topic_partition)
        leader_id = follower.leader_id
        key = leader_id, follower.log.config.flush_messages < NEVER_MS
        fetcher = self._all.get(key)
        if fetcher is None:
            fetcher = self._all[key] = self._new_fetcher(leader_id)
        self._fetcher_of[follower.topic_partition] = fetcher
        fetcher.follow(follower)

    def forget(self, partition: TopicPartition) -> None:
        """Not followed any more; what was asked for it and comes later is dropped."""
        fetcher = self._fetcher_of.pop(partition, None)
        if fetcher is not None:
            fetcher.forget(partition)

    def tell_start(self, partition: TopicPartition) -> None:
        fetcher = self._fetcher_of.get(partition)
        if fetcher is not None:
            fetcher.tell_start(partition)

    async def stop(self) -> None:
        await asyncio.gather(*(fetcher.stop() for fetcher in self._all.values()))
