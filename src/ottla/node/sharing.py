"""Share groups put together: the coordinator of their states, and the queues over partitions."""

from ottla.broker.broker import Broker
from ottla.broker.share_queues import Queues
from ottla.broker.share_states import StateKeeper
from ottla.broker.shares import Shares
from ottla.groups.share.coordinator import ShareCoordinator
from ottla.replication.peers import Peers


def attach(broker: Broker, peers: Peers) -> ShareCoordinator:
    settings = broker.settings
    coordinator = ShareCoordinator(
        settings.int("share.coordinator.snapshot.update.records.per.snapshot"),
        settings.int("share.coordinator.write.timeout.ms") / 1000,
        broker.now_ms,
    )
    broker.share_coordinator = coordinator
    broker.share_states = StateKeeper(broker, coordinator, peers)
    queues = Queues(broker, broker.share_states)
    broker.shares = Shares(broker, queues, settings.int("group.share.max.share.sessions"))
    return coordinator
