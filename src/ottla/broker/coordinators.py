"""Gives coordinators the shards that this broker leads, as the metadata moves them.

Subscribes to roles and to the image; knows coordinators only by the internal topic they keep
their state in.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from ottla.coordination.log import ShardLog
from ottla.metadata.image import Delta, Image
from ottla.replication.coordinator_log import CoordinatorLog
from ottla.replication.partitions import Replica


class Coordinator(Protocol):
    def elected(self, partition: int, log: ShardLog) -> None: ...

    def resigned(self, partition: int) -> None: ...

    def resize(self, partition_count: int) -> None: ...

    def topics_deleted(self, names: Iterable[str]) -> None: ...


class Coordinators:
    def __init__(self, by_topic: Mapping[str, Coordinator], now: Callable[[], float]) -> None:
        self._by_topic = by_topic
        self._now = now

    def role_changed(self, replica: Replica) -> None:
        """Subscribed to `Partitions`: also called for every replica that the first image has."""
        coordinator = self._by_topic.get(replica.topic_partition.topic)
        if coordinator is None:
            return
        partition = replica.topic_partition.partition
        if replica.leader is None:
            coordinator.resigned(partition)
        else:
            coordinator.elected(partition, CoordinatorLog(replica.leader, self._now))

    def replica_removed(self, replica: Replica) -> None:
        coordinator = self._by_topic.get(replica.topic_partition.topic)
        if coordinator is not None:
            coordinator.resigned(replica.topic_partition.partition)

    def image_changed(self, image: Image, delta: Delta) -> None:
        self.resize(image)
        if delta.topics_removed:
            names = [topic.name for topic in delta.topics_removed.values()]
            for coordinator in self._by_topic.values():
                coordinator.topics_deleted(names)

    def resize(self, image: Image) -> None:
        """How many shards there are; call it once with the first image."""
        for name, coordinator in self._by_topic.items():
            topic = image.topics_by_name.get(name)
            coordinator.resize(0 if topic is None else len(topic.partitions))
