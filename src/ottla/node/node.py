"""One node: what every node has, and the order in which its parts start and stop.

Only composition: a step makes parts and returns them. What a broker has besides is `broker_role`'s.
"""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

from ottla.broker.api import Listeners
from ottla.broker.audit import AuditTrail
from ottla.broker.background import Background
from ottla.broker.cluster_view import ClusterView
from ottla.broker.dispatch import Dispatcher
from ottla.broker.forwarding import OwnController
from ottla.broker.quotas import ClientQuotas
from ottla.broker.services import Areas, ControllerServices
from ottla.broker.transport.server import Server, SharedByListeners
from ottla.config import Settings
from ottla.config.topology import Listener
from ottla.controller.controller import Controller
from ottla.errors import KafkaError, OttlaError
from ottla.log.directory import LogDirectory
from ottla.log.log_directories import LogDirectories
from ottla.membership.joining import ask_cluster_id, ask_voters, watch_voters
from ottla.membership.liveness import Liveness
from ottla.membership.registration import register_controller
from ottla.metadata.image import Delta, Image
from ottla.metadata.publisher import Publisher
from ottla.metadata.snapshot import refuse_access_rules
from ottla.metadata.snapshotting import Snapshotting
from ottla.node.active_controller import ActiveController
from ottla.node.broker_role import BrokerRole, Foundation
from ottla.node.certificates import Certificates
from ottla.node.formatting import Identity, identify
from ottla.node.intervals import USUAL, Intervals
from ottla.node.policies import policies_of
from ottla.node.quorum_config import (
    other_controllers,
    quorum_config,
    reachable,
    reachable_controller,
)
from ottla.node.security import (
    access_of,
    authentication_of,
    check_options,
    network_to_brokers,
    network_to_controllers,
    principals_of,
)
from ottla.node.settings_in_force import SettingsInForce
from ottla.ports.chance import SYSTEM_CHANCE, Chance, new_uuid
from ottla.ports.clock import SYSTEM_CLOCK, Clock
from ottla.ports.disk import LocalDisk, Sync, sync
from ottla.ports.network import Network, TcpNetwork
from ottla.ports.threads import threads_behind_the_loop
from ottla.quorum.driver import Quorum
from ottla.replication.partitions import Partitions

if TYPE_CHECKING:
    from ottla.broker.transport.authentication import Authentication

log = logging.getLogger(__name__)

THREADS = 4


class Bound(NamedTuple):
    """Ports that were taken, as others reach them."""

    advertised: list[Listener]
    controllers: list[Listener]
    settings: Settings  # the file's, with the ports that the system chose


class Metadata(NamedTuple):
    """The cluster's metadata on this node: its log, its image, and who decides about it."""

    publisher: Publisher
    quorum: Quorum
    controller: Controller
    active_controller: ActiveController
    liveness: Liveness


class Node:
    def __init__(
        self,
        settings: Settings,
        *,
        clock: Clock = SYSTEM_CLOCK,
        chance: Chance = SYSTEM_CHANCE,
        sync: Sync = sync,
        intervals: Intervals = USUAL,
    ) -> None:
        self.settings = settings
        self.clock = clock
        self.chance = chance
        self.sync = sync
        self.intervals = intervals
        self.topology = settings.topology
        self.threads = ThreadPoolExecutor(THREADS, "ottla")
        self.readers = threads_behind_the_loop(THREADS, "ottla-read")
        self.background = Background(self.readers)
        self.network: Network = TcpNetwork()  # bare, as probes are
        self.to_controllers: Network = self.network
        self.log_directories = LogDirectories(self.topology, sync, chance)
        self.in_force = SettingsInForce(settings)
        self.audit = AuditTrail(
            settings.static.get("ottla.audit.file", ""),
            clock.wall_ms,
            settings.static.get("ottla.audit.topic", ""),
        )
        self.certificates = Certificates(self.in_force, clock.monotonic)
        self.listeners = SharedByListeners.of(self.in_force, clock.monotonic)
        self.policies = policies_of(settings)
        self.accountant = ClientQuotas(settings, clock.monotonic)
        self.servers: list[Server] = []
        self.advertised: list[Listener] = []  # as clients are told
        self.broker: BrokerRole | None = None  # on a node that is one, from its start
        self._keeping_time: asyncio.Task[None] | None = None

    # What it is made of, once it starts ------------------------------------------------------

    @property
    def publisher(self) -> Publisher:
        return self.metadata.publisher

    @property
    def quorum(self) -> Quorum:
        return self.metadata.quorum

    @property
    def controller(self) -> Controller:
        return self.metadata.controller

    @property
    def partitions(self) -> Partitions:
        assert self.broker is not None, "a controller has none"
        return self.broker.partitions

    @property
    def directories(self) -> list[LogDirectory]:
        """Those of log.dirs that can be used."""
        return (
            self.log_directories.usable_logs() if self.broker is None else self.broker.directories
        )

    # Start -----------------------------------------------------------------------------------

    async def start(self) -> None:
        """Serves when it returns."""
        asyncio.get_running_loop().set_default_executor(self.threads)
        check_options(self.settings, self.chance)
        self.to_controllers = network_to_controllers(
            self.settings, self.network, self.certificates, self.chance
        )
        self.log_directories.lock()
        self.audit.start(self.background)
        bound = await self._bind_all()
        self.in_force.settle(bound.settings)
        self.advertised = bound.advertised
        identity = await self._identify(bound)
        self.metadata = self._make_metadata(identity, bound.controllers)
        self.cluster = self._make_view(identity)
        await self._start_metadata(identity, bound.controllers)
        await self._serve(Listeners.CONTROLLER, self.controller_areas())
        if self.topology.is_broker:
            self.broker = self._make_broker(identity, bound.settings)
            await self._join_cluster(self.broker)
        self.certificates.look_after(self.background)

    async def _bind_all(self) -> Bound:
        topology = self.topology
        controllers = await self._bind(topology.controller_listeners, Listeners.CONTROLLER)
        listeners = await self._bind(topology.listeners, Listeners.BROKER)
        advertised = list(map(reachable, fill_ports(topology.advertised, listeners)))
        return Bound(
            advertised,
            [reachable_controller(each, topology) for each in controllers],
            settle_ports(self.settings, [*listeners, *controllers], advertised),
        )

    async def _bind(self, wanted: tuple[Listener, ...], kind: Listeners) -> list[Listener]:
        """Take the ports now, so that they can be told; nobody is answered before `serve`."""
        bound = []
        for listener in wanted:
            server = Server(self.listeners, listener.name, kind)
            encryption = self.certificates.of_listener(listener)
            port = await server.bind(listener.host, listener.port, encryption)
            self.servers.append(server)
            bound.append(listener._replace(port=port))
        return bound

    async def _identify(self, bound: Bound) -> Identity:
        return identify(
            bound.settings,
            self.log_directories,
            bound.controllers,
            self.clock.wall_ms(),
            self.sync,
            self.chance,
            await self._ask_cluster_id(),
        )

    async def _ask_cluster_id(self) -> str | None:
        """Only of a new node: a directory that was formatted knows. A broker waits for an answer,
        a voter may be one of the first."""
        topology = self.topology
        if self.log_directories.identities:
            return None
        if not topology.is_controller:
            voters = [(voter.host, voter.port) for voter in topology.voters]
            return await ask_cluster_id(
                self.to_controllers, voters or topology.bootstrap_controllers
            )
        said = await ask_voters(self.to_controllers, other_controllers(topology))
        ids = set(said.values())
        if len(ids) > 1:
            raise OttlaError(f"The voters belong to different clusters: {', '.join(sorted(ids))}.")
        return ids.pop() if ids else None

    async def _watch_voters(self, identity: Identity) -> None:
        """A node among voters of another cluster would wait for ever."""
        others = other_controllers(self.topology)
        voters = [(voter.host, voter.port) for voter in self.topology.voters] or others
        if not others:
            return
        error = await watch_voters(
            self.to_controllers,
            voters,
            identity.cluster_id,
            [one.path for one in self.log_directories.identities],
            lambda: self.quorum.leader_id is not None,
        )
        if error is not None and not self.quorum.failure.done():
            self.quorum.failure.set_exception(error)

    def _make_metadata(self, identity: Identity, controllers: list[Listener]) -> Metadata:
        now = self.clock.monotonic
        publisher = Publisher()
        quorum = Quorum(
            quorum_config(self.settings, identity, controllers, self.intervals.quorum_fetch_wait_s),
            publisher,
            self.clock,
            self.chance,
            LocalDisk(self.sync),
            self.to_controllers,
        )
        controller = Controller(
            quorum,
            publisher,
            self.settings,
            node_id=self.topology.node_id,
            cluster_id=identity.cluster_id,
            bootstrap=identity.bootstrap,
            now=now,
            now_ms=self.clock.wall_ms,
            chance=self.chance,
            policies=self.policies,
        )
        active_controller = ActiveController(
            controller,
            quorum,
            self.to_controllers,
            f"broker-{self.topology.node_id}",
            now,
            self.intervals.controller_retry_s,
        )
        liveness = Liveness(controller, lambda: publisher.image, self.network)
        return Metadata(publisher, quorum, controller, active_controller, liveness)

    def _make_view(self, identity: Identity) -> ClusterView:
        return ClusterView(
            node_id=self.topology.node_id,
            cluster_id=identity.cluster_id,
            clock=self.clock,
            access=access_of(
                self.settings, self.publisher, lambda: self.quorum.is_caught_up, self.audit
            ),
            publisher=self.publisher,
            quorum=self.quorum,
            settings_in_force=self.in_force,
        )

    async def _start_metadata(self, identity: Identity, controllers: list[Listener]) -> None:
        publisher, quorum, controller, active_controller, liveness = self.metadata
        publisher.subscribe(self.accountant.image_changed)
        publisher.subscribe(self._quotas_changed)
        # Of a new leader the controller on this node hears first, since it was made: it is active
        # when brokers are looked for, and then links to the one before are given up.
        publisher.subscribe_leader(liveness.leader_changed)
        publisher.subscribe_leader(active_controller.leader_changed)
        await quorum.start()
        self.background.spawn(self._watch_voters(identity))
        if not self.cluster.access.restricts:
            refuse_access_rules(publisher.image)
        Snapshotting(
            publisher,
            quorum,
            bytes_max=self.settings.int("metadata.log.max.record.bytes.between.snapshots"),
            interval_ms=self.settings.int("metadata.log.max.snapshot.interval.ms"),
            now=self.clock.monotonic,
        )
        if self.topology.is_controller:
            told = register_controller(
                active_controller, self.topology.node_id, controllers, new_uuid(self.chance)
            )
            self.background.spawn(told)
        self._keeping_time = asyncio.get_running_loop().create_task(controller.run())

    def _quotas_changed(self, image: Image, delta: Delta) -> None:
        if delta.quotas:
            self.listeners.connection_rates.load(image.client_quotas)

    def controller_areas(self) -> Areas:
        """Whatever a controller is asked, it answers with the same."""
        controller = self.controller
        services = ControllerServices(
            cluster=self.cluster,
            authority=OwnController(controller, self.quorum),
            is_active=lambda: controller.active,
            heartbeats_ended=self.metadata.liveness.connection_closed,
        )
        return dict.fromkeys(("cluster", "transactions"), lambda: services)

    def _make_broker(self, identity: Identity, settings: Settings) -> BrokerRole:
        return BrokerRole(
            Foundation(
                settings=settings,
                in_force=self.in_force,
                identity=identity,
                cluster=self.cluster,
                publisher=self.publisher,
                quorum=self.quorum,
                controller=self.metadata.active_controller,
                log_directories=self.log_directories,
                listeners=self.listeners,
                network=network_to_brokers(
                    self.settings, self.network, self.certificates, self.chance
                ),
                background=self.background,
                threads=self.threads,
                chance=self.chance,
                intervals=self.intervals,
                audit=self.audit,
            )
        )

    async def _join_cluster(self, broker: BrokerRole) -> None:
        while not self.quorum.is_caught_up:
            if self.quorum.failure.done():
                self.quorum.failure.result()
            await asyncio.sleep(self.intervals.metadata_catch_up_s)
        if not self.cluster.access.restricts:
            refuse_access_rules(self.publisher.image)  # a node that joins learns of them only now
        await broker.join(self.advertised)
        await self._serve(Listeners.BROKER, broker.areas)
        broker.go_on()

    async def _serve(self, kind: Listeners, areas: Areas) -> None:
        dispatcher = Dispatcher(kind, areas, self.cluster, self.accountant)
        for server in self.servers:
            if server.kind is kind:
                listener = self._listener(server.name)
                await server.serve(
                    dispatcher,
                    self._authentication(listener),
                    principals_of(listener, self.settings),
                )

    def _listener(self, name: str) -> Listener:
        topology = self.topology
        bound = (*topology.listeners, *topology.controller_listeners)
        return next(each for each in bound if each.name == name)

    def _authentication(self, listener: Listener) -> "Callable[[], Authentication] | None":
        return authentication_of(
            listener,
            self.settings,
            self.publisher,
            self.clock,
            self.chance,
            self.background,
            self.audit,
        )

    # Stop ------------------------------------------------------------------------------------

    async def stop(self) -> None:
        """In good order: leave the cluster, stop serving, close what is stored."""
        if self.broker is not None:
            await self.broker.leave()
        for server in self.servers:
            await server.close()
        self.audit.close()
        if self.broker is not None:
            await self.broker.stop()
        self.metadata.active_controller.close()
        if self._keeping_time is not None:
            self._keeping_time.cancel()
        await self.quorum.stop()
        epoch = self.broker.registration.epoch if self.broker is not None else -1
        for directory in self.directories:
            try:
                directory.close(epoch)
            except KafkaError as error:  # a full disk, say: the others are closed all the same
                log.error("no clean stop, the next start recovers: %s", error.message)
        self.log_directories.unlock()
        self.threads.shutdown()
        self.readers.shutdown()


def fill_ports(wanted: tuple[Listener, ...], bound: list[Listener]) -> list[Listener]:
    """What clients are told; a port that the system chose is filled in."""
    ports = {listener.name: listener.port for listener in bound}
    return [each._replace(port=each.port or ports[each.name]) for each in wanted]


def settle_ports(settings: Settings, bound: list[Listener], advertised: list[Listener]) -> Settings:
    """The same settings with the ports that the system chose."""
    settled = {**settings.static, "listeners": ",".join(map(str, bound))}
    if settings.names("advertised.listeners"):
        settled["advertised.listeners"] = ",".join(map(str, advertised))
    return Settings(settled)
