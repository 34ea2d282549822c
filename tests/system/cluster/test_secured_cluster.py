"""Nodes that prove to one another who they are: what they hold stays whole when one is killed.

Voters among themselves, brokers towards controllers and brokers among themselves speak the same
protocol; clients of the test come in by a listener of their own.
"""

from pathlib import Path

import pytest

from support.brokers import BrokerProcess
from support.clusters import FACTORS, Cluster
from support.confluent import create_topic, produce, read
from support.homes import Home, free_port
from support.secured import PLAIN_MODULE, issue_stores

pytestmark = pytest.mark.timeout(240)

TOPIC, RECORDS, NODES = "t", 100, (1, 2, 3)
NODE = f'{PLAIN_MODULE} required username="node" password="secret" user_node="secret";'
BY_PASSWORD = {
    "listener.name.internal.sasl.enabled.mechanisms": "PLAIN",
    "listener.name.internal.plain.sasl.jaas.config": NODE,
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "listener.name.controller.sasl.enabled.mechanisms": "PLAIN",
    "listener.name.controller.plain.sasl.jaas.config": NODE,
    "sasl.mechanism.controller.protocol": "PLAIN",
}
BY_CERTIFICATE = {
    "listener.name.internal.ssl.client.auth": "required",
    "listener.name.controller.ssl.client.auth": "required",
    "ssl.principal.mapping.rules": "RULE:^CN=broker.*$/node/",
}
PROTOCOLS = {"SASL_PLAINTEXT": BY_PASSWORD, "SSL": BY_CERTIFICATE, "SASL_SSL": BY_PASSWORD}


def secured_cluster(path: Path, protocol: str) -> Cluster:
    _, stores = issue_stores(path)
    controllers = {node: free_port() for node in NODES}
    voters = ",".join(f"{node}@127.0.0.1:{port}" for node, port in controllers.items())
    nodes = {}
    for node, controller_port in controllers.items():
        port = free_port()
        own = f"INTERNAL://127.0.0.1:{free_port()},PLAINTEXT://127.0.0.1:{port}"
        settings = {
            "node.id": str(node),
            "controller.quorum.voters": voters,
            **FACTORS,
            **stores,
            "listeners": f"{own},CONTROLLER://127.0.0.1:{controller_port}",
            "advertised.listeners": own,
            "listener.security.protocol.map": (
                f"CONTROLLER:{protocol},PLAINTEXT:PLAINTEXT,INTERNAL:{protocol}"
            ),
            "inter.broker.listener.name": "INTERNAL",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS;User:node",
            **PROTOCOLS[protocol],
        }
        home = Home(
            path=path / f"node{node}", settings=settings, port=port, controller_port=controller_port
        )
        nodes[node] = BrokerProcess("ottla", home)
    return Cluster(nodes)


def complaints(cluster: Cluster) -> list[str]:
    logs = (node.log.read_text() for node in cluster.nodes.values())
    return [line for log in logs for line in log.splitlines() if "SSL" in line or "TLS" in line]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_replicas_follow_and_take_over(protocol: str, tmp_path: Path) -> None:
    cluster = secured_cluster(tmp_path, protocol)
    try:
        cluster.start()
        create_topic(cluster.bootstrap, TOPIC, replicas=3)
        cluster.await_in_sync(TOPIC, NODES)
        first = [f"{n}".encode() for n in range(RECORDS)]
        produce(cluster.bootstrap, TOPIC, first)
        leader, _ = cluster.partition(TOPIC)
        cluster.nodes[leader].kill9()
        cluster.await_in_sync(TOPIC, [node for node in NODES if node != leader])
        later = [f"later {n}".encode() for n in range(RECORDS)]
        produce(cluster.bootstrap, TOPIC, later)
        came = read(cluster.bootstrap, TOPIC, 2 * RECORDS)
        assert [message.value() for message in came] == first + later
        cluster.nodes[leader].start()
        cluster.await_in_sync(TOPIC, NODES)
        active = cluster.active_controller()
        cluster.nodes[active].kill9()
        create_topic(cluster.bootstrap, "after", replicas=2)
        assert cluster.active_controller() != active
        assert not complaints(cluster), "a probe of who is alive is no broken handshake"
    finally:
        cluster.discard()
