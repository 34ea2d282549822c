"""Coordinators follow the leadership of their topics: elected and resigned as roles change."""

from collections.abc import Callable
from typing import Protocol

from ottla.coordination.log import ShardLog
from ottla.metadata.image import Image
from ottla.replication.coordinator_log import CoordinatorLog
from ottla.replication.partitions import Partitions, Replica


class Coordinator(Protocol):
    def elected(self, partition: int, log: ShardLog) -> None: ...
    def resigned(self, partition: int) -> None: ...


class Coordinators:
    """By the topic that each keeps its state in."""

    def __init__(self, partitions: Partitions, now: Callable[[], float]) -> None:
        self._by_topic: dict[str, Coordinator] = {}
        self._now = now
        partitions.subscribe(self._role_changed, self._removed)

    def add(self, topic: str, coordinator: Coordinator) -> None:
        self._by_topic[topic] = coordinator

    def _role_changed(self, replica: Replica) -> None:
        topic, partition = replica.topic_partition
        coordinator = self._by_topic.get(topic)
        if coordinator is None:
            return
        if replica.leader is None:
            coordinator.resigned(partition)
        else:
            coordinator.elected(partition, CoordinatorLog(replica.leader, self._now))

    def _removed(self, replica: Replica) -> None:
        topic, partition = replica.topic_partition
        if topic in self._by_topic:
            self._by_topic[topic].resigned(partition)


def partition_count(image: Image, topic: str) -> int | None:
    found = image.topics_by_name.get(topic)
    return None if found is None else len(found.partitions)
