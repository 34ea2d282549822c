"""Three nodes of either kind: who is asked what, and the kill of a coordinator.

All groups have one coordinator and all transactions another (their topics have one partition each);
all partitions of a sequence's topics are led by one node, which is never killed. So three addresses
say where a request goes, and they change when a coordinator does.
"""

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from differential.brokers import IN_MEMORY, READY_S, SETTINGS, Rendezvous, warm_up
from differential.link import Answer, Link
from differential.running import Broker
from differential.steps import Area
from differential.waiting import drive
from ottla.wire.message import Message
from ottla.wire.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    TopicPartitions,
)
from ottla.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from support.brokers import Kind
from support.clusters import Cluster, cluster_of

COUNT = 3
SMALLEST_JAVA = ("java", "-Xms64m", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
QUICK_FAILOVER = {
    "broker.session.timeout.ms": "2000",
    "broker.heartbeat.interval.ms": "300",
    "auto.leader.rebalance.enable": "false",  # who coordinates changes when a sequence says so
}
GROUPS, TRANSACTIONS = 0, 1
TOPICS = {GROUPS: "__consumer_offsets", TRANSACTIONS: "__transaction_state"}
OF_TRANSACTIONS = frozenset(
    {
        "InitProducerIdRequest",
        "AddPartitionsToTxnRequest",
        "AddOffsetsToTxnRequest",
        "EndTxnRequest",
        "DescribeTransactionsRequest",
        "ListTransactionsRequest",
    }
)
OF_RECORDS = frozenset(
    {
        "ProduceRequest",
        "FetchRequest",
        "ListOffsetsRequest",
        "DescribeProducersRequest",
        "DeleteRecordsRequest",
        "OffsetForLeaderEpochRequest",
    }
)
PREFERRED = 0
LOOK_AGAIN_S = 0.05


class Addresses:
    """Of the nodes that answer for groups, for transactions and for records."""

    def __init__(self, cluster: Cluster, killed: int) -> None:
        """`killed` is the kind of the coordinator that is killed, whose node leads no records."""
        self.cluster = cluster
        self.killed = killed
        self.coordinators: dict[int, int] = {}
        self.find()
        self.victim = self.coordinators[killed]
        self.leader = min(node for node in cluster.nodes if node != self.victim)

    def of(self, request: Message) -> str:
        name = type(request).__name__
        if name in OF_RECORDS:
            return self.address(self.leader)
        return self.address(self.coordinators[TRANSACTIONS if name in OF_TRANSACTIONS else GROUPS])

    def address(self, node: int) -> str:
        return self.cluster.nodes[node].bootstrap

    @property
    def replicas(self) -> list[int]:
        """Of every partition of the sequences' topics."""
        return sorted(self.cluster.nodes, key=lambda node: (node != self.leader, node))

    def find(self) -> None:
        """As soon as all that are alive name the same nodes, which are alive too and serve."""
        alive = self.cluster.nodes_alive()
        for kind in (GROUPS, TRANSACTIONS):
            deadline = time.monotonic() + READY_S
            while len(named := {self.told(node, kind) for node in alive}) != 1 or not named < {
                *alive
            }:
                assert time.monotonic() < deadline, f"nobody coordinates: {named}"
                time.sleep(LOOK_AGAIN_S)
            [self.coordinators[kind]] = named
        warm_up(self.address(self.coordinators[GROUPS]), self.of)

    def told(self, node: int, kind: int) -> int:
        """Who coordinates, as this node knows; -1 where it knows of nobody."""
        link = Link(self.address(node), "finder")
        request = FindCoordinatorRequest(key_type=kind, coordinator_keys=["warm-up"])
        answer = drive(link.ask(request, 4, FindCoordinatorResponse, READY_S))
        link.close()
        assert isinstance(answer, FindCoordinatorResponse), answer
        return -1 if answer.coordinators[0].error_code else answer.coordinators[0].node_id

    def kill(self) -> None:
        self.cluster.nodes[self.victim].kill9()
        self.find()

    def heal(self) -> None:
        """The victim comes back, and coordinates again."""
        self.cluster.nodes[self.victim].start()
        for topic in TOPICS.values():
            self.cluster.await_in_sync(topic, list(self.cluster.nodes))
        link = Link(self.address(self.leader), "healer")
        places = [TopicPartitions(topic=TOPICS[self.killed], partitions=[0])]
        request = ElectLeadersRequest(election_type=PREFERRED, topic_partitions=places)
        drive(link.ask(request, 2, ElectLeadersResponse, READY_S))
        link.close()
        self.find()
        assert self.coordinators[self.killed] == self.victim


class ClusterLink(Link):
    """A connection of a run to every node it has to do with; one request at a time, as ever."""

    def __init__(self, addresses: Addresses, client_id: str) -> None:
        self.addresses = addresses
        self.client = client_id
        self.links: dict[str, Link] = {}
        self.used: Link | None = None

    def send(self, request: Message, version: int, response: type[Message]) -> None:
        address = self.addresses.of(request)
        if address not in self.links:
            self.links[address] = Link(address, self.client)
        self.used = self.links[address]
        self.used.send(request, version, response)

    async def collect(self, seconds: float) -> Answer | None:
        assert self.used is not None
        return await self.used.collect(seconds)

    def reopen(self) -> None:
        self.close()

    def close(self) -> None:
        for link in self.links.values():
            link.close()
        self.links.clear()


@contextlib.contextmanager
def clustered(kind: Kind, area: Area) -> Iterator[Broker]:
    """Three nodes whose coordinator of the area's kind is killed when the sequences say so."""
    within = IN_MEMORY if os.access(IN_MEMORY, os.W_OK) else None
    folder = Path(tempfile.mkdtemp(prefix=f"ottla-differential-{kind}-", dir=within))
    settings = {**SETTINGS, **QUICK_FAILOVER, **area.settings}
    try:
        with cluster_of(COUNT, folder, settings, kind, SMALLEST_JAVA) as cluster:
            killed = TRANSACTIONS if area.name == "transactions" else GROUPS
            addresses = Addresses(cluster, killed)
            yield Broker(
                addresses.address(addresses.leader),
                Rendezvous(addresses.kill, addresses.heal),
                partial(ClusterLink, addresses),
                addresses.replicas,
            )
    finally:
        shutil.rmtree(folder, ignore_errors=True)
