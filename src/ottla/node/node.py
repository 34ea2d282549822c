"""One node: its parts, and the order in which they start and stop."""

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor

from ottla.broker.api import Listeners
from ottla.broker.broker import Broker
from ottla.broker.durability import Durability
from ottla.broker.producer_ids import ProducerIds
from ottla.broker.transport.server import Server
from ottla.broker.waiting import Waiting
from ottla.config import Settings
from ottla.config.topology import Listener
from ottla.controller.controller import Controller
from ottla.errors import ErrorCode, KafkaError, OttlaError
from ottla.ids import Uuid
from ottla.log.directory import LogDirectory
from ottla.log.log_directories import LogDirectories
from ottla.log.maintenance import LogMaintenance
from ottla.membership.isolated_leaders import IsolatedLeaders
from ottla.membership.joining import ask_cluster_id, ask_voters, watch_voters
from ottla.membership.liveness import Liveness
from ottla.membership.offline_replicas import OfflineReplicas
from ottla.membership.presence import Presence
from ottla.membership.registration import Registration, register_controller
from ottla.metadata.features import CORDONED_SINCE
from ottla.metadata.image import Delta, Image, ResourceType
from ottla.metadata.publisher import Publisher
from ottla.metadata.snapshot import refuse_access_rules
from ottla.metadata.snapshotting import Snapshotting
from ottla.node.active_controller import ActiveController
from ottla.node.coordinators import Coordinators
from ottla.node.formatting import Identity, identify
from ottla.node.intervals import USUAL, Intervals
from ottla.node.quorum_config import (
    other_controllers,
    quorum_config,
    reachable,
    reachable_controller,
)
from ottla.ports.chance import SYSTEM_CHANCE, Chance, new_uuid
from ottla.ports.clock import SYSTEM_CLOCK, Clock
from ottla.ports.disk import LocalDisk, Sync, sync
from ottla.ports.network import TcpNetwork
from ottla.ports.recurring import every
from ottla.ports.threads import threads_behind_the_loop
from ottla.quorum.driver import Quorum
from ottla.replication.assignments import Assignments
from ottla.replication.directories import Directories
from ottla.replication.directory_moves import DirectoryMoves
from ottla.replication.fetcher import FetchingBroker, FetchLimits
from ottla.replication.fetchers import Fetchers
from ottla.replication.followers import Followers
from ottla.replication.in_sync_changes import InSyncChanges
from ottla.replication.partitions import Partitions
from ottla.replication.peers import Peers
from ottla.wire.messages.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)

log = logging.getLogger(__name__)

THREADS = 4


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
        self.broker = Broker(settings, clock, chance, self.readers)
        self.network = TcpNetwork()
        self.servers: list[Server] = []
        self.advertised: list[Listener] = []
        self.log_directories = LogDirectories(self.topology, sync, chance)
        self.directories: list[LogDirectory] = []  # those of log.dirs that can be used
        self._keeping_time: asyncio.Task[None] | None = None

    # Start -----------------------------------------------------------------------------------

    async def start(self) -> None:
        """Serves when it returns."""
        asyncio.get_running_loop().set_default_executor(self.threads)
        self.log_directories.lock()
        controllers = await self._bind(self.topology.controller_listeners, Listeners.CONTROLLER)
        listeners = await self._bind(self.topology.listeners, Listeners.BROKER)
        self.advertised = list(map(reachable, fill_ports(self.topology.advertised, listeners)))
        settled = settle_ports(self.settings, [*listeners, *controllers], self.advertised)
        self.broker.settings = settled
        controllers = [reachable_controller(each, self.topology) for each in controllers]
        joined = await self._ask_cluster_id()
        identity = identify(
            settled,
            self.log_directories,
            controllers,
            self.clock.wall_ms(),
            self.sync,
            self.chance,
            joined,
        )
        self.directories = self.log_directories.usable_logs()
        await self._start_quorum(identity, controllers)
        await self._serve(Listeners.CONTROLLER)
        self._make_broker(identity)
        if self.topology.is_broker:
            await self._join_cluster(identity)
        else:
            self.publisher.subscribe(self.partitions.apply)

    async def _ask_cluster_id(self) -> str | None:
        """Only of a new node: a directory that was formatted knows. A broker waits for an answer,
        a voter may be one of the first."""
        topology = self.topology
        if self.log_directories.identities:
            return None
        if not topology.is_controller:
            voters = [(voter.host, voter.port) for voter in topology.voters]
            return await ask_cluster_id(self.network, voters or topology.bootstrap_controllers)
        said = await ask_voters(self.network, other_controllers(topology))
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
            self.network,
            voters,
            identity.cluster_id,
            [one.path for one in self.log_directories.identities],
            lambda: self.quorum.leader_id is not None,
        )
        if error is not None and not self.quorum.failure.done():
            self.quorum.failure.set_exception(error)

    async def _bind(self, wanted: tuple[Listener, ...], kind: Listeners) -> list[Listener]:
        """Take the ports now, so that they can be told; nobody is answered before `serve`."""
        bound = []
        for listener in wanted:
            server = Server(self.broker, listener.name, kind)
            port = await server.bind(listener.host, listener.port)
            self.servers.append(server)
            bound.append(listener._replace(port=port))
        return bound

    async def _serve(self, kind: Listeners) -> None:
        for server in self.servers:
            if server.kind is kind:
                await server.serve()

    async def _start_quorum(self, identity: Identity, controllers: list[Listener]) -> None:
        topology, broker = self.topology, self.broker
        self.publisher = broker.publisher = Publisher()
        config = quorum_config(
            self.settings, identity, controllers, self.intervals.quorum_fetch_wait_s
        )
        self.quorum = Quorum(
            config,
            self.publisher,
            self.clock,
            self.chance,
            LocalDisk(self.sync),
            self.network,
        )
        self.controller = Controller(
            self.quorum,
            self.publisher,
            self.settings,
            node_id=topology.node_id,
            cluster_id=identity.cluster_id,
            bootstrap=identity.bootstrap,
            now=broker.now,
            chance=self.chance,
        )
        broker.cluster_id = identity.cluster_id
        broker.controller = self.controller
        broker.quorum = self.quorum
        self.active_controller = broker.active_controller = ActiveController(
            self.controller,
            self.quorum,
            self.network,
            f"broker-{topology.node_id}",
            broker.now,
            self.intervals.controller_retry_s,
        )
        self.liveness = Liveness(self.controller, lambda: self.publisher.image, self.network)
        broker.heartbeats_ended = self.liveness.connection_closed
        self.publisher.subscribe_leader(self.liveness.leader_changed)
        self.publisher.subscribe_leader(self.active_controller.leader_changed)
        await self.quorum.start()
        broker.spawn(self._watch_voters(identity))
        refuse_access_rules(self.publisher.image)
        Snapshotting(
            self.publisher,
            self.quorum,
            bytes_max=self.settings.int("metadata.log.max.record.bytes.between.snapshots"),
            interval_ms=self.settings.int("metadata.log.max.snapshot.interval.ms"),
            now=broker.now,
        )
        if topology.is_controller:
            told = register_controller(
                self.active_controller, topology.node_id, controllers, new_uuid(self.chance)
            )
            broker.spawn(told)
        self._keeping_time = asyncio.get_running_loop().create_task(self.controller.run())

    def _make_broker(self, identity: Identity) -> None:
        broker, settings = self.broker, self.settings
        broker.waiting = Waiting(broker.now)
        broker.durability = Durability(self.threads, broker.waiting.moved, broker.spawn)
        broker.producer_ids = ProducerIds(self._producer_id_block)
        broker.directories = self.log_directories.logs
        logs = Directories(
            self.directories,
            identity.directory_ids,
            broker.now_ms,
            lambda: self.partitions.settings.names("cordoned.log.dirs"),
        )
        self.logs = logs
        self.in_sync_changes = InSyncChanges(
            self.active_controller,
            lambda: self.partitions,
            broker.node_id,
            lambda: self.registration.epoch,
            broker.now,
        )
        self.partitions = broker.partitions = Partitions(
            self.topology.node_id,
            logs,
            settings,
            now=broker.now,
            moved=broker.waiting.moved,
            proposed=self.in_sync_changes.propose,
        )
        self.peers = Peers(self.network, self._address_of, f"broker-{broker.node_id}")
        asking = Peers(self.network, self._address_of, f"broker-{broker.node_id}-presence")
        self.presence = broker.presence = Presence(asking, broker.suspects, broker.now)
        self.coordinators = broker.makers = Coordinators(broker, self.peers)
        self.assignments = Assignments(
            self.active_controller,
            self.partitions,
            logs,
            epoch=lambda: self.registration.epoch,
            spawn=broker.spawn,
        )
        self.fetchers = Fetchers(
            FetchingBroker(broker.node_id, lambda: self.registration.epoch),
            self._address_of,
            self.network,
            fetch_limits(settings),
            self.broker.suspects,
            broker.durability.flushed,
            self.partitions.throttles.follower,
            self.clock,
        )
        followers = Followers(self.partitions, self.fetchers)
        self.offline_replicas = OfflineReplicas(
            self.partitions,
            followers,
            self.assignments,
            broker.now,
            broker.now_ms,
            self._signs_of_failure,
        )
        self.directory_moves = broker.directory_moves = DirectoryMoves(
            self.partitions,
            logs,
            self.assignments,
            self.threads,
            now=broker.now,
            now_ms=broker.now_ms,
            spawn=broker.spawn,
        )
        self.maintenance = LogMaintenance(
            self.directories,
            settings,
            self.threads,
            broker.now_ms,
            self.fetchers.tell_start,
            self.intervals.maintenance,
        )

    def _signs_of_failure(self) -> object:
        healths = [directory.health for directory in self.directories]
        return self.partitions.changes, [(one.full, one.changes.damages) for one in healths]

    async def _join_cluster(self, identity: Identity) -> None:
        while not self.quorum.is_caught_up:
            if self.quorum.failure.done():
                self.quorum.failure.result()
            await asyncio.sleep(self.intervals.metadata_catch_up_s)
        refuse_access_rules(self.publisher.image)  # a node that joins learns of them only now
        self._open_logs()
        self.registration = Registration(
            self.active_controller,
            node_id=self.topology.node_id,
            interval_s=self.settings.int("broker.heartbeat.interval.ms") / 1000,
            metadata_offset=lambda: self.publisher.image.offset,
            lost_directories=lambda: self.logs.ids_where(failed=True),
            cordoned_directories=self._cordoned_directories,
            now=self.clock.monotonic,
        )
        await self.registration.register(
            identity.cluster_id,
            self.advertised,
            self.logs.ids_where(failed=False),
            incarnation_id=new_uuid(self.chance),
            rack=self.settings.text("broker.rack") or None,
            previous_epoch=self._previous_epoch(),
        )
        await self._know_of_own_registration()
        self.partitions.load(self.publisher.image)
        self.logs.set_aside_strays(lambda known: self.partitions.find(*known) is not None)
        self.publisher.subscribe(self._image_changed)
        await self.registration.unfence()
        await self._know_of_own_unfencing()
        await self._serve(Listeners.BROKER)
        self.directory_moves.resume()
        self.assignments.loaded()
        self.maintenance.start()
        self._watch()

    async def _know_of_own_registration(self) -> None:
        """The metadata before it may say that this node leads, as it did in its last life: with
        what it lost in a crash it would have followers cut their logs to its own."""
        while self.publisher.image.offset < self.registration.epoch:
            await asyncio.sleep(self.intervals.metadata_catch_up_s)

    async def _know_of_own_unfencing(self) -> None:
        """Clients asked before would hear of a cluster without this broker, perhaps without any:
        librdkafka then forgets even where it began, and is lost for minutes."""
        while self.publisher.image.brokers[self.topology.node_id].fenced:
            await asyncio.sleep(self.intervals.metadata_catch_up_s)

    def _open_logs(self) -> None:
        self.partitions.configure(self.publisher.image)
        now_ms = self.broker.now_ms()
        self.log_directories.each(
            self.directories,
            lambda directory: directory.open_all(self.partitions.log_config, now_ms=now_ms),
        )
        self.logs.some_unread = self.log_directories.usable_logs() != self.log_directories.logs

    def _cordoned_directories(self) -> list[Uuid] | None:
        """None where the cluster does not know yet what that is."""
        if self.publisher.image.metadata_version < CORDONED_SINCE:
            return None
        return self.logs.cordoned_ids()

    def _image_changed(self, image: Image, delta: Delta) -> None:
        self.coordinators.resize(image)
        self.broker.suspects.image_changed(image, delta, self.broker.now())
        self.partitions.apply(image, delta)
        self.maintenance.make_directories()
        self.broker.settings = self.partitions.settings
        self.assignments.image_changed(image, delta)
        own = (ResourceType.BROKER, str(self.topology.node_id))  # what is cordoned, perhaps
        if own in delta.configs or any(shuts_down(image, one) for one in delta.brokers):
            self.registration.hurry()
        self.coordinators.image_changed(image, delta)

    def _address_of(self, node_id: int) -> tuple[str, int] | None:
        name = self.topology.inter_broker
        for _, host, port, _ in self.broker.endpoints([node_id], name):
            return host, port
        return None

    def _watch(self) -> None:
        settings = self.settings
        session_s = settings.int("broker.session.timeout.ms") / 1000
        silent_s = self.registration.controller_silent_s
        isolated = IsolatedLeaders(self.partitions, silent_s, session_s, self.broker.now)
        watch_s = self.intervals.replica_watch_s
        lag_s = settings.int("replica.lag.time.max.ms") / 1000
        for interval_s, look, what in (
            (lag_s / 2, self.partitions.tick, "the watch over followers"),
            (watch_s, self.offline_replicas.look, "the watch over replicas"),
            (watch_s, isolated.look, "the watch over leaders that nobody hears"),
        ):
            self.broker.spawn(every(interval_s, look, what))

    def _previous_epoch(self) -> int:
        """The epoch of a clean stop, if all directories agree that there was one."""
        epochs = {
            directory.previous_broker_epoch for directory in self.log_directories.usable_logs()
        }
        epoch = epochs.pop() if len(epochs) == 1 else None
        return -1 if epoch is None else epoch

    async def _producer_id_block(self) -> tuple[int, int]:
        response = await self.active_controller.ask(
            AllocateProducerIdsRequest(
                broker_id=self.topology.node_id, broker_epoch=self.registration.epoch
            ),
            AllocateProducerIdsResponse,
        )
        if response.error_code:
            raise KafkaError(ErrorCode(response.error_code), "No producer ids are to be had.")
        return response.producer_id_start, response.producer_id_len

    # Stop ------------------------------------------------------------------------------------

    async def stop(self) -> None:
        """In good order: leave the cluster, stop serving, close what is stored."""
        if self.topology.is_broker:
            await self.registration.leave()
        for server in self.servers:
            await server.close()
        await self.maintenance.stop()
        await self.coordinators.stop()
        await self.fetchers.stop()
        self.peers.close()
        self.presence.close()
        self.active_controller.close()
        if self._keeping_time is not None:
            self._keeping_time.cancel()
        await self.quorum.stop()
        epoch = self.registration.epoch if self.topology.is_broker else -1
        for directory in self.directories:
            try:
                directory.close(epoch)
            except KafkaError as error:  # a full disk, say: the others are closed all the same
                log.error("no clean stop, the next start recovers: %s", error.message)
        self.log_directories.unlock()
        self.threads.shutdown()
        self.readers.shutdown()


def shuts_down(image: Image, broker_id: int) -> bool:
    broker = image.brokers.get(broker_id)
    return broker is not None and broker.in_controlled_shutdown


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


def fetch_limits(settings: Settings) -> FetchLimits:
    return FetchLimits(
        wait_ms=settings.int("replica.fetch.wait.max.ms"),
        min_bytes=settings.int("replica.fetch.min.bytes"),
        response_bytes=settings.int("replica.fetch.response.max.bytes"),
        partition_bytes=settings.int("replica.fetch.max.bytes"),
    )
