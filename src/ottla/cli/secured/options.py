"""A secured node's `server.properties`: mTLS between nodes, SCRAM over TLS for clients, Kafka's
authorizer. Apache Kafka reads the same file."""

from pathlib import Path
from typing import NamedTuple

from ottla.cli.secured.vault import ADMIN
from ottla.config.topology import Listener
from ottla.security.listener_options import STANDARD_AUTHORIZER

CLIENTS, NODES, CONTROLLER = "CLIENTS", "NODES", "CONTROLLER"
NODE_USER = "ottla-node"
KEYSTORE, TRUSTSTORE = "node.pem", "trusted.pem"
_SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"


class Place(NamedTuple):
    """Where a node listens, and under which name it is reached."""

    node: int
    host: str
    clients_port: int
    nodes_port: int
    controller_port: int | None  # of a voter
    bind: str | None = None  # None: the host; empty: all interfaces
    nodes_host: str | None = None  # where other nodes reach it, if that is elsewhere

    @property
    def clients(self) -> Listener:
        return Listener(CLIENTS, self.host, self.clients_port)


def secured_options(place: Place, folder: Path) -> dict[str, str]:
    """`folder` is where the node will find its key and whom to believe."""
    inside = place.nodes_host or place.host
    advertised = [place.clients, Listener(NODES, inside, place.nodes_port)]
    bound = [*advertised]
    if place.controller_port is not None:
        bound.append(Listener(CONTROLLER, inside, place.controller_port))
    if place.bind is not None:
        is_everywhere = place.nodes_host is None
        bound = [
            one._replace(host=place.bind) if one.name == CLIENTS or is_everywhere else one
            for one in bound
        ]
    return {
        "listeners": ",".join(map(str, bound)),
        "advertised.listeners": ",".join(map(str, advertised)),
        "listener.security.protocol.map": f"{CLIENTS}:SASL_SSL,{NODES}:SSL,{CONTROLLER}:SSL",
        "controller.listener.names": CONTROLLER,
        "inter.broker.listener.name": NODES,
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(folder / KEYSTORE),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(folder / TRUSTSTORE),
        "listener.name.nodes.ssl.client.auth": "required",
        "listener.name.controller.ssl.client.auth": "required",
        "ssl.principal.mapping.rules": f"RULE:^CN=node-[0-9]+,O=Ottla$/{NODE_USER}/,DEFAULT",
        "listener.name.clients.sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "listener.name.clients.scram-sha-512.sasl.jaas.config": f"{_SCRAM_MODULE} required;",
        "authorizer.class.name": STANDARD_AUTHORIZER,
        "super.users": f"User:{ADMIN};User:{NODE_USER}",
    }
