"""The broker that a node may be: its parts, how they are put together, how it joins its cluster and
leaves it. What every node has (listeners, quorum, controller) is `node.node`'s."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import Executor
from typing import TYPE_CHECKING, NamedTuple

from ottla.broker.audit import AuditTrail
from ottla.broker.background import Background
from ottla.broker.cluster_view import ClusterView
from ottla.broker.fetching.replica_selector import RACK_AWARE
from ottla.broker.fetching.sessions import FetchSessions
from ottla.broker.forwarding import PassedOn
from ottla.broker.producer_ids import ProducerIds
from ottla.broker.services import Areas, BrokerServices, RecordServices
from ottla.broker.topics_on_demand import TopicsOnDemand
from ottla.broker.transport.server import SharedByListeners
from ottla.config import Settings
from ottla.config.topology import Listener
from ottla.errors import ErrorCode, KafkaError
from ottla.ids import Uuid
from ottla.log.log_directories import LogDirectories
from ottla.log.maintenance import LogMaintenance
from ottla.membership.isolated_leaders import IsolatedLeaders
from ottla.membership.offline_replicas import OfflineReplicas
from ottla.membership.presence import Presence
from ottla.membership.registration import Registration
from ottla.membership.suspects import Suspects
from ottla.metadata.features import CORDONED_SINCE
from ottla.metadata.image import ConfigResourceType, Delta, Image
from ottla.metadata.publisher import Publisher, Subscriber
from ottla.node.active_controller import ActiveController
from ottla.node.coordinators import CoordinatorMeans, Coordinators
from ottla.node.formatting import Identity
from ottla.node.intervals import Intervals
from ottla.node.replicas import Replicas, make_replicas
from ottla.node.settings_in_force import SettingsInForce
from ottla.ports.chance import Chance, new_uuid
from ottla.ports.network import Network
from ottla.ports.recurring import every
from ottla.quorum.driver import Quorum
from ottla.replication.assignments import Assignments
from ottla.replication.directories import Directories
from ottla.replication.directory_moves import DirectoryMoves
from ottla.replication.fetcher_means import FetchingBroker, FetchLimits
from ottla.replication.fetchers import Fetchers
from ottla.replication.followers import Followers
from ottla.replication.peers import Peers
from ottla.wire.messages.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)

if TYPE_CHECKING:
    from ottla.broker.audit_topic import AuditTopic
    from ottla.broker.producing.schema_validation import KnownSchemas
    from ottla.ports.clock import Clock


class Foundation(NamedTuple):
    """What a node hands to the broker it is."""

    settings: Settings
    in_force: SettingsInForce
    identity: Identity
    cluster: ClusterView
    publisher: Publisher
    quorum: Quorum
    controller: ActiveController
    log_directories: LogDirectories
    listeners: SharedByListeners
    network: Network
    background: Background
    threads: Executor
    chance: Chance
    intervals: Intervals
    audit: AuditTrail


class BrokerRole:
    """Parts are made in the order in which they need each other; each step returns what it made."""

    def __init__(self, base: Foundation) -> None:
        self._base = base
        self.directories = base.log_directories.usable_logs()
        self.logs = self._make_logs()
        self.registration = self._make_registration()
        self.replicas = self._make_replicas()
        self.partitions = self.replicas.partitions
        self.peers = self._make_peers("")
        self._suspects = Suspects()
        self._presence = Presence(
            self._make_peers("-presence"), self._suspects, base.cluster.clock.monotonic
        )
        # Roles that change are heard of in the order in which these are made: coordinators begin
        # to load before anything is fetched, and a copy that moves is dropped last.
        self._coordinators = self._make_coordinators()
        self._assignments = self._make_assignments()
        self._fetchers = self._make_fetchers()
        self._offline_replicas = self._make_offline_replicas(
            Followers(self.partitions, self._fetchers)
        )
        self._directory_moves = self._make_directory_moves()
        self.maintenance = self._make_maintenance()
        self.areas = self._make_areas()

    # The parts -------------------------------------------------------------------------------

    def _make_logs(self) -> Directories:
        base = self._base
        return Directories(
            self.directories,
            base.identity.directory_ids,
            base.cluster.clock.wall_ms,
            lambda: base.in_force().names("cordoned.log.dirs"),
        )

    def _make_registration(self) -> Registration:
        base = self._base
        return Registration(
            base.controller,
            node_id=base.cluster.node_id,
            interval_s=base.settings.int("broker.heartbeat.interval.ms") / 1000,
            metadata_offset=lambda: base.publisher.image.offset,
            lost_directories=lambda: self.logs.ids_where(failed=True),
            cordoned_directories=self._cordoned_directories,
            now=base.cluster.clock.monotonic,
        )

    def _make_replicas(self) -> Replicas:
        base = self._base
        return make_replicas(
            base.settings,
            self.logs,
            base.controller,
            self._epoch,
            base.background,
            base.threads,
            base.cluster.clock,
        )

    def _make_peers(self, purpose: str) -> Peers:
        """Links to other brokers; those that are probed have links of their own."""
        client_id = f"broker-{self._base.cluster.node_id}{purpose}"
        return Peers(self._base.network, self._address_of, client_id)

    def _make_coordinators(self) -> Coordinators:
        base = self._base
        return Coordinators(
            CoordinatorMeans(
                base.cluster,
                self.replicas,
                base.controller,
                self.peers,
                ProducerIds(self._producer_id_block),
                base.background,
                base.chance,
            )
        )

    def _make_assignments(self) -> Assignments:
        base = self._base
        return Assignments(
            base.controller,
            self.partitions,
            self.logs,
            epoch=self._epoch,
            spawn=base.background.spawn,
        )

    def _make_fetchers(self) -> Fetchers:
        base = self._base
        return Fetchers(
            FetchingBroker(base.cluster.node_id, self._epoch),
            self._address_of,
            base.network,
            fetch_limits(base.settings),
            self._suspects,
            self.replicas.durability.flushed,
            self.partitions.throttles.follower,
            base.cluster.clock,
        )

    def _make_offline_replicas(self, followers: Followers) -> OfflineReplicas:
        now, now_ms = self._base.cluster.clock
        return OfflineReplicas(
            self.partitions, followers, self._assignments, now, now_ms, self._signs_of_failure
        )

    def _make_directory_moves(self) -> DirectoryMoves:
        base = self._base
        now, now_ms = base.cluster.clock
        return DirectoryMoves(
            self.partitions,
            self.logs,
            self._assignments,
            base.threads,
            now=now,
            now_ms=now_ms,
            spawn=base.background.spawn,
        )

    def _make_maintenance(self) -> LogMaintenance:
        base = self._base
        return LogMaintenance(
            self.directories,
            base.settings,
            base.threads,
            base.cluster.clock.wall_ms,
            self._fetchers.tell_start,
            base.intervals.maintenance,
        )

    # What handlers are given -----------------------------------------------------------------

    def _make_areas(self) -> Areas:
        records, cluster = self._record_services(), self._cluster_services()
        return {
            "records": lambda: records,
            "cluster": lambda: cluster,
            **self._coordinators.areas(),
        }

    def _record_services(self) -> RecordServices:
        base, settings = self._base, self._base.settings
        slots = settings.int("max.incremental.fetch.session.cache.slots")
        return RecordServices(
            cluster=base.cluster,
            partitions=self.partitions,
            waiting=self.replicas.waiting,
            durability=self.replicas.durability,
            background=base.background,
            fetch_sessions=FetchSessions(slots, base.chance),
            fetch_bytes_max=settings.int("fetch.max.bytes"),
            reads_nearby=settings.text("replica.selector.class") == RACK_AWARE,
            unread_replies=base.listeners.unread_replies,
            verifier=self._coordinators.verifier,
            schemas=_known_schemas(
                settings.names("confluent.schema.registry.url"), base.cluster.clock
            ),
        )

    def _cluster_services(self) -> BrokerServices:
        base = self._base
        return BrokerServices(
            cluster=base.cluster,
            authority=PassedOn(base.controller, base.quorum, base.audit),
            controller=base.controller,
            presence=self._presence,
            suspects=self._suspects,
            topics_on_demand=TopicsOnDemand(base.in_force, base.controller, base.background),
            directories=base.log_directories.logs,
            directory_moves=self._directory_moves,
        )

    # A new image -----------------------------------------------------------------------------

    def _order_of_hearing(self) -> Sequence[Subscriber]:
        """Who hears of a new image, in this order. The controller on this node has heard already:
        it subscribed when it was made, and decides on the newest image before anybody asks it."""
        return (
            # What is set at run time holds for all that follows: directories may be cordoned.
            self._base.in_force.image_changed,
            # A coordinator that is elected below must know by how many shards keys are divided.
            self._coordinators.resize,
            # Answers that waited for the controller's word are given from the new image, in a
            # later turn: by then all below have followed it.
            self._suspects_changed,
            # Replicas lead, follow, come and go; coordinators and fetchers hear of their roles.
            self.partitions.apply,
            # Files of the logs that were just made.
            self._make_directories,
            # The controller is told where replicas are, once they are somewhere.
            self._assignments.image_changed,
            # What it waits for (that this broker knows, which directories take nothing) goes with
            # the next heartbeat: that must not be sent before replicas have followed.
            self._hurry,
            # Groups divide partitions among members, who then ask for them: they must be there.
            self._coordinators.image_changed,
        )

    def _suspects_changed(self, image: Image, delta: Delta) -> None:
        self._suspects.image_changed(image, delta, self._base.cluster.clock.monotonic())

    def _make_directories(self, image: Image, delta: Delta) -> None:
        self.maintenance.make_directories()

    def _hurry(self, image: Image, delta: Delta) -> None:
        own = (
            ConfigResourceType.BROKER,
            str(self._base.cluster.node_id),
        )  # what is cordoned, perhaps
        if own in delta.configs or any(shuts_down(image, one) for one in delta.brokers):
            self.registration.hurry()

    # Joining ---------------------------------------------------------------------------------

    async def join(self, advertised: Sequence[Listener]) -> None:
        """Returns when clients may ask; the metadata is caught up with when it is called."""
        base = self._base
        self._open_logs()
        await self.registration.register(
            base.identity.cluster_id,
            advertised,
            self.logs.ids_where(failed=False),
            incarnation_id=new_uuid(base.chance),
            rack=base.settings.text("broker.rack") or None,
            previous_epoch=self._previous_epoch(),
        )
        await self._know_of_own_registration()
        self.partitions.load(base.publisher.image)
        self.logs.set_aside_strays(lambda known: self.partitions.find(*known) is not None)
        for hears in self._order_of_hearing():
            base.publisher.subscribe(hears)
        await self.registration.unfence()
        await self._know_of_own_unfencing()

    def _open_logs(self) -> None:
        base, image = self._base, self._base.publisher.image
        base.in_force.load(image)
        self.partitions.configure(image)
        now_ms = base.cluster.clock.wall_ms()
        base.log_directories.each(
            self.directories,
            lambda directory: directory.open_all(self.partitions.log_config, now_ms=now_ms),
        )
        self.logs.some_unread = base.log_directories.usable_logs() != base.log_directories.logs

    async def _know_of_own_registration(self) -> None:
        """The metadata before it may say that this node leads, as it did in its last life: with
        what it lost in a crash it would have followers cut their logs to its own."""
        while self._base.publisher.image.offset < self.registration.epoch:
            await asyncio.sleep(self._base.intervals.metadata_catch_up_s)

    async def _know_of_own_unfencing(self) -> None:
        """Clients asked before would hear of a cluster without this broker, perhaps without any:
        librdkafka then forgets even where it began, and is lost for minutes."""
        while self._base.publisher.image.brokers[self._base.cluster.node_id].fenced:
            await asyncio.sleep(self._base.intervals.metadata_catch_up_s)

    def _previous_epoch(self) -> int:
        """The epoch of a clean stop, if all directories agree that there was one."""
        usable = self._base.log_directories.usable_logs()
        epochs = {directory.previous_broker_epoch for directory in usable}
        epoch = epochs.pop() if len(epochs) == 1 else None
        return -1 if epoch is None else epoch

    def go_on(self) -> None:
        """What a broker does beside serving, from then on."""
        self._directory_moves.resume()
        self._assignments.loaded()
        self.maintenance.start()
        self._watch()
        self._base.audit.write_to(self._make_audit_topic)

    def _make_audit_topic(self, name: str) -> "AuditTopic":
        from ottla.broker.audit_topic import AuditTopic

        services = self._cluster_services()
        return AuditTopic(name, self._base.cluster, self.peers, services.topics_on_demand.create)

    def _watch(self) -> None:
        base, settings = self._base, self._base.settings
        session_s = settings.int("broker.session.timeout.ms") / 1000
        silent_s = self.registration.controller_silent_s
        isolated = IsolatedLeaders(
            self.partitions, silent_s, session_s, base.cluster.clock.monotonic
        )
        watch_s = base.intervals.replica_watch_s
        lag_s = settings.int("replica.lag.time.max.ms") / 1000
        for interval_s, look, what in (
            (lag_s / 2, self.partitions.tick, "the watch over followers"),
            (watch_s, self._offline_replicas.look, "the watch over replicas"),
            (watch_s, isolated.look, "the watch over leaders that nobody hears"),
        ):
            base.background.spawn(every(interval_s, look, what))

    # Leaving ---------------------------------------------------------------------------------

    async def leave(self) -> None:
        """While it still serves: the controller finds other leaders first."""
        await self.registration.leave()

    async def stop(self) -> None:
        """After the listeners."""
        await self.maintenance.stop()
        await self._coordinators.stop()
        await self._fetchers.stop()
        self.peers.close()
        self._presence.close()

    # What parts ask of each other ------------------------------------------------------------

    def _epoch(self) -> int:
        return self.registration.epoch

    def _address_of(self, node_id: int) -> tuple[str, int] | None:
        name = self._base.settings.topology.inter_broker
        for _, host, port, _ in self._base.cluster.endpoints([node_id], name):
            return host, port
        return None

    def _cordoned_directories(self) -> list[Uuid] | None:
        """None where the cluster does not know yet what that is."""
        if self._base.publisher.image.metadata_version < CORDONED_SINCE:
            return None
        return self.logs.cordoned_ids()

    def _signs_of_failure(self) -> object:
        healths = [directory.health for directory in self.directories]
        return self.partitions.changes, [(one.full, one.changes.damages) for one in healths]

    async def _producer_id_block(self) -> tuple[int, int]:
        response = await self._base.controller.ask(
            AllocateProducerIdsRequest(
                broker_id=self._base.cluster.node_id, broker_epoch=self.registration.epoch
            ),
            AllocateProducerIdsResponse,
        )
        if response.error_code:
            raise KafkaError(ErrorCode(response.error_code), "No producer ids are to be had.")
        return response.producer_id_start, response.producer_id_len


def _known_schemas(urls: Sequence[str], clock: "Clock") -> "KnownSchemas | None":
    """What topics with schema validation ask; most brokers have none, and import nothing of it."""
    if not urls:
        return None
    from ottla.broker.producing.schema_validation import ASK_TIMEOUT_S, KnownSchemas
    from ottla.client.schema_registry import SchemaRegistry

    return KnownSchemas(SchemaRegistry(",".join(urls), timeout_s=ASK_TIMEOUT_S), clock)


def shuts_down(image: Image, broker_id: int) -> bool:
    broker = image.brokers.get(broker_id)
    return broker is not None and broker.in_controlled_shutdown


def fetch_limits(settings: Settings) -> FetchLimits:
    return FetchLimits(
        wait_ms=settings.int("replica.fetch.wait.max.ms"),
        min_bytes=settings.int("replica.fetch.min.bytes"),
        response_bytes=settings.int("replica.fetch.response.max.bytes"),
        partition_bytes=settings.int("replica.fetch.max.bytes"),
    )
