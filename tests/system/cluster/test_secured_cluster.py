"""Nodes that prove to one another who they are: what they hold stays whole when one is killed.

Voters among themselves, brokers towards controllers and brokers among themselves speak the same
protocol; clients of the test come in by a listener of their own.
"""

import time
from pathlib import Path

import pytest

from support import kerberos
from support.brokers import BrokerProcess
from support.clusters import FACTORS, Cluster
from support.confluent import create_topic, produce, read
from support.homes import Home, free_port
from support.provider import AUDIENCE, ISSUER, Provider, running_provider
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


def by_token(provider: Provider) -> dict[str, str]:
    """Nodes have tokens of a provider, and believe one another by its keys."""
    module = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
    line = f'{module} required clientId="machine" clientSecret="its secret";'
    options = {
        "sasl.mechanism.inter.broker.protocol": "OAUTHBEARER",
        "sasl.mechanism.controller.protocol": "OAUTHBEARER",
        "sasl.oauthbearer.token.endpoint.url": f"{provider.url}/token",
        "sasl.oauthbearer.jwks.endpoint.url": f"{provider.url}/keys",
        "sasl.oauthbearer.expected.issuer": ISSUER,
        "sasl.oauthbearer.expected.audience": AUDIENCE,
    }
    for listener in ("internal", "controller"):
        options[f"listener.name.{listener}.sasl.enabled.mechanisms"] = "OAUTHBEARER"
        options[f"listener.name.{listener}.oauthbearer.sasl.jaas.config"] = line
    return options


def by_ticket(keytab: Path, principal: str) -> dict[str, str]:
    module = "com.sun.security.auth.module.Krb5LoginModule"
    line = (
        f'{module} required useKeyTab=true storeKey=true keyTab="{keytab}" principal="{principal}";'
    )
    options = {
        "sasl.mechanism.inter.broker.protocol": "GSSAPI",
        "sasl.mechanism.controller.protocol": "GSSAPI",
        "sasl.kerberos.service.name": "node",
    }
    for listener in ("internal", "controller"):
        options[f"listener.name.{listener}.sasl.enabled.mechanisms"] = "GSSAPI"
        options[f"listener.name.{listener}.gssapi.sasl.jaas.config"] = line
    return options


def secured_cluster(path: Path, protocol: str, more: dict[str, str] | None = None) -> Cluster:
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
            "super.users": "User:ANONYMOUS;User:node;User:machine",
            **(PROTOCOLS[protocol] if more is None else more),
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


def test_nodes_come_by_tokens_of_a_provider(tmp_path: Path) -> None:
    with running_provider() as provider:
        cluster = secured_cluster(tmp_path, "SASL_PLAINTEXT", by_token(provider))
        try:
            cluster.start()
            create_topic(cluster.bootstrap, TOPIC, replicas=3)
            cluster.await_in_sync(TOPIC, NODES)
            produce(cluster.bootstrap, TOPIC, [b"by token"])
            assert provider.granted
        finally:
            cluster.discard()


@kerberos.needed
def test_nodes_come_by_tickets_of_kerberos(tmp_path: Path) -> None:
    (tmp_path / "realm").mkdir()
    with kerberos.running_realm(tmp_path / "realm") as realm:
        principal = f"node/127.0.0.1@{kerberos.REALM}"
        cluster = secured_cluster(
            tmp_path, "SASL_PLAINTEXT", by_ticket(realm.add(principal), principal)
        )
        try:
            cluster.start()
            create_topic(cluster.bootstrap, TOPIC, replicas=3)
            cluster.await_in_sync(TOPIC, NODES)
            produce(cluster.bootstrap, TOPIC, [b"by ticket"])
        finally:
            cluster.discard()


def links_to(ports: set[int]) -> set[tuple[int, int]]:
    """Established connections to those ports, by both their ports."""
    rows = (line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:])
    found = ((row[1], row[2]) for row in rows if row[3] == "01")
    ends = {(int(a.partition(":")[2], 16), int(b.partition(":")[2], 16)) for a, b in found}
    return {(own, other) for own, other in ends if other in ports}


def test_links_between_nodes_outlive_their_sessions(tmp_path: Path) -> None:
    session_s = 2.0
    more = {**BY_PASSWORD, "connections.max.reauth.ms": str(int(session_s * 1000))}
    cluster = secured_cluster(tmp_path, "SASL_PLAINTEXT", more)
    ports = {
        int(one.rpartition(":")[2])
        for node in cluster.nodes.values()
        for one in node.home.settings["listeners"].split(",")
        if not one.startswith("PLAINTEXT")
    }
    try:
        cluster.start()
        create_topic(cluster.bootstrap, TOPIC, replicas=3)
        cluster.await_in_sync(TOPIC, NODES)
        produce(cluster.bootstrap, TOPIC, [b"before"])
        before = links_to(ports)
        time.sleep(2.5 * session_s)  # what is to be seen is that nothing happens
        produce(cluster.bootstrap, TOPIC, [b"after"])
        assert len(before) > len(NODES)
        assert before <= links_to(ports)
    finally:
        cluster.discard()
