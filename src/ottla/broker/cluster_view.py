"""The cluster as this node knows it: what every handler may ask, whichever listener it serves.

A value: nothing is filled in later. What changes (the image, what is set at run time, who leads the
quorum) is asked of its owner each time. Absent: partitions of this node's own, and coordinators.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from ottla.ids import ZERO_UUID, TopicPartition, Uuid

if TYPE_CHECKING:
    from ottla.broker.access import Access
    from ottla.config import Settings
    from ottla.metadata.image import Image, PartitionRegistration
    from ottla.ports.clock import Clock

Endpoint = tuple[int, str, int, str | None]
"""A broker as clients reach it: id, host, port, rack."""


class PublishedImage(Protocol):
    @property
    def image(self) -> "Image": ...


class QuorumState(Protocol):
    @property
    def leader_id(self) -> int | None: ...
    @property
    def kraft_version(self) -> int: ...


class ClusterView(Struct, frozen=True, eq=False, kw_only=True):
    node_id: int
    cluster_id: str
    clock: "Clock"
    access: "Access"
    publisher: "PublishedImage"
    quorum: "QuorumState"
    settings_in_force: "Callable[[], Settings]"
    """The file's, under what was set at run time."""

    @property
    def image(self) -> "Image":
        return self.publisher.image

    @property
    def settings(self) -> "Settings":
        return self.settings_in_force()

    @property
    def controller_id(self) -> int:
        """The active controller's; -1 while nobody knows."""
        leader = self.quorum.leader_id
        return -1 if leader is None else leader

    def partition_state(
        self, name: str, topic_id: Uuid, index: int
    ) -> "PartitionRegistration | None":
        """The controller's word on a partition; the topic by id where the request has one."""
        image = self.image
        topic = image.topics_by_name.get(name) if name else image.topics_by_id.get(topic_id)
        return None if topic is None else topic.partitions.get(index)

    def has_partition(self, partition: TopicPartition) -> bool:
        return self.partition_state(partition.topic, ZERO_UUID, partition.partition) is not None

    def leader_of(self, partition: TopicPartition) -> int | None:
        """None: no leader is known, or no such partition."""
        state = self.partition_state(partition.topic, ZERO_UUID, partition.partition)
        return state.leader if state is not None and state.leader >= 0 else None

    def endpoints(self, ids: Iterable[int], listener_name: str) -> list[Endpoint]:
        """Where a client of this listener reaches these brokers, as far as they can be reached."""
        found = []
        for node_id in ids:
            broker = self.image.brokers.get(node_id)
            listener = broker.listener(listener_name) if broker is not None else None
            if broker is not None and listener is not None:
                found.append((node_id, listener.host, listener.port, broker.rack))
        return found

    def may_be_in_sync(self, replica: int, broker_epoch: int) -> bool:
        """A broker that is fenced, leaving, or not the incarnation it was may not (KIP-903)."""
        broker = self.image.brokers.get(replica)
        return broker is not None and broker.active and broker_epoch in (-1, broker.epoch)

    def has_place(self, replica: int, partition: TopicPartition) -> bool:
        """Whether its replica of the partition is in a directory that can be used."""
        broker = self.image.brokers.get(replica)
        state = self.partition_state(partition.topic, ZERO_UUID, partition.partition)
        if broker is None or state is None or replica not in state.replicas:
            return False
        return broker.holds(state.directory(replica))
