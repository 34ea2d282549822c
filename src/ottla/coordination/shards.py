"""All shards of one internal topic that this broker leads, and which of them owns a name."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from ottla.coordination.java_hash import java_hash
from ottla.coordination.lingering import Lingering
from ottla.coordination.log import ShardLog
from ottla.coordination.machine import Machine
from ottla.coordination.shard import Phase, Shard
from ottla.errors import ErrorCode, KafkaError
from ottla.ports.clock import Clock

M = TypeVar("M", bound=Machine)


class Shards(Generic[M]):
    """Driven by the metadata: how many partitions the topic has, and which of them are led here."""

    def __init__(
        self,
        topic: str,
        new_machine: Callable[[int], M],
        clock: Clock,
        commit_timeout_s: float = 5.0,
    ) -> None:
        self.topic = topic
        self.partition_count = 0  # 0: the topic does not exist yet
        self._new_machine = new_machine
        self._clock = clock
        self._commit_timeout_s = commit_timeout_s
        self._lingering = Lingering(clock.monotonic)
        self._shards: dict[int, Shard[M]] = {}
        self._partitions: dict[str, int] = {}  # a cache: hashing is a loop in Python

    def resize(self, partition_count: int) -> None:
        if partition_count != self.partition_count:
            self.partition_count = partition_count
            self._partitions.clear()

    def elected(self, partition: int, log: ShardLog) -> "asyncio.Task[None]":
        """This broker leads the partition from now on, in the leader epoch of `log`: load it."""
        shard = self._shards.get(partition)
        if shard is None:

            def new_machine() -> M:
                return self._new_machine(partition)

            name = f"{self.topic}-{partition}"
            shard = Shard(name, new_machine, self._clock, self._commit_timeout_s, self._lingering)
            self._shards[partition] = shard
        return shard.load(log)

    def resigned(self, partition: int) -> None:
        shard = self._shards.pop(partition, None)
        if shard is not None:
            shard.unload()

    def close(self) -> None:
        for partition in list(self._shards):
            self.resigned(partition)

    def partition_of(self, name: str) -> int:
        if self.partition_count == 0:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        partition = self._partitions.get(name)
        if partition is None:
            if len(self._partitions) > 10_000:
                self._partitions.clear()
            partition = self._partitions[name] = java_hash(name) % self.partition_count
        return partition

    def of(self, name: str) -> Shard[M]:
        """The shard that owns `name`; NOT_COORDINATOR where another broker does."""
        if self.partition_count == 0:
            raise KafkaError(ErrorCode.NOT_COORDINATOR)
        return self.at(self.partition_of(name))

    def serving(self, name: str) -> Shard[M] | None:
        """The shard that owns `name`, if it is led here and loaded."""
        if self.partition_count == 0:
            return None
        shard = self._shards.get(self.partition_of(name))
        return shard if shard is not None and shard.phase is Phase.ACTIVE else None

    def at(self, partition: int) -> Shard[M]:
        shard = self._shards.get(partition)
        if shard is None:
            raise KafkaError(ErrorCode.NOT_COORDINATOR)
        return shard

    def __iter__(self) -> Iterator[Shard[M]]:
        return iter(list(self._shards.values()))

    @property
    def loading(self) -> bool:
        return any(shard.phase is Phase.LOADING for shard in self._shards.values())
