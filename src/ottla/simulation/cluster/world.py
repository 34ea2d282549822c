"""A whole cluster in virtual time: real nodes, real logs, hostile hosts and networks, one seed.

    ClusterWorld(seed=42).run(45.0)

ends well or raises `Violation`, whose text tells what happened. What runs is the product itself,
sockets, clock, threads and chance apart: quorum, controller, replication and the broker's
handlers, over files in memory. Power is cut at one machine at a time, because acknowledged
records are kept by being on several, as in Apache Kafka; with `synced=True` acknowledgements wait
for the disks, and all may lose it at once.
"""

import asyncio
import logging
import shutil
from collections import defaultdict
from collections.abc import Coroutine, Iterable
from contextlib import suppress
from contextvars import Context, copy_context
from functools import partial
from pathlib import Path
from random import Random
from tempfile import mkdtemp
from typing import Any, NoReturn

from ottla.config import Settings
from ottla.errors import KafkaError
from ottla.ids import TopicPartition
from ottla.log.partition_log import PartitionLog
from ottla.node.broker_role import BrokerRole
from ottla.node.node import Node
from ottla.ports.network import LinkLost
from ottla.replication.partitions import Replica
from ottla.simulation.cluster import access, copiers, copies, recreated_topic
from ottla.simulation.cluster.access import AccessFacts, Operator
from ottla.simulation.cluster.clients import (
    ClientMeans,
    ClusterClient,
    Consumer,
    Producer,
    SimulatedClient,
)
from ottla.simulation.cluster.copiers import Copier
from ottla.simulation.cluster.copies import Copies, CopyReader
from ottla.simulation.cluster.faults import Faults
from ottla.simulation.cluster.invariants import ClusterInvariants
from ottla.simulation.cluster.recreated_topic import RecreatedTopicInvariants, TopicRecreator
from ottla.simulation.engine.environment import LESS_OFTEN, Synced, clock_of
from ottla.simulation.engine.host_loop import HostLoop
from ottla.simulation.engine.hosts import PROCESS, Host, Process
from ottla.simulation.engine.power import cut_power
from ottla.simulation.engine.violation import Violation
from ottla.wire.codec import MalformedMessage
from ottla.wire.message import Message
from ottla.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from ottla.wire.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse

CLIENTS = 0
ELECT = 2
TOPIC = "story"
PARTITIONS = 2
STORY_LINES = 120
ALL_BYTES = 1 << 24
STEPS_MAX = 100_000  # four times as many as there are in a run
HEAL_S = 15.0
WRITING_S = 10.0  # of that
PACE_S = 1.2
COPIED = 5
"""In every fifth run a group copies what is written, in transactions."""
RULED = 3
"""The remainder of another fifth, in which an operator makes and deletes access rules."""
LIARS = 0.3
"""The share of runs in which a disk forgets records that it said were safe."""
MEMORY = Path("/dev/shm")

SETTINGS = {
    "process.roles": "broker,controller",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    "default.replication.factor": "3",
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "1000",
    "replica.lag.time.max.ms": "3000",
    "replica.fetch.wait.max.ms": "1500",
    "metadata.max.idle.interval.ms": "5000",
    "controller.quorum.retry.backoff.ms": "100",
    "log.cleaner.enable": "false",
}
"""Kafka's time-outs, shorter, so that more happens in a minute; and less idle talk."""


ENVIRONMENT_CONTEXT = Context()
"""Faults that are set off by a node's step are not part of that node."""


class SimulatedNode:
    """A node with its host, from process to process."""

    def __init__(self, node_id: int, port: int, settings: Settings, path: Path) -> None:
        self.id = node_id
        self.port = port
        self.controller_port = port + 100
        self.settings = settings
        self.path = path
        self.host = Host(node_id)
        self.process = Process(self.host, alive=False)
        self.node: Node | None = None
        self.lost_something = False  # in this process or the one before it, until it is in sync

    @property
    def broker(self) -> BrokerRole | None:
        """Not while it is dead, nor before it has formatted its directories."""
        return None if self.node is None else self.node.broker

    def replicas(self) -> Iterable[Replica]:
        return () if self.broker is None else self.broker.partitions


class ClusterWorld:
    def __init__(self, seed: int, nodes: int = 3, *, synced: bool = False) -> None:
        self.seed = seed
        self.acknowledges_synced = synced
        self.rng = Random(seed)
        self.chance = Random(seed + 2)  # of nodes: their draws move nothing else
        self.story: list[str] = []
        self.loop = HostLoop(  # type: ignore[abstract]  # it has what nodes use
            Random(seed + 1), self._task_failed
        )
        self.synced = Synced()
        self.invariants = ClusterInvariants(self)
        self.recreated = RecreatedTopicInvariants(self)
        self.root = Path(mkdtemp(prefix="ottla-world-", dir=MEMORY if MEMORY.is_dir() else None))
        drawn = {"log.flush.interval.ms": "2500"} if self.rng.random() < 0.5 else {}
        if synced:
            drawn["log.flush.interval.messages"] = "1"
        self.copies = None if seed % COPIED else Copies(self)
        if self.copies is not None:
            drawn |= copiers.SETTINGS
        self.access = AccessFacts(self) if seed % COPIED == RULED else None
        if self.access is not None:
            drawn |= access.SETTINGS
        self.members = {n: self._member(n, nodes, drawn) for n in range(1, nodes + 1)}
        self.clients: list[SimulatedClient] = []
        self.client_process = Process(Host(CLIENTS))
        self.calm = False
        self.faults = Faults(self)
        self._dead_nodes: list[Node] = []

    def _member(self, node_id: int, nodes: int, drawn: dict[str, str]) -> SimulatedNode:
        port = 9000 + node_id
        voters = ",".join(f"{n}@127.0.0.1:{9100 + n}" for n in range(1, nodes + 1))
        path = self.root / f"node{node_id}"
        own = {
            "node.id": str(node_id),
            "controller.quorum.voters": voters,
            "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{9100 + node_id}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
            "log.dirs": str(path),
        }
        return SimulatedNode(node_id, port, Settings(SETTINGS | drawn | own), path)

    # --- a run

    def run(self, seconds: float) -> "ClusterWorld":
        before = logging.root.manager.disable
        logging.disable(logging.CRITICAL)
        try:
            self._run(seconds)
        finally:
            logging.disable(before)
            self.loop.close()
            shutil.rmtree(self.root, ignore_errors=True)
        return self

    def _run(self, seconds: float) -> None:
        if self.rng.random() < LIARS and not self.acknowledges_synced:
            liar = self.rng.choice(list(self.members.values()))
            self.tell(f"the disk of node {liar.id} lies: it syncs no records")
            liar.host.disk_lies = True
        for member in self.members.values():
            self.loop.sockets.hosts[member.port] = member.host
            self.loop.sockets.hosts[member.controller_port] = member.host
            self.start(member)
        self._as_client(self._run_clients())
        self.faults.begin(after=2.0)
        self._until(seconds)
        self.heal()
        for client in self.clients:
            if isinstance(client, Producer | TopicRecreator | Operator):
                self.loop.call_later(WRITING_S, client.stop)
            elif isinstance(client, Copier):
                client.calmed.set()
        acknowledged = self.acknowledged
        self._until(seconds + HEAL_S)
        if self.acknowledged == acknowledged:
            self.violated(f"nothing was acknowledged in {WRITING_S} s after all was mended")
        self.invariants.at_the_end(len(self.members))
        readers = [client for client in self.clients if isinstance(client, Consumer)]
        for reader in readers:
            self._read_all(reader)
        if self.copies is not None:
            self.copies.at_the_end({reader.where: reader.position for reader in readers})
            self._compare_replicas()
        if self.access is not None:
            nodes = {n: member.node for n, member in self.members.items()}
            self.access.at_the_end(
                {n: node.publisher.image for n, node in nodes.items() if node is not None}
            )

    def _until(self, moment: float) -> None:
        self.loop.run_until(moment)
        if self.loop.failure is not None:
            raise self.loop.failure

    def _read_all(self, consumer: Consumer) -> None:
        bases = self.invariants.acknowledged[consumer.where]
        if bases and consumer.position <= max(bases):
            self.violated(f"the reader of {consumer.where} is still at {consumer.position}")

    def _compare_replicas(self) -> None:
        """Of every partition, as far as all have it: those of coordinators are not looked at in
        every step."""
        found: defaultdict[TopicPartition, list[PartitionLog]] = defaultdict(list)
        for member in self.members.values():
            for replica in member.replicas():
                found[replica.topic_partition].append(replica.log)
        for where, logs in found.items():
            end = min(log.log_end_offset for log in logs)
            if len({bytes(log.read(0, ALL_BYTES, upto=end).fetch_cold()) for log in logs}) > 1:
                self.violated(f"the replicas of {where} differ at the end, before {end}")

    async def _run_clients(self) -> None:
        """Make the topic, then let clients write and read until the end."""
        ports = {member.id: member.port for member in self.members.values()}
        await self._create_topic(ClusterClient(ports, TOPIC, Random(self.rng.random())))
        for n in range(PARTITIONS):
            for name in ("a", "b"):
                self.clients.append(Producer(f"{name}{n}", n, PACE_S, self._client(ports)))
            self.clients.append(Consumer(n, self._client(ports)))
        if self.copies is None:
            self.clients.append(TopicRecreator(self._client(ports, recreated_topic.TOPIC)))
        else:
            await self._copy(ports, self.copies)
        if self.access is not None:
            self.clients.append(Operator(self.access, self._client(ports)))
        for client in self.clients:
            self._as_client(client.run())

    async def _copy(self, ports: dict[int, int], found: Copies) -> None:
        target = ClusterClient(ports, copies.TOPIC, Random(self.rng.random()))
        await self._create_topic(target)
        for name in ("first", "second"):
            self.clients.append(Copier(name, found, target, self._client(ports)))
        for n in range(copies.PARTITIONS):
            self.clients.append(CopyReader(n, found, self._client(ports, copies.TOPIC)))

    def _client(self, ports: dict[int, int], topic: str = TOPIC) -> ClientMeans:
        rng = Random(self.rng.random())
        wall_ms = clock_of(self.client_process.host, self.loop.time).wall_ms
        return ClientMeans(self, self.invariants, ClusterClient(ports, topic, rng), rng, wall_ms)

    async def _create_topic(self, cluster: ClusterClient) -> None:
        config = [CreatableTopicConfig(name="min.insync.replicas", value="2")]
        request: Message = CreateTopicsRequest(
            topics=[
                CreatableTopic(
                    name=cluster.topic,
                    num_partitions=PARTITIONS,
                    replication_factor=3,
                    configs=config,
                )
            ]
        )
        while True:
            try:
                await cluster.ask_any(request, 7, CreateTopicsResponse)
                if await cluster.refresh() and len(cluster.partitions) == PARTITIONS:
                    return
            except LinkLost:
                pass
            await asyncio.sleep(0.1)

    @property
    def acknowledged(self) -> int:
        return sum(c.acknowledged for c in self.clients if isinstance(c, Producer))

    @property
    def elections(self) -> int:
        return len(self.invariants.leaders)

    # --- nodes come and go

    def start(self, member: SimulatedNode) -> None:
        member.host.up = True
        member.process = Process(member.host)
        member.node = node = Node(
            member.settings,
            clock=clock_of(member.host, self.loop.time),
            chance=Random(self.chance.random()),
            sync=self.synced.sync_of(member.host),
            intervals=LESS_OFTEN,
        )
        member.process.after_step = partial(self._look, member, node)
        self.invariants.restarted(member.id)
        self._spawn(member.process, self._start(member, node))

    async def _start(self, member: SimulatedNode, node: Node) -> None:
        await node.start()
        self.tell(f"node {member.id} serves")

    def kill(self, member: SimulatedNode, *, power: bool) -> None:
        """As by SIGKILL, or with the whole host: then unsynced bytes are lost or torn."""
        assert member.node is not None
        self.tell(f"node {member.id} {'loses power' if power else 'is killed'}")
        member.process.alive = False
        member.host.up = not power
        self.loop.sockets.died(member.process, silently=power)
        member.node.log_directories.unlock()
        self._dead_nodes.append(member.node)
        member.node = None
        if power:
            self._cut_power(member)

    def lose_unsynced(self, member: SimulatedNode) -> None:
        """The host of a dead node goes down as well."""
        self.tell(f"the dead node {member.id} loses power")
        self._cut_power(member)

    def _cut_power(self, member: SimulatedNode) -> None:
        member.lost_something = True
        cut_power(member.path, self.synced, self.rng, holes=not member.host.disk_lies)

    def replace_disk(self, member: SimulatedNode, topic: str) -> None:
        """Of a dead node: that with the records of a topic, not that with the metadata."""
        self.tell(f"node {member.id} gets an empty disk")
        for directory in sorted(member.path.glob(f"{topic}-*")):
            shutil.rmtree(directory)

    def move_leads(self) -> None:
        """An operator asks for the preferred leaders."""
        self.tell("the leads are to be with the preferred replicas")
        self._as_client(self._elect_preferred())

    async def _elect_preferred(self) -> None:
        ports = {member.id: member.port for member in self.members.values()}
        operator = ClusterClient(ports, TOPIC, Random(self.rng.random()))
        with suppress(LinkLost, MalformedMessage):
            request = ElectLeadersRequest(topic_partitions=None, timeout_ms=1000)
            await operator.ask_any(request, ELECT, ElectLeadersResponse)

    def heal(self) -> None:
        self.tell("all is mended")
        self.calm = True
        self.loop.sockets.cut.clear()
        self.loop.sockets.slow = 0.0
        for member in self.members.values():
            if member.process.paused:
                self.loop.resume(member.process)
            if not member.process.alive:
                self.start(member)

    def elected(self, node_id: int) -> None:
        ENVIRONMENT_CONTEXT.run(self.faults.elected, node_id)

    def acknowledged_at(self, where: TopicPartition) -> None:
        ENVIRONMENT_CONTEXT.run(self.faults.acknowledged, where)

    def _spawn(self, process: Process, work: Coroutine[Any, Any, None]) -> None:
        context = copy_context()
        context.run(PROCESS.set, process)
        context.run(self._create_task, work)

    def _create_task(self, work: Coroutine[Any, Any, None]) -> None:
        def ended(task: Any) -> None:
            error = None if task.cancelled() else task.exception()
            if isinstance(error, Violation):
                self.loop.failure = self.loop.failure or error
            elif error is not None:
                self._task_failed({"message": "a task ended", "exception": error})

        self.loop.create_task(work).add_done_callback(ended)

    def _as_client(self, work: Coroutine[Any, Any, None]) -> None:
        self._spawn(self.client_process, work)

    # --- after every step

    def _look(self, member: SimulatedNode, node: Node) -> None:
        """Nothing is to be seen before the node has partitions, but what its controller does."""
        if self.access is not None and hasattr(node, "metadata"):
            self.access.watch(node.metadata.controller, node.metadata.quorum)
        if node.broker is not None:
            tables = node.broker.partitions._by_name
            member.process.after_step = partial(self._look_at, member, tables)

    def _look_at(self, member: SimulatedNode, tables: dict[str, dict[int, Replica]]) -> None:
        if self.loop.steps > STEPS_MAX:
            self.violated(f"after {STEPS_MAX} steps somebody is still busy")
        try:
            if TOPIC in tables:
                self.invariants.look_at(member.id, tables[TOPIC])
            if recreated_topic.TOPIC in tables:
                self.recreated.look_at(member.id, tables[recreated_topic.TOPIC])
        except KafkaError as error:
            self.violated(f"a log of node {member.id} cannot be read: {error}")
        if self.faults.targeted.watch is not None:
            self.faults.targeted.look_at(member)

    def _task_failed(self, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, Violation):
            self.loop.failure = self.loop.failure or error
        elif error is not None:
            what = f"{context.get('message')}: {error!r}"
            self.loop.failure = self.loop.failure or Violation(self.explain(what))
            self.loop.failure.__cause__ = error

    # --- the story

    def tell(self, line: str) -> None:
        self.story.append(f"{self.loop.now:9.3f}  {line}")

    def violated(self, what: str) -> NoReturn:
        self.loop.failure = self.loop.failure or Violation(self.explain(what))
        raise self.loop.failure

    def explain(self, what: str) -> str:
        told = "\n".join(self.story[-STORY_LINES:])
        return f"seed {self.seed}: {what}\n{told}\n{self.loop.now:9.3f}  {what}"
