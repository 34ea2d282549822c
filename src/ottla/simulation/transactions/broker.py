"""A broker of a simulated cluster: the real handlers, gate and coordinators, without sockets."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from ottla.broker.access import Unrestricted
from ottla.broker.api import Listeners
from ottla.broker.background import Background
from ottla.broker.cluster_view import ClusterView
from ottla.broker.handlers.records import produce
from ottla.broker.handlers.transactions import (
    add_offsets_to_txn,
    add_partitions_to_txn,
    end_txn,
    init_producer_id,
    txn_offset_commit,
    write_txn_markers,
)
from ottla.broker.producing.transaction_verification import TransactionVerifier
from ottla.broker.services import RecordServices, TransactionServices
from ottla.broker.transport.context import Peer, RequestContext
from ottla.broker.transport.pending_reply import ConnectionLost, PendingReply
from ottla.broker.waiting import Waiting
from ottla.config import Settings
from ottla.config.load import single_node
from ottla.errors import ErrorCode, KafkaError
from ottla.groups.coordinator import GroupCoordinator
from ottla.ids import TopicPartition, Uuid
from ottla.ports.clock import Clock
from ottla.ports.network import LinkLost
from ottla.replication.coordinator_log import CoordinatorLog
from ottla.replication.leader import Leader
from ottla.simulation.transactions.partition import WALL_MS, SimulatedPartition
from ottla.transactions.coordinator import TransactionCoordinator, TransactionLimits
from ottla.wire.codec import decode, encode
from ottla.wire.message import Message
from ottla.wire.messages.produce import ProduceRequest, ProduceResponse
from ottla.wire.messages.write_txn_markers import WriteTxnMarkersRequest, WriteTxnMarkersResponse

if TYPE_CHECKING:
    from ottla.simulation.transactions.world import TransactionWorld

logger = logging.getLogger(__name__)

STATE = TopicPartition("__transaction_state", 0)
OFFSETS = TopicPartition("__consumer_offsets", 0)
LIMITS = TransactionLimits(abort_interval_s=0.5)
PATIENCE_S = 2.0  # between brokers; clients wait longer, as they do in the world outside
UNLUCKY_WITH_MARKERS, BEHIND_SUCCESSOR_S = 0.03, 0.6
"""The chance that a coordinator is deposed while it sends markers, and how much later they may come
than those that its successor sends for the same transaction."""
SLOW, SLOW_S = 0.2, 0.4
"""The chance that a question between brokers takes longer, and how long at most."""
NOTICED_WITHIN_S = 3.0
"""How long a broker that was deposed may go on believing that it coordinates."""

HANDLERS: dict[str, Callable[..., Any]] = {
    module.__name__.rpartition(".")[2]: module.handle
    for module in (
        add_offsets_to_txn,
        add_partitions_to_txn,
        end_txn,
        init_producer_id,
        txn_offset_commit,
        write_txn_markers,
    )
}
"""By the name of the module, which is that of their messages too."""


@cache
def settings() -> Settings:
    return Settings(single_node(("127.0.0.1", 0), Path("/simulated")))


class SimulatedView(ClusterView, frozen=True, eq=False, kw_only=True):
    """The world knows who leads; nobody asks where brokers are reached."""

    leaders: "SimulatedBroker"

    def has_partition(self, partition: TopicPartition) -> bool:
        return self.leaders.exists(partition)

    def leader_of(self, partition: TopicPartition) -> int | None:
        return self.leaders.leader_of(partition)

    def partition_state(self, *_: object) -> None:
        return None

    def endpoints(self, *_: object) -> list[Any]:
        return []


class SimulatedPartitions:
    """Those of the world, as far as this broker leads them; topics have no ids in it."""

    def __init__(self, broker: "SimulatedBroker") -> None:
        self._broker = broker

    def leader(self, topic: str, index: int) -> Leader:
        broker = self._broker
        partition = broker.world.partitions[TopicPartition(topic, index)]
        if partition.broker_id != broker.node_id or not broker.alive:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        return partition.leader

    def find_leader(self, topic: str, topic_id: Uuid, index: int, version: int) -> Leader:
        return self.leader(topic, index)


class SimulatedBackground(Background):
    """Tasks end with their broker; a fault of ours ends the run."""

    def __init__(self, broker: "SimulatedBroker") -> None:
        super().__init__()
        self._broker = broker

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        self._broker.spawn(work)

    def unexpected(self, doing: str, error: Exception) -> KafkaError:
        raise error


class SimulatedBroker:
    """The services of the handlers that are asked, and the inter-broker links (`Peers`)."""

    def __init__(self, world: "TransactionWorld", node_id: int) -> None:
        self.world = world
        self.node_id = node_id
        self.alive = True
        self.waiting = Waiting(self.now)
        self.clock = Clock(self.now, self.now_ms)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._peer = Peer("SIMULATED", Listeners.BROKER, "/simulated")
        self.transactions = TransactionCoordinator(
            producer_ids=world,
            leaders=self,
            clock=self.clock,
            server_version=lambda: 2,
            limits=LIMITS,
        )
        self.transactions.resize(1)
        self.groups = GroupCoordinator(settings(), lambda: world.image, self.clock, world.chance)
        self.groups.resize(1)
        self._services = self._make_services()
        self.spawn(self.transactions.run())

    def _make_services(self) -> tuple[RecordServices, TransactionServices]:
        """As a node would make them, of this world's parts."""
        peers: Any = self
        partitions: Any = SimulatedPartitions(self)
        durability: Any = SimpleNamespace(ask=never_due)
        absent: Any = None
        verifier = TransactionVerifier(self.transactions, self.node_id, self.leader_of, peers)
        view = SimulatedView(
            node_id=self.node_id,
            cluster_id="simulated",
            clock=self.clock,
            access=Unrestricted(),
            publisher=self.world,
            quorum=absent,
            settings_in_force=settings,
            leaders=self,
        )
        background = SimulatedBackground(self)
        records = RecordServices(
            cluster=view,
            partitions=partitions,
            waiting=self.waiting,
            durability=durability,
            background=background,
            fetch_sessions=absent,
            fetch_bytes_max=0,
            reads_nearby=False,
            unread_replies=absent,
            verifier=lambda: verifier,
            schemas=None,
        )
        transactions = TransactionServices(
            cluster=view,
            coordinator=lambda: self.transactions,
            verifier=lambda: verifier,
            groups=lambda: self.groups,
            producer_ids=self.world,
            partitions=partitions,
            durability=durability,
            background=background,
        )
        return records, transactions

    # --- leading

    def lead(self, partition: SimulatedPartition) -> None:
        leader = partition.lead(self.node_id, self.waiting.moved)
        if partition.name == STATE:
            self.transactions.elected(0, CoordinatorLog(leader, self.now, never_due))
        elif partition.name == OFFSETS:
            self.groups.elected(0, CoordinatorLog(leader, self.now, never_due))

    def deposed(self, partition: SimulatedPartition, after_s: float) -> None:
        """Coordinators learn of it a while after the log: they are the last to know."""

        def resign() -> None:
            if self.alive and partition.broker_id != self.node_id:
                if partition.name == STATE:
                    self.transactions.resigned(0)
                elif partition.name == OFFSETS:
                    self.groups.resigned(0)

        asyncio.get_running_loop().call_later(after_s, resign)

    def crash(self) -> None:
        self.alive = False
        for task in [*self._tasks, *self.transactions._tasks]:
            task.cancel()
        self.groups.shards.close()
        self.transactions.shards.close()

    # --- what handlers ask for

    def now(self) -> float:
        return asyncio.get_running_loop().time()

    def now_ms(self) -> int:
        return WALL_MS + int(self.now() * 1000)

    def spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def leader_of(self, partition: TopicPartition) -> int | None:
        return self.world.partitions[partition].broker_id

    def exists(self, partition: TopicPartition) -> bool:
        return partition in self.world.partitions

    # --- requests

    async def serve(self, request: Message, version: int) -> Any:
        """The response, or the code of a refusal."""
        context = RequestContext(None, version, 0, "simulated", self._peer)  # type: ignore[arg-type]
        if isinstance(request, ProduceRequest):
            return await self._produce(request, context)
        handler = HANDLERS[type(request).__module__.rpartition(".")[2]]
        try:
            return await handler(request, context, self._services[1])
        except KafkaError as error:
            return error.code

    async def _produce(self, request: ProduceRequest, context: RequestContext) -> Any:
        frame = memoryview(encode(request, context.api_version))
        reply = produce.serve(frame, 0, context, self._services[0])
        if isinstance(reply, PendingReply):
            arrived: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
            reply.then(lambda body: None if arrived.done() else arrived.set_result(body))
            reply = await arrived
        if reply is None or isinstance(reply, ConnectionLost):
            return ErrorCode.NETWORK_EXCEPTION
        response, _ = decode(ProduceResponse, context.api_version, b"".join(reply))
        return ErrorCode(response.responses[0].partition_responses[0].error_code)

    # --- other brokers

    async def write_markers(
        self, broker_id: int, request: WriteTxnMarkersRequest
    ) -> WriteTxnMarkersResponse:
        self.world.markers_sent(request.markers[0])
        rng = self.world.link_rng
        if not self.world.healed and rng.random() < UNLUCKY_WITH_MARKERS:
            self.world.move(STATE)
            await asyncio.sleep(BEHIND_SUCCESSOR_S * rng.random())
        response: WriteTxnMarkersResponse = await self.ask(
            broker_id, request, 2, WriteTxnMarkersResponse, 2.0
        )
        return response

    async def ask(
        self, node_id: int, request: Message, version: int, expected: type, timeout_s: float
    ) -> Any:
        may_be_late = not isinstance(request, WriteTxnMarkersRequest) or all(
            marker.transaction_version >= 2 for marker in request.markers
        )
        rng = self.world.link_rng
        if not self.world.healed and rng.random() < SLOW:
            await asyncio.sleep(SLOW_S * rng.random())
        answer = await self.world.carry(
            rng,
            node_id,
            request,
            version,
            min(timeout_s, PATIENCE_S),
            may_be_late=may_be_late,
        )
        if not isinstance(answer, expected):
            raise LinkLost("no answer")
        return answer


def never_due(leader: Leader, offset: int) -> None:
    raise AssertionError("flush.messages is not set in this world")


def image_of(topic: str, partitions: int) -> Any:
    """As much of the metadata as handlers look at."""
    topics = {topic: SimpleNamespace(name=topic, partitions=dict.fromkeys(range(partitions)))}
    return SimpleNamespace(topics_by_name=topics, features={"transaction.version": 2})
