"""A broker that wants to know who comes, and has rules for it: Apache Kafka or Ottla.

Two listeners: PLAINTEXT, where everybody is a super user and tests set things up, and SECURE, where
nobody is but `root`.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kio.schema.errors import ErrorCode

from ottla.security import scram
from support import certificates
from support.brokers import BrokerProcess, Kind, running
from support.certificates import Issued
from support.homes import Home, free_port
from support.wire import Connection

PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"
TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID = 2, 3, 4, 5
ALL, READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE = 2, 3, 4, 5, 6, 7, 8
CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE = 9, 10, 11, 12
DENY, ALLOW = 2, 3
LITERAL, PREFIXED = 3, 4
SHA_256, SHA_512 = 1, 2
EVERY_RULE: dict[str, Any] = {
    "resource_type_filter": 1,
    "resource_name_filter": None,
    "pattern_type_filter": 1,
    "principal_filter": None,
    "host_filter": None,
    "operation": 1,
    "permission_type": 1,
}
SALT = b"2ea1n4zd6yx8h3fxgp4ktq6dps"


@dataclass
class Secured:
    process: BrokerProcess
    address: str  # of the listener that wants to know who comes
    encrypted: str  # the same under TLS
    mutual: str  # where certificates say who comes
    authority: Issued

    @contextmanager
    def setup(self) -> Iterator[Connection]:
        with Connection(self.process.bootstrap) as connection:
            yield connection

    def add_user(self, name: str, password: str, mechanism: int = SHA_256) -> None:
        kind = scram.BY_NUMBER[mechanism]
        with self.setup() as connection:
            reply = connection.ask(
                "alter_user_scram_credentials",
                0,
                upsertions=[
                    {
                        "name": name,
                        "mechanism": mechanism,
                        "iterations": 4096,
                        "salt": SALT,
                        "salted_password": scram.salted_password(kind, password, SALT, 4096),
                    }
                ],
            )
        assert [one.error_code for one in reply.results] == [ErrorCode.none]

    def allow(self, user: str, *rights: tuple[int, str, int], **more: Any) -> None:
        """Rights are the type and name of a resource, and an operation."""
        with self.setup() as connection:
            reply = connection.ask(
                "create_acls",
                3,
                creations=[
                    {
                        "resource_type": kind,
                        "resource_name": name,
                        "resource_pattern_type": more.get("pattern", LITERAL),
                        "principal": f"User:{user}",
                        "host": more.get("host", "*"),
                        "operation": operation,
                        "permission_type": more.get("permission", ALLOW),
                    }
                    for kind, name, operation in rights
                ],
            )
        assert {one.error_code for one in reply.results} == {ErrorCode.none}

    def create(self, topic: str) -> None:
        with self.setup() as connection:
            create_topic(connection, topic)

    @contextmanager
    def by(self, user: str, password: str = "secret") -> Iterator[Connection]:
        """A connection of one who has proven who it is, by SCRAM-SHA-256."""
        with Connection(self.address) as connection:
            sign_in(connection, user, password)
            yield connection


def create_topic(connection: Connection, topic: str) -> Any:
    reply = connection.ask(
        "create_topics",
        7,
        topics=[{"name": topic, "num_partitions": 1, "replication_factor": 1}],
        timeout=5000,
    )
    return reply.topics[0]


def sign_in(connection: Connection, user: str, password: str, *, token: bool = False) -> Any:
    """By SCRAM, as a user or with a delegation token's id and HMAC; the last answer."""
    connection.ask("sasl_handshake", 1, mechanism="SCRAM-SHA-256")
    client = scram.ScramClient(scram.SHA_256, user, password, nonce="n" + user, token=token)
    first = connection.ask("sasl_authenticate", 2, auth_bytes=client.first())
    if first.error_code != ErrorCode.none:
        return first
    stretching = client.challenge(bytes(first.auth_bytes))
    final = connection.ask("sasl_authenticate", 2, auth_bytes=client.prove(stretching.run()))
    if final.error_code == ErrorCode.none:
        client.check(bytes(final.auth_bytes))
    return final


def issue_stores(path: Path) -> tuple[Issued, dict[str, str]]:
    """Who signs, and the options for a key that is signed."""
    path.mkdir(parents=True, exist_ok=True)
    authority = certificates.authority()
    trusted = path / "trusted.pem"
    trusted.write_text(authority.certificate_pem)
    own = certificates.issue(authority, "broker", "localhost", "127.0.0.1")
    return authority, {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(own.write_pem(path / "own.pem")),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(trusted),
    }


@contextmanager
def running_secured(
    kind: Kind, path: Path, more_settings: Mapping[str, str] | None = None
) -> Iterator[Secured]:
    settings: dict[str, str] = {}
    home = Home(path=path, settings=settings)
    address, encrypted, mutual = (f"127.0.0.1:{free_port()}" for _ in range(3))
    authority, store = issue_stores(path)
    names = {"SECURE": address, "GUARDED": encrypted, "MUTUAL": mutual}
    more = ",".join(f"{name}://{where}" for name, where in names.items())
    controller = f"127.0.0.1:{home.controller_port}"
    settings |= {
        "listeners": f"PLAINTEXT://{home.bootstrap},{more},CONTROLLER://{controller}",
        "advertised.listeners": f"PLAINTEXT://{home.bootstrap},{more}",
        "listener.security.protocol.map": (
            "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SECURE:SASL_PLAINTEXT,GUARDED:SASL_SSL,"
            "MUTUAL:SSL"
        ),
        **store,
        "listener.name.guarded.sasl.enabled.mechanisms": "SCRAM-SHA-256",
        "listener.name.guarded.scram-sha-256.sasl.jaas.config": f"{SCRAM_MODULE} required;",
        "listener.name.mutual.ssl.client.auth": "required",
        "ssl.principal.mapping.rules": "RULE:^CN=(.*?),O=people$/$1/L,DEFAULT",
        "inter.broker.listener.name": "PLAINTEXT",
        "listener.name.secure.sasl.enabled.mechanisms": "SCRAM-SHA-256,SCRAM-SHA-512,PLAIN",
        "listener.name.secure.plain.sasl.jaas.config": (
            f'{PLAIN_MODULE} required user_pia="plain secret";'
        ),
        "listener.name.secure.plain.connections.max.reauth.ms": "60000",
        "listener.name.secure.scram-sha-256.sasl.jaas.config": f"{SCRAM_MODULE} required;",
        "listener.name.secure.scram-sha-512.sasl.jaas.config": f"{SCRAM_MODULE} required;",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS;User:root",
        "delegation.token.secret.key": "of all tokens",
        **(more_settings or {}),
    }
    with running(kind, home) as process:
        secured = Secured(process, address, encrypted, mutual, authority)
        for user in ("root", "alice", "bob"):
            secured.add_user(user, "secret")
        yield secured
