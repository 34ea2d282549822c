"""What a file says about the controllers' listener: taken, or refused before anything is opened."""

import asyncio
import logging
from collections.abc import Callable

import pytest

from ottla.broker.access import CLUSTER, ByRules, Operation, Resource
from ottla.broker.api import Listeners, apis
from ottla.broker.transport.context import Peer, RequestContext
from ottla.config import Settings
from ottla.errors import OttlaError
from ottla.node.security import check_options
from ottla.ports.chance import SYSTEM_CHANCE
from ottla.ports.network import Link, LinkUntrusted
from ottla.security.links import ComplainingNetwork
from ottla.security.listener_options import STANDARD_AUTHORIZER
from ottla.security.rules import Rules

SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


def settings(**more: str) -> Settings:
    return Settings(
        {
            "node.id": "1",
            "process.roles": "broker,controller",
            "controller.listener.names": "CONTROLLER",
            "listeners": "PLAINTEXT://127.0.0.1:1,CONTROLLER://127.0.0.1:2",
            "authorizer.class.name": STANDARD_AUTHORIZER,
            **{name.replace("__", "-").replace("_", "."): text for name, text in more.items()},
        }
    )


def test_voters_cannot_know_each_other_by_scram() -> None:
    asked = settings(
        listener_security_protocol_map="PLAINTEXT:PLAINTEXT,CONTROLLER:SASL_PLAINTEXT",
        sasl_mechanism_controller_protocol="SCRAM-SHA-512",
        listener_name_controller_sasl_enabled_mechanisms="SCRAM-SHA-512",
        listener_name_controller_scram__sha__512_sasl_jaas_config=(
            f'{SCRAM} required username="node" password="secret";'
        ),
    )
    with pytest.raises(OttlaError, match="Use mTLS") as refusal:
        check_options(asked, SYSTEM_CHANCE)
    assert "secret" not in str(refusal.value)


def test_a_controller_listener_of_tls_needs_a_key() -> None:
    asked = settings(listener_security_protocol_map="PLAINTEXT:PLAINTEXT,CONTROLLER:SSL")
    with pytest.raises(OttlaError, match=r"ssl\.\w+\.location of CONTROLLER: it is missing"):
        check_options(asked, SYSTEM_CHANCE)


def test_a_peer_that_is_not_believed_is_complained_of_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Distrusted:
        async def connect(self, host: str, port: int, lost: Callable[[], None]) -> Link:
            raise LinkUntrusted(f"{host}:{port}: its certificate is not believed")

    network = ComplainingNetwork(Distrusted(), "CONTROLLER")

    async def connect() -> None:
        for _ in range(3):
            with pytest.raises(LinkUntrusted):
                await network.connect("h", 1, lambda: None)

    with caplog.at_level(logging.WARNING):
        asyncio.run(connect())
    assert [record.getMessage() for record in caplog.records] == [
        "no link by CONTROLLER: h:1: its certificate is not believed"
    ]


def test_before_the_rules_are_read_only_super_users_are_let_through() -> None:
    """Even where everybody may do what no rule speaks of: a denial may be among those to come."""
    ready = False
    rules = Rules(super_users=frozenset({"User:node"}), allow_if_no_acl=True)
    access = ByRules(rules, lambda: ready)

    def may(name: str) -> bool:
        peer = Peer("CONTROLLER", Listeners.CONTROLLER, "127.0.0.1")
        peer.principal = f"User:{name}"
        context = RequestContext(apis(Listeners.CONTROLLER)[52], 0, 1, None, peer)
        return access.allows(context, Operation.CLUSTER_ACTION, Resource.CLUSTER, CLUSTER)

    assert (may("node"), may("other")) == (True, False)
    ready = True
    assert (may("node"), may("other")) == (True, True)
