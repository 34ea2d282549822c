"""Brokers whose clients come by SCRAM over TLS, with Kafka's authorizer; Apache Kafka or Ottla.

Among themselves three nodes speak TLS and know one another by certificates. What tests and the
bench itself ask comes by a listener in the open, which no load uses.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.reach import Reach
from ottla.security import scram
from support.brokers import BrokerProcess, Kind
from support.certificates import Issued
from support.clusters import FACTORS, Cluster
from support.homes import Home, free_port
from support.secured import SCRAM_MODULE, issue_stores
from support.wire import Connection

MECHANISM = "SCRAM-SHA-512"
USER, PASSWORD, SALT, ITERATIONS = "bench", "the password of the bench", b"salt of the bench", 4096
SETTINGS = {
    "listener.name.secure.sasl.enabled.mechanisms": MECHANISM,
    "listener.name.secure.scram-sha-512.sasl.jaas.config": f"{SCRAM_MODULE} required;",
    "listener.name.nodes.ssl.client.auth": "required",
    "listener.name.controller.ssl.client.auth": "required",
    "ssl.principal.mapping.rules": "RULE:^CN=broker.*$/node/",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": f"User:ANONYMOUS;User:node;User:{USER}",
}


def reach(bootstrap: str, authority: Issued) -> Reach:
    return Reach(
        bootstrap,
        {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": MECHANISM,
            "sasl.username": USER,
            "sasl.password": PASSWORD,
            "ssl.ca.pem": authority.certificate_pem,
        },
    )


def add_user(bootstrap: str) -> None:
    """Tokens of the password, as an admin client would make them."""
    kind = scram.MECHANISMS[MECHANISM]
    credential = {
        "name": USER,
        "mechanism": 2,
        "iterations": ITERATIONS,
        "salt": SALT,
        "salted_password": scram.salted_password(kind, PASSWORD, SALT, ITERATIONS),
    }
    with Connection(bootstrap, timeout=60) as connection:
        reply = connection.ask("alter_user_scram_credentials", 0, upsertions=[credential])
    assert [one.error_code.value for one in reply.results] == [0]


def secured_home(folder: Path) -> tuple[Home, Reach]:
    """One node's."""
    authority, stores = issue_stores(folder)
    port, controller_port, address = free_port(), free_port(), f"127.0.0.1:{free_port()}"
    own = f"PLAINTEXT://127.0.0.1:{port},SECURE://{address}"
    settings = {
        **stores,
        **SETTINGS,
        "listeners": f"{own},CONTROLLER://127.0.0.1:{controller_port}",
        "advertised.listeners": own,
        "listener.security.protocol.map": (
            "PLAINTEXT:PLAINTEXT,SECURE:SASL_SSL,CONTROLLER:PLAINTEXT"
        ),
        "inter.broker.listener.name": "PLAINTEXT",
    }
    home = Home(path=folder, settings=settings, port=port, controller_port=controller_port)
    return home, reach(address, authority)


@contextmanager
def secured_cluster(
    count: int, folder: Path, settings: dict[str, str], kind: Kind, java: tuple[str, ...]
) -> Iterator[tuple[Cluster, Reach]]:
    authority, stores = issue_stores(folder)
    controllers = {node: free_port() for node in range(1, count + 1)}
    voters = ",".join(f"{node}@127.0.0.1:{port}" for node, port in controllers.items())
    nodes, addresses = {}, []
    for node, controller_port in controllers.items():
        port, address = free_port(), f"127.0.0.1:{free_port()}"
        addresses.append(address)
        own = f"PLAINTEXT://127.0.0.1:{port},SECURE://{address},NODES://127.0.0.1:{free_port()}"
        home = Home(
            path=folder / f"node{node}",
            port=port,
            controller_port=controller_port,
            settings={
                **FACTORS,
                **stores,
                **SETTINGS,
                "node.id": str(node),
                "controller.quorum.voters": voters,
                "listeners": f"{own},CONTROLLER://127.0.0.1:{controller_port}",
                "advertised.listeners": own,
                "listener.security.protocol.map": (
                    "PLAINTEXT:PLAINTEXT,SECURE:SASL_SSL,NODES:SSL,CONTROLLER:SSL"
                ),
                "inter.broker.listener.name": "NODES",
                **settings,
            },
        )
        nodes[node] = BrokerProcess(kind, home, java)
    cluster = Cluster(nodes)
    try:
        cluster.start()
        add_user(cluster.nodes[1].bootstrap)
        yield cluster, reach(",".join(addresses), authority)
    finally:
        cluster.discard()
