"""The list of brokers: one that was drained and stopped is struck from it."""

from dataclasses import dataclass

from ottla.client.changes import Outcome, Told
from ottla.client.cluster import Cluster
from ottla.client.cluster_state import Broker, ClusterState, refuse
from ottla.client.wire_client import WireClient
from ottla.errors import OttlaError
from ottla.wire.messages.unregister_broker import (
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)


@dataclass(frozen=True, slots=True)
class Forget:
    node: int

    def look(self, cluster: Cluster) -> ClusterState:
        return cluster.state()

    def preview(self, state: ClusterState) -> Broker | None:
        """The broker; None where the list does not have it, which its cluster will refuse."""
        found = next((broker for broker in state.brokers if broker.id == self.node), None)
        if found is not None and found.answers:
            raise OttlaError(f"Node {self.node} still runs. Drain it, stop it, then forget it.")
        if any(self.node in one.replicas for one in state.partitions):
            raise OttlaError(
                f"Node {self.node} still has replicas. "
                f"`ottla cluster drain {self.node}` moves them."
            )
        return found

    def perform(self, cluster: Cluster, preview: Broker | None, told: Told) -> Outcome:
        async def unregister(wire: WireClient) -> None:
            request = UnregisterBrokerRequest(broker_id=self.node)
            answer = await wire.ask_any(request, UnregisterBrokerResponse)
            refuse(answer.error_code, answer.error_message)

        cluster.ask(unregister)
        return Outcome((f"Node {self.node} is forgotten.",))
