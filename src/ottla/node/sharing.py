"""Share groups put together: the coordinator of their states; the rest comes with its first use."""

from ottla.broker.broker import Broker
from ottla.groups.share.coordinator import ShareCoordinator
from ottla.replication.peers import Peers


def attach(broker: Broker, peers: Peers) -> ShareCoordinator:
    settings = broker.settings
    broker.peers = peers
    broker.share_coordinator = ShareCoordinator(
        settings.int("share.coordinator.snapshot.update.records.per.snapshot"),
        settings.int("share.coordinator.write.timeout.ms") / 1000,
        broker.now_ms,
    )
    return broker.share_coordinator
