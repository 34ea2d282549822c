"""Coordinators: made when a client first asks for one, or when this node leads a part of the topic
that keeps its state, so that a start does not pay for what nobody uses; elected and resigned as
roles change."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol, TypeVar

from ottla.broker.broker import Broker
from ottla.broker.internal_topics import CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE
from ottla.metadata.image import Delta, Image
from ottla.replication.partitions import Replica
from ottla.replication.peers import Peers

if TYPE_CHECKING:
    from ottla.broker.share.shares import Shares
    from ottla.broker.share.states import StateKeeper
    from ottla.broker.transaction_verification import TransactionVerifier
    from ottla.coordination.log import ShardLog
    from ottla.groups.coordinator import GroupCoordinator
    from ottla.groups.share.coordinator import ShareCoordinator
    from ottla.transactions.coordinator import Coordinator as TransactionCoordinator


class Coordinator(Protocol):
    def elected(self, partition: int, log: "ShardLog") -> None: ...
    def resigned(self, partition: int) -> None: ...
    def resize(self, partition_count: int) -> None: ...


C = TypeVar("C", bound=Coordinator)


FETCHING_S = 0.5  # from one fetch of a follower to the next, beside what it waits at the leader


class Coordinators:
    """Implements `broker.broker.Makers`; the broker keeps what it was given."""

    def __init__(self, broker: Broker, peers: Peers) -> None:
        self._broker = broker
        self._peers = peers
        self._made: dict[str, Coordinator] = {}
        self._by_topic: Mapping[str, Callable[[], Coordinator]] = {
            CONSUMER_OFFSETS: lambda: broker.groups,
            TRANSACTION_STATE: lambda: broker.transactions,
            SHARE_GROUP_STATE: lambda: broker.share_coordinator,
        }
        broker.partitions.subscribe(self._role_changed, self._removed)

    # What they are made of -------------------------------------------------------------------

    def groups(self) -> "GroupCoordinator":
        from ottla.groups.coordinator import GroupCoordinator

        broker = self._broker
        groups = GroupCoordinator(
            broker.settings, lambda: broker.image, broker.clock, broker.chance
        )
        groups.image_loaded(broker.image)
        return self._add(CONSUMER_OFFSETS, groups)

    def transactions(self) -> "TransactionCoordinator":
        from ottla.node import transactions

        coordinator = transactions.build(self._broker, self._peers)
        self._broker.spawn(coordinator.run())
        return self._add(TRANSACTION_STATE, coordinator)

    def transaction_verifier(self) -> "TransactionVerifier":
        from ottla.broker.transaction_verification import TransactionVerifier

        broker = self._broker
        return TransactionVerifier(
            broker.transactions, broker.node_id, broker.leader_of, self._peers
        )

    def share_coordinator(self) -> "ShareCoordinator":
        from ottla.groups.share.coordinator import Limits, ShareCoordinator

        broker = self._broker
        coordinator = ShareCoordinator(Limits.of(broker.settings), broker.clock)
        broker.spawn(coordinator.run())
        return self._add(SHARE_GROUP_STATE, coordinator)

    def share_states(self) -> "StateKeeper":
        from ottla.broker.share.states import StateKeeper

        return StateKeeper(self._broker, self._broker.share_coordinator, self._peers)

    def shares(self) -> "Shares":
        from ottla.broker.share.queues import Queues
        from ottla.broker.share.shares import Shares

        broker = self._broker
        queues = Queues(broker, broker.share_states)
        return Shares(broker, queues, broker.settings.int("group.share.max.share.sessions"))

    def _add(self, topic: str, coordinator: C) -> C:
        self._made[topic] = coordinator
        self.resize(self._broker.image)
        return coordinator

    # What they are told ----------------------------------------------------------------------

    def resize(self, image: Image) -> None:
        for topic, coordinator in self._made.items():
            if (found := image.topics_by_name.get(topic)) is not None:
                coordinator.resize(len(found.partitions))

    def image_changed(self, image: Image, delta: Delta) -> None:
        if CONSUMER_OFFSETS in self._made:
            self._broker.groups.image_changed(image, delta)

    async def stop(self) -> None:
        if TRANSACTION_STATE in self._made:
            await self._broker.transactions.stop()

    def _role_changed(self, replica: Replica) -> None:
        topic, partition = replica.topic_partition
        make = self._by_topic.get(topic)
        if make is None:
            return
        if replica.leader is None:
            self._removed(replica)
            return
        from ottla.replication.coordinator_log import HEARD_S, CoordinatorLog

        broker = self._broker
        longest_s = broker.settings.int("replica.fetch.wait.max.ms") / 1000
        heard_s = max(HEARD_S, longest_s + FETCHING_S)
        log = CoordinatorLog(replica.leader, broker.now, broker.durability.ask, heard_s)
        make().elected(partition, log)

    def _removed(self, replica: Replica) -> None:
        topic, partition = replica.topic_partition
        if topic in self._made:
            self._made[topic].resigned(partition)
