"""Several nodes of one cluster, each a process: who leads, who is in sync, who decides."""

import contextlib
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from support.brokers import START_SECONDS_MAX, BrokerProcess, Kind
from support.confluent import wait_until
from support.homes import Home, free_port
from support.wire import Connection

TOGETHER_SECONDS_MAX = 20
FACTORS = {
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "share.coordinator.state.topic.replication.factor": "3",
    "share.coordinator.state.topic.min.isr": "2",
    "default.replication.factor": "3",
}


class Cluster:
    """Nodes 1, 2, 3 …, all of them brokers and voters."""

    def __init__(self, nodes: dict[int, BrokerProcess]) -> None:
        self.nodes = nodes

    @property
    def bootstrap(self) -> str:
        return ",".join(node.bootstrap for node in self.nodes.values())

    def start(self) -> None:
        """All at once: none of them serves before a majority is there."""
        began = self.launch()
        for node in self.nodes.values():
            node.wait_until_serving(began + START_SECONDS_MAX)
        self.await_brokers()

    def launch(self) -> float:
        """Start all without waiting; when the first began."""
        return min([node.launch() for node in self.nodes.values()])

    def stop(self) -> None:
        """All at once, in good order where that can be: Apache Kafka's last node would wait five
        minutes for a quorum that is gone."""
        stopping = self.alive()
        for node in stopping:
            node.terminate()
        for node in stopping:
            try:
                node.wait_until_stopped(TOGETHER_SECONDS_MAX)
            except subprocess.TimeoutExpired:
                node.kill9()

    def await_brokers(self) -> None:
        """Every node is seen by the first."""

        def all_seen() -> bool:
            with Connection(self.alive()[0].bootstrap, timeout=10) as connection:
                return len(connection.ask("metadata", 1, topics=[]).brokers) == len(self.nodes)

        wait_until(all_seen, START_SECONDS_MAX)

    def discard(self) -> None:
        for node in self.nodes.values():
            node.discard()

    def nodes_alive(self) -> list[int]:
        return [
            number
            for number, node in self.nodes.items()
            if node.process is not None and node.process.poll() is None
        ]

    def alive(self) -> list[BrokerProcess]:
        return [self.nodes[number] for number in self.nodes_alive()]

    def partition(self, topic: str, index: int = 0) -> tuple[int, list[int]]:
        """Leader and in-sync set, as the first node alive tells."""
        with Connection(self.alive()[0].bootstrap, timeout=10) as connection:
            response = connection.ask("metadata", 1, topics=[{"name": topic}])
        for partition in response.topics[0].partitions:
            if partition.partition_index == index:
                return partition.leader_id, sorted(partition.isr_nodes)
        return -1, []

    def active_controller(self) -> int:
        with Connection(self.alive()[0].bootstrap, timeout=10) as connection:
            response = connection.ask(
                "describe_quorum",
                1,
                topics=[
                    {
                        "topic_name": "__cluster_metadata",
                        "partitions": [{"partition_index": 0}],
                    }
                ],
            )
        return int(response.topics[0].partitions[0].leader_id)

    def await_in_sync(self, topic: str, members: Sequence[int], index: int = 0) -> None:
        def are_in_sync() -> bool:
            with contextlib.suppress(OSError):
                return self.partition(topic, index)[1] == sorted(members)
            return False

        wait_until(are_in_sync, 40)


@dataclass(frozen=True)
class Place:
    """Where a node runs: an address, the command that runs others there, and what it runs."""

    host: str = "127.0.0.1"
    inside: tuple[str, ...] = ()
    program: tuple[str, ...] = ("-m", "ottla")


@contextlib.contextmanager
def cluster_of(
    count: int,
    path: Path,
    settings: dict[str, str] | None = None,
    kind: Kind = "ottla",
    java: tuple[str, ...] | None = None,
    places: Mapping[int, Place] | None = None,
    ports: Sequence[int] | None = None,
    first: int = 1,
) -> Iterator[Cluster]:
    """`ports` are the brokers' own, where clients insist on some, as on the `first` node's id."""
    controllers = {node: free_port() for node in range(first, first + count)}
    places = places or dict.fromkeys(controllers, Place())
    voters = ",".join(f"{node}@{places[node].host}:{port}" for node, port in controllers.items())
    nodes = {}
    for node, controller_port in controllers.items():
        place = places[node]
        own = {
            "node.id": str(node),
            "broker.rack": f"rack-{node}",
            "controller.quorum.voters": voters,
            **FACTORS,
            **(settings or {}),
        }
        home = Home(
            path=path / f"node{node}",
            settings=own,
            host=place.host,
            port=ports[node - first] if ports else free_port(),
            controller_port=controller_port,
        )
        nodes[node] = BrokerProcess(kind, home, java, place.inside, place.program)
    cluster = Cluster(nodes)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.discard()
