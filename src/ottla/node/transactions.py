"""The transaction coordinator's view of the cluster: where markers go, which version is on."""

from ottla.broker.broker import Broker
from ottla.broker.handlers.transactions.write_txn_markers import handle as write_markers_here
from ottla.config import Settings
from ottla.ids import TopicPartition
from ottla.replication.peers import Peers
from ottla.transactions.coordinator import Coordinator, Limits
from ottla.wire.messages.write_txn_markers import WriteTxnMarkersRequest, WriteTxnMarkersResponse

MARKERS_VERSION = 2
MARKERS_TIMEOUT_S = 10.0


class PartitionLeaders:
    """Implements `transactions.markers.Leaders`."""

    def __init__(self, broker: Broker, peers: Peers) -> None:
        self._broker = broker
        self._peers = peers

    def exists(self, partition: TopicPartition) -> bool:
        return self._broker.has_partition(partition)

    def leader_of(self, partition: TopicPartition) -> int | None:
        return self._broker.leader_of(partition)

    async def write_markers(
        self, broker_id: int, request: WriteTxnMarkersRequest
    ) -> WriteTxnMarkersResponse:
        if broker_id == self._broker.node_id:
            return await write_markers_here(request, None, self._broker)
        return await self._peers.ask(
            broker_id, request, MARKERS_VERSION, WriteTxnMarkersResponse, MARKERS_TIMEOUT_S
        )


def limits(settings: Settings) -> Limits:
    cleanup = "transaction.abort.timed.out.transaction.cleanup.interval.ms"
    expiry = "transaction.remove.expired.transaction.cleanup.interval.ms"
    return Limits(
        max_timeout_ms=settings.int("transaction.max.timeout.ms"),
        abort_interval_s=settings.int(cleanup) / 1000,
        expiration_ms=settings.int("transactional.id.expiration.ms"),
        expiration_interval_s=settings.int(expiry) / 1000,
    )


def build(broker: Broker, peers: Peers) -> Coordinator:
    return Coordinator(
        producer_ids=broker.producer_ids,
        leaders=PartitionLeaders(broker, peers),
        clock=broker.clock,
        server_version=lambda: broker.image.features.get("transaction.version", 0),
        limits=limits(broker.settings),
    )
