"""What handlers can reach. `node` puts it together; nothing is decided here."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import Executor
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from ottla.broker.access import Access, Unrestricted
from ottla.broker.fetching.replica_selector import RACK_AWARE
from ottla.broker.fetching.sessions import FetchSessions
from ottla.broker.topics_on_demand import TopicsOnDemand
from ottla.broker.transport.addresses import Addresses
from ottla.broker.transport.connection import UnreadReplies
from ottla.broker.transport.request_memory import RequestMemory, room_for
from ottla.broker.waiting import Waiting
from ottla.config import Settings
from ottla.errors import ErrorCode, KafkaError
from ottla.ids import ZERO_UUID, TopicPartition, Uuid
from ottla.membership.suspects import Suspects
from ottla.metadata.image import Image, Partition
from ottla.metadata.publisher import Publisher
from ottla.ports.chance import Chance
from ottla.ports.clock import Clock
from ottla.replication.partitions import Partitions
from ottla.wire.message import Message

if TYPE_CHECKING:
    from ottla.broker.durability import Durability
    from ottla.broker.producer_ids import ProducerIds
    from ottla.broker.share.shares import Shares
    from ottla.broker.share.states import StateKeeper
    from ottla.broker.transaction_verification import TransactionVerifier
    from ottla.controller.controller import Controller
    from ottla.groups.coordinator import GroupCoordinator
    from ottla.groups.share.coordinator import ShareCoordinator
    from ottla.log.directory import LogDirectory
    from ottla.membership.presence import Presence
    from ottla.quorum.driver import Quorum
    from ottla.transactions.coordinator import Coordinator as TransactionCoordinator
    from ottla.wire.envelope import Origin

log = logging.getLogger(__name__)
T = TypeVar("T")
M = TypeVar("M", bound=Message)

Endpoint = tuple[int, str, int, str | None]
"""A broker as clients reach it: id, host, port, rack."""


class ActiveController(Protocol):
    async def ask(
        self,
        request: Message,
        response: type[M],
        timeout_s: float = 30.0,
        origin: "Origin | None" = None,
    ) -> M: ...


class DirectoryMoves(Protocol):
    """Moves of replicas between this node's directories."""

    def alter(self, partition: TopicPartition, path: str) -> None: ...
    def lag(self, partition: TopicPartition) -> int: ...


class Makers(Protocol):
    """How the parts that are made on their first use are made."""

    def groups(self) -> "GroupCoordinator": ...
    def transactions(self) -> "TransactionCoordinator": ...
    def transaction_verifier(self) -> "TransactionVerifier": ...
    def share_coordinator(self) -> "ShareCoordinator": ...
    def share_states(self) -> "StateKeeper": ...
    def shares(self) -> "Shares": ...


class Broker:
    """The parts of a running node, as its handlers see them.

    On a node without the broker's role `partitions` stays empty; `node` sets what it has.
    """

    cluster_id: str
    controller: "Controller"
    """This node's own, active or not."""
    active_controller: "ActiveController"
    """The one that decides, wherever it is."""
    quorum: "Quorum"
    publisher: Publisher
    partitions: Partitions
    waiting: Waiting
    durability: "Durability"
    directories: "list[LogDirectory]"
    directory_moves: "DirectoryMoves"
    producer_ids: "ProducerIds"
    presence: "Presence"
    makers: "Makers"

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        chance: Chance,
        threads: Executor | None = None,
    ) -> None:
        self.settings = settings
        self.clock = clock
        self.chance = chance
        self.now, self.now_ms = clock
        self.topology = settings.topology
        self.node_id = settings.topology.node_id
        self.fetch_sessions = FetchSessions(
            settings.int("max.incremental.fetch.session.cache.slots"), chance
        )
        self.access: Access = Unrestricted()
        self.suspects = Suspects()
        self.topics_on_demand = TopicsOnDemand(self)
        self.fetch_bytes_max = settings.int("fetch.max.bytes")
        self.reads_nearby = settings.text("replica.selector.class") == RACK_AWARE
        self.request_memory = RequestMemory(
            room_for(settings.int("queued.max.request.bytes")), self.now
        )
        self.unread_replies = UnreadReplies(self.now)
        self.addresses = Addresses()
        self.heartbeats_ended: Callable[[int, int], None] = lambda broker_id, epoch: None
        self._threads = threads
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def image(self) -> Image:
        return self.publisher.image

    @property
    def controller_id(self) -> int:
        """The active controller's; -1 while nobody knows."""
        leader = self.quorum.leader_id
        return -1 if leader is None else leader

    # Made on their first use -----------------------------------------------------------------

    @cached_property
    def groups(self) -> "GroupCoordinator":
        return self.makers.groups()

    @cached_property
    def transactions(self) -> "TransactionCoordinator":
        return self.makers.transactions()

    @cached_property
    def transaction_verifier(self) -> "TransactionVerifier":
        return self.makers.transaction_verifier()

    @cached_property
    def share_coordinator(self) -> "ShareCoordinator":
        return self.makers.share_coordinator()

    @cached_property
    def share_states(self) -> "StateKeeper":
        return self.makers.share_states()

    @cached_property
    def shares(self) -> "Shares":
        return self.makers.shares()

    # What several handlers ask ---------------------------------------------------------------

    def partition_state(self, name: str, topic_id: Uuid, index: int) -> Partition | None:
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

    def unexpected(self, doing: str, error: Exception) -> KafkaError:
        """A fault of ours: told in full to the log, in general to the client."""
        log.error("failed while %s", doing, exc_info=error)
        return KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "The broker failed; its log says how.")

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Go on with something while the event loop does other things; a fault is logged."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a request failed", exc_info=error)

    def in_thread(
        self,
        work: Callable[[], T],
        finished: "Callable[[T | Exception], None]",
        threads: Executor | None = None,
    ) -> None:
        """Run what may block; `finished` is called on the event loop with result or error."""
        future = asyncio.get_running_loop().run_in_executor(threads or self._threads, work)

        def done(future: "asyncio.Future[T]") -> None:
            error = future.exception()
            if error is None:
                finished(future.result())
            else:
                assert isinstance(error, Exception)
                finished(error)

        future.add_done_callback(done)
