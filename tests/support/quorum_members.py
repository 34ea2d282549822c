"""Members of a quorum in one process, each on real files and behind a real listener."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from msgspec.structs import replace

from ottla.broker.accounting import Unlimited
from ottla.broker.api import Listeners
from ottla.broker.dispatch import Dispatcher
from ottla.broker.forwarding import OwnController
from ottla.broker.transport.server import Server, SharedByListeners
from ottla.config import Settings
from ottla.errors import ErrorCode, KafkaError
from ottla.ports.chance import SYSTEM_CHANCE
from ottla.ports.clock import SYSTEM_CLOCK
from ottla.ports.disk import LocalDisk
from ottla.quorum.config import QuorumConfig
from ottla.quorum.driver import Quorum
from ottla.quorum.store import format_dynamic
from ottla.quorum.voters import Address, ReplicaKey, Voter, VoterSet
from support.homes import free_port
from support.services import ABSENT, cluster_services, cluster_view

T = TypeVar("T")
CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg"


class Memory:
    """A listener that remembers."""

    def __init__(self) -> None:
        self.values: list[bytes] = []
        self.snapshots: list[tuple[int, int]] = []
        self.leaders: list[tuple[int | None, int]] = []

    def committed(
        self, base_offset: int, epoch: int, values: Sequence[bytes], timestamp_ms: int
    ) -> None:
        self.values += values

    def load_snapshot(self, values: Iterable[bytes], end_offset: int, epoch: int) -> None:
        self.values = list(values)
        self.snapshots.append((end_offset, epoch))

    def leader_changed(self, leader_id: int | None, epoch: int) -> None:
        self.leaders.append((leader_id, epoch))


def address_of(port: int) -> Address:
    return Address("CONTROLLER", "127.0.0.1", port)


class Member:
    def __init__(self, config: QuorumConfig) -> None:
        self.config = config
        self.memory = Memory()
        self.alive = False

    async def start(self) -> None:
        self.memory = Memory()
        self.quorum = Quorum(self.config, self.memory, SYSTEM_CLOCK, SYSTEM_CHANCE)
        shared = SharedByListeners.of(self._settings, SYSTEM_CLOCK.monotonic)
        self.server = Server(shared, "CONTROLLER", Listeners.CONTROLLER)
        await self.server.bind("127.0.0.1", self.config.endpoints[0].port)
        await self.quorum.start()
        await self.server.serve(self._dispatcher())
        self.alive = True

    def _settings(self) -> Settings:
        own = self.config.endpoints[0]
        return Settings(
            {
                "process.roles": "controller",
                "node.id": str(self.config.node_id),
                "listeners": f"CONTROLLER://{own.host}:{own.port}",
                "controller.listener.names": "CONTROLLER",
            }
        )

    def _dispatcher(self) -> Dispatcher:
        """With as much as the quorum's handlers ask for."""
        view = replace(cluster_view(node_id=self.config.node_id), quorum=self.quorum)
        services = cluster_services(view, OwnController(ABSENT, self.quorum))
        return Dispatcher(Listeners.CONTROLLER, {"cluster": lambda: services}, view, Unlimited())

    async def stop(self) -> None:
        self.alive = False
        await self.quorum.stop()
        await self.server.close()

    async def die(self) -> None:
        """As a killed process does: the sockets close, nobody is told anything."""
        self.alive = False
        self.quorum._stopped = True
        await self.server.close()
        await self.quorum.stop()


class Members:
    """Several, as a context: all that live are stopped at the end."""

    def __init__(self, path: Path, count: int, *, static: bool, voters: int | None = None) -> None:
        ports = {node: free_port() for node in range(1, count + 1)}
        initial = range(1, (voters or count) + 1)
        self.all = {}
        for node, port in ports.items():
            directory = path / str(node)
            directory.mkdir()
            keys = {n: ReplicaKey(n, bytes([n]) * 16) for n in ports}
            listed = tuple(Voter(keys[n], (address_of(ports[n]),)) for n in initial)
            if not static and node in initial:
                format_dynamic(LocalDisk(), directory, listed, 1)
            self.all[node] = Member(
                QuorumConfig(
                    node_id=node,
                    cluster_id=CLUSTER_ID,
                    directory_id=keys[node].directory_id,
                    log_dir=directory,
                    static_voters=VoterSet.static((n, address_of(ports[n])) for n in initial)
                    if static
                    else VoterSet(),
                    bootstrap_servers=tuple(("127.0.0.1", ports[n]) for n in initial),
                    endpoints=(address_of(port),),
                )
            )

    async def __aenter__(self) -> "Members":
        await asyncio.gather(*(member.start() for member in self.all.values()))
        return self

    async def __aexit__(self, *error: object) -> None:
        for member in self.all.values():
            if member.alive:
                await member.stop()

    async def leader(self, *, other_than: Member | None = None) -> Member:
        def found() -> Member | None:
            leading = [m for m in self.all.values() if m.alive and m.quorum.is_leader]
            return next((m for m in leading if m is not other_than), None)

        return await eventually(found)

    async def append(self, value: bytes) -> Member:
        """Who leads commits it; on a busy host that may be deposed before it can, by a member that
        has not heard of it for an election's time-out."""
        async with asyncio.timeout(60):
            while True:
                leader = await self.leader()
                try:
                    await leader.quorum.append([value])
                except KafkaError as error:
                    if error.code is not ErrorCode.NOT_CONTROLLER:
                        raise
                else:
                    return leader


async def eventually(question: Callable[..., T | None], seconds: float = 60.0) -> T:
    """Ask until the answer is there."""
    async with asyncio.timeout(seconds):
        while not (answer := question()):
            await asyncio.sleep(0.005)
    return answer
