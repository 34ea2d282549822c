"""The transaction coordinator's view of the cluster: where markers go, which version is on."""

from ottla.broker.handlers.transactions.write_txn_markers import handle as write_markers_here
from ottla.broker.services import TransactionServices
from ottla.config import Settings
from ottla.ids import TopicPartition
from ottla.replication.peers import Peers
from ottla.transactions.coordinator import TransactionCoordinator, TransactionLimits
from ottla.wire.messages.write_txn_markers import WriteTxnMarkersRequest, WriteTxnMarkersResponse

MARKERS_VERSION = 2
MARKERS_TIMEOUT_S = 10.0


class PartitionLeaders:
    """Implements `transactions.markers.Leaders`."""

    def __init__(self, services: TransactionServices, peers: Peers) -> None:
        self._services = services
        self._cluster = services.cluster
        self._peers = peers

    def exists(self, partition: TopicPartition) -> bool:
        return self._cluster.has_partition(partition)

    def leader_of(self, partition: TopicPartition) -> int | None:
        return self._cluster.leader_of(partition)

    async def write_markers(
        self, broker_id: int, request: WriteTxnMarkersRequest
    ) -> WriteTxnMarkersResponse:
        if broker_id == self._cluster.node_id:
            return await write_markers_here(request, None, self._services)
        return await self._peers.ask(
            broker_id, request, MARKERS_VERSION, WriteTxnMarkersResponse, MARKERS_TIMEOUT_S
        )


def limits(settings: Settings) -> TransactionLimits:
    cleanup = "transaction.abort.timed.out.transaction.cleanup.interval.ms"
    expiry = "transaction.remove.expired.transaction.cleanup.interval.ms"
    return TransactionLimits(
        max_timeout_ms=settings.int("transaction.max.timeout.ms"),
        abort_interval_s=settings.int(cleanup) / 1000,
        expiration_ms=settings.int("transactional.id.expiration.ms"),
        expiration_interval_s=settings.int(expiry) / 1000,
    )


def build(services: TransactionServices, peers: Peers) -> TransactionCoordinator:
    cluster = services.cluster
    return TransactionCoordinator(
        producer_ids=services.producer_ids,
        leaders=PartitionLeaders(services, peers),
        clock=cluster.clock,
        server_version=lambda: cluster.image.features.get("transaction.version", 0),
        limits=limits(cluster.settings),
    )
