"""Apache Kafka and Ottla in one cluster: either may hold the quorum, both hold replicas."""

import contextlib
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient
from kio.schema.errors import ErrorCode

from ottla.log.checkpoints import MetaProperties, write_meta_properties
from support.brokers import BrokerProcess, Kind, format_with_kafka
from support.confluent import wait_until
from support.homes import CLUSTER_ID, Home, free_port
from support.ids import new_uuid
from support.secured import PLAIN_MODULE, issue_stores
from support.wire import Connection

SECONDS_MAX = 60
METADATA_SECONDS_MAX = 5
RECORDS = 200

pytestmark = [pytest.mark.java, pytest.mark.timeout(300)]


def homes(path: Path, secured: Mapping[str, str]) -> tuple[Home, Home]:
    """Node 1 is controller and broker, node 2 a broker only."""
    port, controller_port = free_port(), free_port()
    first = Home(
        path=path / "first",
        port=port,
        controller_port=controller_port,
        settings=listening(port, secured, f",CONTROLLER://127.0.0.1:{controller_port}"),
    )
    port = free_port()
    settings = {
        "process.roles": "broker",
        "node.id": "2",
        "controller.quorum.voters": f"1@127.0.0.1:{first.controller_port}",
        **listening(port, secured, ""),
    }
    return first, Home(path=path / "second", port=port, settings=settings)


def listening(port: int, secured: Mapping[str, str], more: str) -> dict[str, str]:
    own = f"PLAINTEXT://127.0.0.1:{port}"
    if secured:
        own += f",INTERNAL://127.0.0.1:{free_port()}"
    return {"listeners": own + more, "advertised.listeners": own, **secured}


NODE = f'{PLAIN_MODULE} required username="node" password="secret" user_node="secret";'
SECURED = {
    "listener.security.protocol.map": "CONTROLLER:SSL,INTERNAL:SASL_SSL,PLAINTEXT:PLAINTEXT",
    "inter.broker.listener.name": "INTERNAL",
    "listener.name.internal.sasl.enabled.mechanisms": "PLAIN",
    "listener.name.internal.plain.sasl.jaas.config": NODE,
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "listener.name.controller.ssl.client.auth": "required",
    "ssl.principal.mapping.rules": "RULE:^CN=broker.*$/node/",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS;User:node",
}
"""Towards controllers nodes are known by certificates, among brokers by passwords over TLS."""


def formatted(kind: Kind, home: Home, node_id: int) -> None:
    """Both nodes belong to one cluster, so its id is given, not drawn."""
    file = home.write_properties()
    if kind == "kafka":
        format_with_kafka(home, file)
        return
    home.data[0].mkdir(parents=True)
    write_meta_properties(home.data[0], MetaProperties(node_id, CLUSTER_ID, new_uuid()))


@contextlib.contextmanager
def cluster(
    controlling: Kind, joining: Kind, path: Path, secured: Mapping[str, str]
) -> Iterator[list[BrokerProcess]]:
    kinds = (controlling, joining)
    both = homes(path, secured)
    nodes = [BrokerProcess(kind, home) for kind, home in zip(kinds, both, strict=True)]
    try:
        for node_id, node in enumerate(nodes, 1):
            formatted(node.kind, node.home, node_id)
            node.start()
        yield nodes
        for node in reversed(nodes):
            node.stop()
    finally:
        for node in nodes:
            node.discard()


def make_topic(bootstrap: str, name: str) -> None:
    """Through a broker that must pass it on to the controller."""
    topic = {"name": name, "num_partitions": 4, "replication_factor": 2}
    change = {"name": "retention.ms", "config_operation": 0, "value": "123456789"}
    resource = {"resource_type": 2, "resource_name": name, "configs": [change]}
    with Connection(bootstrap, timeout=SECONDS_MAX) as connection:
        made = connection.ask("create_topics", 7, topics=[topic], timeout=30_000)
        assert made.topics[0].error_code == ErrorCode.none
        altered = connection.ask("incremental_alter_configs", 1, resources=[resource])
        assert altered.responses[0].error_code == ErrorCode.none


def partitions(admin: AdminClient, topic: str) -> list[tuple[int, list[int]]]:
    """Leader and in-sync set of each partition; none where librdkafka happened to ask the node that
    was killed, and waits for it instead of asking the other."""
    try:
        topics = admin.list_topics(timeout=METADATA_SECONDS_MAX).topics
    except KafkaException:
        return []
    found = topics[topic].partitions if topic in topics else {}
    return [(found[index].leader, sorted(found[index].isrs)) for index in sorted(found)]


def in_sync_everywhere(admin: AdminClient) -> bool:
    return [isr for _, isr in partitions(admin, "shared")] == [[1, 2]] * 4


def fill(bootstrap: str, topic: str, first: int) -> None:
    lost: list[object] = []

    def delivered(error: KafkaError | None, _: Message) -> None:
        if error:
            lost.append(1)

    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
    for number in range(first, first + RECORDS):
        producer.produce(topic, str(number), on_delivery=delivered)
    assert producer.flush(SECONDS_MAX) == 0
    assert lost == []


def read(bootstrap: str, topic: str, count: int) -> set[int]:
    settings = {"group.id": new_uuid().hex(), "auto.offset.reset": "earliest"}
    consumer = Consumer({"bootstrap.servers": bootstrap, **settings})
    consumer.subscribe([topic])
    seen: list[int] = []
    deadline = time.monotonic() + SECONDS_MAX
    while len(seen) < count and time.monotonic() < deadline:
        message = consumer.poll(0.5)
        if message is not None and not message.error():
            seen.append(int(message.value() or b""))
    consumer.close()
    assert len(seen) == count
    return set(seen)


EITHER = [("ottla", "kafka"), ("kafka", "ottla")]


@pytest.mark.parametrize(("controlling", "joining"), EITHER)
def test_replicas_on_both_fail_over_and_lose_nothing(
    controlling: Kind, joining: Kind, tmp_path: Path
) -> None:
    fail_over(controlling, joining, tmp_path, {})


@pytest.mark.long
@pytest.mark.parametrize(("controlling", "joining"), EITHER)
def test_nodes_that_prove_who_they_are_fail_over_and_lose_nothing(
    controlling: Kind, joining: Kind, tmp_path: Path
) -> None:
    _, stores = issue_stores(tmp_path)
    fail_over(controlling, joining, tmp_path, {**SECURED, **stores})


def fail_over(controlling: Kind, joining: Kind, path: Path, secured: Mapping[str, str]) -> None:
    with cluster(controlling, joining, path, secured) as (first, second):
        admins = [AdminClient({"bootstrap.servers": node.bootstrap}) for node in (first, second)]
        wait_until(
            lambda: all(len(one.list_topics(timeout=SECONDS_MAX).brokers) == 2 for one in admins)
        )
        make_topic(second.bootstrap, "shared")
        wait_until(lambda: in_sync_everywhere(admins[0]))
        assert {leader for leader, _ in partitions(admins[0], "shared")} == {1, 2}
        fill(second.bootstrap, "shared", 0)
        second.kill9()
        wait_until(lambda: partitions(admins[0], "shared") == [(1, [1])] * 4)
        fill(first.bootstrap, "shared", RECORDS)
        second.start()
        wait_until(lambda: in_sync_everywhere(admins[0]))
        assert read(second.bootstrap, "shared", 2 * RECORDS) == set(range(2 * RECORDS))
