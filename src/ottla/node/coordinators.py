"""Coordinators: made when a client first asks for one, or when this node leads a part of the topic
that keeps its state, so that a start does not pay for what nobody uses; elected and resigned as
roles change."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from ottla.broker.background import Background
from ottla.broker.cluster_view import ClusterView
from ottla.broker.first_use import OnFirstUse
from ottla.broker.internal_topics import CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE
from ottla.broker.producer_ids import ProducerIds
from ottla.broker.services import (
    ActiveController,
    Areas,
    GroupServices,
    ShareServices,
    TransactionServices,
)
from ottla.metadata.image import Delta, Image
from ottla.node.replicas import Replicas
from ottla.ports.chance import Chance
from ottla.replication.partitions import Replica
from ottla.replication.peers import Peers

if TYPE_CHECKING:
    from ottla.broker.producing.transaction_verification import TransactionVerifier
    from ottla.broker.share.shares import Shares
    from ottla.broker.share.states import StateKeeper
    from ottla.coordination.log import ShardLog
    from ottla.groups.coordinator import GroupCoordinator
    from ottla.groups.share.coordinator import ShareCoordinator
    from ottla.transactions.coordinator import TransactionCoordinator


class Coordinator(Protocol):
    def elected(self, partition: int, log: "ShardLog") -> None: ...
    def resigned(self, partition: int) -> None: ...
    def resize(self, partition_count: int) -> None: ...


C = TypeVar("C", bound=Coordinator)

FETCHING_S = 0.5  # from one fetch of a follower to the next, beside what it waits at the leader


class CoordinatorMeans(NamedTuple):
    """What coordinators are made with."""

    cluster: ClusterView
    replicas: Replicas
    controller: ActiveController
    peers: Peers
    producer_ids: ProducerIds
    background: Background
    chance: Chance


class Coordinators:
    def __init__(self, means: CoordinatorMeans) -> None:
        self._means = means
        self.groups = OnFirstUse(self._make_groups)
        self.transactions = OnFirstUse(self._make_transactions)
        self.verifier = OnFirstUse(self._make_verifier)
        self._share_coordinator = OnFirstUse(self._make_share_coordinator)
        self._share_states = OnFirstUse(self._make_share_states)
        self._by_topic: Mapping[str, OnFirstUse[Coordinator]] = {
            CONSUMER_OFFSETS: self.groups,
            TRANSACTION_STATE: self.transactions,
            SHARE_GROUP_STATE: self._share_coordinator,
        }
        self._transaction_services = TransactionServices(
            cluster=means.cluster,
            coordinator=self.transactions,
            verifier=self.verifier,
            groups=self.groups,
            producer_ids=means.producer_ids,
            partitions=means.replicas.partitions,
            durability=means.replicas.durability,
            background=means.background,
        )
        means.replicas.partitions.subscribe(self._role_changed, self._removed)

    # What handlers are given -----------------------------------------------------------------

    def areas(self) -> Areas:
        return {
            "groups": OnFirstUse(self._group_services),
            "transactions": lambda: self._transaction_services,
            "share": OnFirstUse(self._share_services),
        }

    def _group_services(self) -> GroupServices:
        return GroupServices(
            cluster=self._means.cluster,
            coordinator=self.groups(),
            controller=self._means.controller,
            share_states=self._share_states,
        )

    def _share_services(self) -> ShareServices:
        cluster = self._means.cluster
        return ShareServices(
            cluster=cluster,
            groups=self.groups(),
            coordinator=self._share_coordinator(),
            states=self._share_states(),
            shares=self._make_shares(),
            background=self._means.background,
            fetch_bytes_max=cluster.settings.int("fetch.max.bytes"),
        )

    # What they are made of -------------------------------------------------------------------

    def _make_groups(self) -> "GroupCoordinator":
        from ottla.groups.coordinator import GroupCoordinator

        cluster = self._means.cluster
        groups = GroupCoordinator(
            cluster.settings, lambda: cluster.image, cluster.clock, self._means.chance
        )
        groups.image_loaded(cluster.image)
        return self._sized(CONSUMER_OFFSETS, groups)

    def _make_transactions(self) -> "TransactionCoordinator":
        from ottla.node import transactions

        coordinator = transactions.build(self._transaction_services, self._means.peers)
        self._means.background.spawn(coordinator.run())
        return self._sized(TRANSACTION_STATE, coordinator)

    def _make_verifier(self) -> "TransactionVerifier":
        from ottla.broker.producing.transaction_verification import TransactionVerifier

        cluster = self._means.cluster
        return TransactionVerifier(
            self.transactions(), cluster.node_id, cluster.leader_of, self._means.peers
        )

    def _make_share_coordinator(self) -> "ShareCoordinator":
        from ottla.groups.share.coordinator import ShareCoordinator, ShareCoordinatorLimits

        cluster = self._means.cluster
        coordinator = ShareCoordinator(ShareCoordinatorLimits.of(cluster.settings), cluster.clock)
        self._means.background.spawn(coordinator.run())
        return self._sized(SHARE_GROUP_STATE, coordinator)

    def _make_share_states(self) -> "StateKeeper":
        from ottla.broker.share.states import StateKeeper

        means = self._means
        return StateKeeper(
            means.cluster,
            means.replicas.partitions,
            means.controller,
            self._share_coordinator(),
            means.peers,
        )

    def _make_shares(self) -> "Shares":
        from ottla.broker.share.queues import Queues
        from ottla.broker.share.sessions import ShareSessions
        from ottla.broker.share.shares import Shares

        means = self._means
        queues = Queues(
            means.cluster, means.replicas.partitions, means.background, self._share_states()
        )
        sessions = ShareSessions(means.cluster.settings.int("group.share.max.share.sessions"))
        return Shares(queues, sessions, means.replicas.waiting, means.cluster.clock.monotonic)

    def _sized(self, topic: str, coordinator: C) -> C:
        found = self._means.cluster.image.topics_by_name.get(topic)
        if found is not None:
            coordinator.resize(len(found.partitions))
        return coordinator

    # What they are told ----------------------------------------------------------------------

    def resize(self, image: Image, delta: Delta) -> None:
        for topic, coordinator in self._by_topic.items():
            found = image.topics_by_name.get(topic)
            if coordinator.made is not None and found is not None:
                coordinator.made.resize(len(found.partitions))

    def image_changed(self, image: Image, delta: Delta) -> None:
        if self.groups.made is not None:
            self.groups.made.image_changed(image, delta)

    async def stop(self) -> None:
        if self.transactions.made is not None:
            await self.transactions.made.stop()

    def _role_changed(self, replica: Replica) -> None:
        topic, partition = replica.topic_partition
        coordinator = self._by_topic.get(topic)
        if coordinator is None:
            return
        if replica.leader is None:
            self._removed(replica)
            return
        from ottla.replication.coordinator_log import HEARD_S, CoordinatorLog

        cluster = self._means.cluster
        longest_s = cluster.settings.int("replica.fetch.wait.max.ms") / 1000
        heard_s = max(HEARD_S, longest_s + FETCHING_S)
        ask = self._means.replicas.durability.ask
        log = CoordinatorLog(replica.leader, cluster.clock.monotonic, ask, heard_s)
        coordinator().elected(partition, log)

    def _removed(self, replica: Replica) -> None:
        topic, partition = replica.topic_partition
        coordinator = self._by_topic.get(topic)
        if coordinator is not None and coordinator.made is not None:
            coordinator.made.resigned(partition)
