"""What a file says about the controllers' listener: taken, or refused before anything is opened."""

import asyncio
import logging
from collections.abc import Callable

import pytest

from ottla.config import Settings
from ottla.errors import OttlaError
from ottla.node.security import check_options
from ottla.ports.chance import SYSTEM_CHANCE
from ottla.ports.network import Link, LinkUntrusted
from ottla.security.links import ComplainingNetwork
from ottla.security.listener_options import STANDARD_AUTHORIZER

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
