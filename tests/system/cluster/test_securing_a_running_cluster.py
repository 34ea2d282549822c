"""A cluster without any protection is secured node by node, under load, without a stop."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException
from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from support.brokers import BrokerProcess
from support.clusters import FACTORS, Cluster
from support.confluent import wait_until
from support.homes import Home, free_port
from support.load import Load, create_replicated
from support.secured import SCRAM_MODULE, issue_stores

pytestmark = [pytest.mark.long, pytest.mark.timeout(400)]

TOPIC, NODES, SECONDS_MAX = "t", (1, 2, 3), 60
NAMES = ("PLAINTEXT", "CONTROLLER", "SECURE", "NODES", "CONTROLLER_TLS")
PORTS = {node: {name: free_port() for name in NAMES} for node in NODES}
Settings = dict[str, str]


def listening(node: int, *names: str) -> Settings:
    def at(chosen: tuple[str, ...]) -> str:
        return ",".join(f"{name}://127.0.0.1:{PORTS[node][name]}" for name in chosen)

    shown = tuple(name for name in names if not name.startswith("CONTROLLER"))
    return {"listeners": at(names), "advertised.listeners": at(shown)}


def quorum(*listeners: str) -> Settings:
    """Controllers are reached by the first of them."""
    voters = ",".join(f"{node}@127.0.0.1:{PORTS[node][listeners[0]]}" for node in NODES)
    return {"controller.listener.names": ",".join(listeners), "controller.quorum.voters": voters}


PROTOCOLS = {
    "listener.security.protocol.map": (
        "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURE:SASL_SSL,NODES:SSL,CONTROLLER_TLS:SSL"
    ),
    "listener.name.secure.sasl.enabled.mechanisms": "SCRAM-SHA-512",
    "listener.name.secure.scram-sha-512.sasl.jaas.config": f"{SCRAM_MODULE} required;",
    "listener.name.nodes.ssl.client.auth": "required",
    "listener.name.controller_tls.ssl.client.auth": "required",
    "ssl.principal.mapping.rules": "RULE:^CN=broker.*$/node/",
}
GUARDED = {
    "inter.broker.listener.name": "NODES",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
}


def at_first(node: int) -> Settings:
    plain = {"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT"}
    return {**plain, **listening(node, "PLAINTEXT", "CONTROLLER"), **quorum("CONTROLLER")}


def with_both(node: int) -> Settings:
    """Second listeners: nobody comes there yet."""
    return {
        **PROTOCOLS,
        **listening(node, *NAMES),
        **quorum("CONTROLLER", "CONTROLLER_TLS"),
        "inter.broker.listener.name": "PLAINTEXT",
    }


def switched(node: int) -> Settings:
    """Nodes go by the new ones; those that were not restarted yet still come by the old."""
    return {
        **PROTOCOLS,
        **GUARDED,
        **listening(node, *NAMES),
        **quorum("CONTROLLER_TLS", "CONTROLLER"),
        "super.users": "User:node;User:admin;User:ANONYMOUS",
    }


def closed(node: int) -> Settings:
    return {
        **PROTOCOLS,
        **GUARDED,
        **listening(node, "SECURE", "NODES", "CONTROLLER_TLS"),
        **quorum("CONTROLLER_TLS"),
        "super.users": "User:node;User:admin",
    }


def cluster_at(path: Path) -> Cluster:
    nodes = {}
    for node in NODES:
        home = Home(
            path=path / f"node{node}",
            settings={"node.id": str(node), **FACTORS, **at_first(node)},
            port=PORTS[node]["PLAINTEXT"],
            controller_port=PORTS[node]["CONTROLLER"],
        )
        nodes[node] = BrokerProcess("ottla", home)
    return Cluster(nodes)


def roll(
    cluster: Cluster, stores: Settings, phase: Callable[[int], Settings], admin: AdminClient
) -> None:
    """One node after the other; the next when the one before is in sync again."""
    for number, node in cluster.nodes.items():
        node.stop()
        settings: Any = node.home.settings
        settings.clear()
        settings |= {"node.id": str(number), **FACTORS, **stores, **phase(number)}
        node.launch()
        wait_until(lambda: in_sync(admin) == list(NODES), SECONDS_MAX)


def in_sync(admin: AdminClient) -> list[int]:
    try:
        topics = admin.list_topics(TOPIC, timeout=5).topics
    except KafkaException:
        return []
    return sorted(topics[TOPIC].partitions[0].isrs) if topics[TOPIC].partitions else []


def test_no_record_is_lost_and_no_client_sees_an_error(tmp_path: Path) -> None:
    _, stores = issue_stores(tmp_path)
    cluster = cluster_at(tmp_path)
    plain = cluster.bootstrap
    secure: dict[str, Any] = {
        "bootstrap.servers": ",".join(f"127.0.0.1:{PORTS[node]['SECURE']}" for node in NODES),
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "admin",
        "sasl.password": "secret",
        "ssl.ca.location": stores["ssl.truststore.location"],
    }
    try:
        cluster.start()
        create_replicated(cluster, TOPIC)
        admin = AdminClient({"bootstrap.servers": plain, "log_level": 0})
        before = Load(plain, TOPIC)
        before.start()
        roll(cluster, stores, with_both, admin)
        information = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
        change = UserScramCredentialUpsertion("admin", information, b"secret")
        admin.alter_user_scram_credentials([change])["admin"].result(SECONDS_MAX)
        roll(cluster, stores, switched, admin)
        before.finish()
        after = Load(secure["bootstrap.servers"], TOPIC, secure)
        after.start()
        roll(cluster, stores, closed, AdminClient({**secure, "log_level": 0}))
        after.await_progress()
        after.finish()
        count = len(before.acknowledged) + len(after.acknowledged)
        consumer = Consumer({**secure, "group.id": "g", "auto.offset.reset": "earliest"})
        consumer.subscribe([TOPIC])
        values: list[int] = []
        while len(values) < count:
            messages = consumer.consume(count - len(values), SECONDS_MAX)
            assert messages, "records are missing"
            values += [int(message.value() or b"") for message in messages]
        consumer.close()
        assert values == before.acknowledged + after.acknowledged
        with pytest.raises(KafkaException):
            AdminClient({"bootstrap.servers": plain, "log_level": 0}).list_topics(timeout=2)
    finally:
        cluster.discard()
