"""What handlers are given, by area of `broker.api`: frozen values, each with what the handlers of
that area ask for and no more. `node` makes them; a test makes the one it needs.

A part that has to be called for (`Callable[[], …]`) is made when it is first asked for, and its
module is imported then: most brokers never see a transaction. Groups and share groups need their
coordinators for everything, so their services as a whole are made with the first request.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from msgspec import Struct

if TYPE_CHECKING:
    from ottla.broker.background import Background
    from ottla.broker.cluster_view import ClusterView
    from ottla.broker.durability import Durability
    from ottla.broker.fetching.sessions import FetchSessions
    from ottla.broker.forwarding import Authority
    from ottla.broker.producing.schema_validation import KnownSchemas
    from ottla.broker.producing.transaction_verification import TransactionVerifier
    from ottla.broker.share.shares import Shares
    from ottla.broker.share.states import StateKeeper
    from ottla.broker.topics_on_demand import TopicsOnDemand
    from ottla.broker.transport.connection import UnreadReplies
    from ottla.broker.waiting import Waiting
    from ottla.groups.coordinator import GroupCoordinator
    from ottla.groups.share.coordinator import ShareCoordinator
    from ottla.ids import TopicPartition
    from ottla.log.directory import LogDirectory
    from ottla.membership.presence import Presence
    from ottla.membership.suspects import Suspects
    from ottla.replication.partitions import Partitions
    from ottla.transactions.coordinator import ProducerIds, TransactionCoordinator
    from ottla.wire.envelope import Origin
    from ottla.wire.message import Message

M = TypeVar("M", bound="Message")

Areas = Mapping[str, Callable[[], Any]]
"""The services of each area, as a listener of one kind has them."""


class ActiveController(Protocol):
    """The one that decides, wherever it is."""

    async def ask(
        self,
        request: "Message",
        response: type[M],
        timeout_s: float = 30.0,
        origin: "Origin | None" = None,
    ) -> M: ...


class DirectoryMoves(Protocol):
    """Moves of replicas between this node's directories."""

    def alter(self, partition: "TopicPartition", path: str) -> None: ...
    def lag(self, partition: "TopicPartition") -> int: ...


class Services(Struct, frozen=True, eq=False, kw_only=True):
    """What all areas share."""

    cluster: "ClusterView"


class RecordServices(Services, frozen=True, eq=False, kw_only=True):
    """Records of the partitions that this broker leads: appended, read, deleted."""

    partitions: "Partitions"
    waiting: "Waiting"
    durability: "Durability"
    background: "Background"
    fetch_sessions: "FetchSessions"
    fetch_bytes_max: int
    reads_nearby: bool  # consumers are sent to a replica in their own rack
    unread_replies: "UnreadReplies"
    verifier: "Callable[[], TransactionVerifier]"
    schemas: "KnownSchemas | None"  # of the registry that this broker asks, if it asks any


class GroupServices(Services, frozen=True, eq=False, kw_only=True):
    """Groups of consumers and of streams that this broker coordinates."""

    coordinator: "GroupCoordinator"
    controller: "ActiveController"
    share_states: "Callable[[], StateKeeper]"


class TransactionServices(Services, frozen=True, eq=False, kw_only=True):
    """Transactions that this broker coordinates, and their ends in the partitions it leads."""

    coordinator: "Callable[[], TransactionCoordinator]"
    verifier: "Callable[[], TransactionVerifier]"
    groups: "Callable[[], GroupCoordinator]"
    producer_ids: "ProducerIds"
    partitions: "Partitions"
    durability: "Durability"
    background: "Background"


class ShareServices(Services, frozen=True, eq=False, kw_only=True):
    """Share groups: their members, their queues over partitions led here, their states."""

    groups: "GroupCoordinator"
    coordinator: "ShareCoordinator"
    states: "StateKeeper"
    shares: "Shares"
    background: "Background"
    fetch_bytes_max: int


class ClusterServices(Services, frozen=True, eq=False, kw_only=True):
    """The cluster itself, on either kind of listener."""

    authority: "Authority"
    """Who decides what this node does not."""


class BrokerServices(ClusterServices, frozen=True, eq=False, kw_only=True):
    """The cluster itself, as a broker's listener has it."""

    controller: "ActiveController"
    presence: "Presence"
    suspects: "Suspects"
    topics_on_demand: "TopicsOnDemand"
    directories: "Sequence[LogDirectory]"
    directory_moves: "DirectoryMoves"


class ControllerServices(ClusterServices, frozen=True, eq=False, kw_only=True):
    """All that a controller's listener has: it leads no partitions and coordinates nothing."""

    is_active: Callable[[], bool]
    heartbeats_ended: Callable[[int, int], None]
    """A connection with heartbeats of this broker, in this epoch, was closed."""
