"""Clients as they are, with tokens of a provider: librdkafka and aiokafka."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.abc import AbstractTokenProvider
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient
from typer.testing import CliRunner

from ottla.cli.app import app
from ottla.config.properties import render_properties
from support.brokers import BrokerProcess, Kind, running
from support.confluent import create_topic, wait_until
from support.homes import Home, free_port
from support.provider import AUDIENCE, ISSUER, Provider, running_provider

MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
HANDLER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
SECONDS = 20


class Bearing:
    def __init__(self, process: BrokerProcess, address: str, provider: Provider) -> None:
        self.process = process
        self.address = address
        self.provider = provider


@pytest.fixture(scope="module")
def bearing(broker_kind: Kind, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bearing]:
    path = tmp_path_factory.mktemp("oauth")
    settings: dict[str, str] = {}
    home, address = Home(path=path, settings=settings), f"127.0.0.1:{free_port()}"
    controller = f"127.0.0.1:{home.controller_port}"
    with running_provider() as provider:
        prefix = "listener.name.bearers.oauthbearer"
        settings |= {
            "listeners": (
                f"PLAINTEXT://{home.bootstrap},BEARERS://{address},CONTROLLER://{controller}"
            ),
            "advertised.listeners": f"PLAINTEXT://{home.bootstrap},BEARERS://{address}",
            "listener.security.protocol.map": (
                "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,BEARERS:SASL_PLAINTEXT"
            ),
            "inter.broker.listener.name": "PLAINTEXT",
            "listener.name.bearers.sasl.enabled.mechanisms": "OAUTHBEARER",
            f"{prefix}.sasl.jaas.config": f"{MODULE} required;",
            f"{prefix}.sasl.server.callback.handler.class": HANDLER,
            f"{prefix}.sasl.oauthbearer.jwks.endpoint.url": f"{provider.url}/keys",
            f"{prefix}.sasl.oauthbearer.expected.issuer": ISSUER,
            f"{prefix}.sasl.oauthbearer.expected.audience": AUDIENCE,
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS;User:alice;User:machine",
        }
        with running(broker_kind, home) as process:
            wait_until(lambda: provider.asked > 0)
            create_topic(process.bootstrap, "signed")
            yield Bearing(process, address, provider)


def config(bearing: Bearing, token: str, lifetime_s: float = 60) -> dict[str, Any]:
    return {
        "bootstrap.servers": bearing.address,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "oauth_cb": lambda _: (token, time.time() + lifetime_s),
        "log_level": 0,
    }


def sent(producer: Producer, value: str) -> KafkaError | None:
    errors: list[KafkaError | None] = []
    producer.produce("signed", value, on_delivery=lambda error, _: errors.append(error))
    assert producer.flush(SECONDS) == 0
    return errors[0]


def test_librdkafka_writes_with_a_token(bearing: Bearing) -> None:
    assert sent(Producer(config(bearing, bearing.provider.token("alice"))), "hello") is None


def test_librdkafka_goes_on_when_its_token_ended(bearing: Bearing) -> None:
    """It authenticates again on the same connection, with the next token."""
    given: list[str] = []

    def next_token(_: str) -> tuple[str, float]:
        given.append(bearing.provider.token("alice", lifetime_s=2))
        return given[-1], time.time() + 2

    options = config(bearing, "")
    options["oauth_cb"] = next_token
    producer = Producer(options)
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        assert sent(producer, "again") is None
    assert len(given) > 2


def test_a_name_without_rights_is_told_so(bearing: Bearing) -> None:
    producer = Producer(config(bearing, bearing.provider.token("bob")))
    error = sent(producer, "no")
    assert error is not None
    assert error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED


@pytest.mark.parametrize("kind", ["unsigned", "foreign issuer", "expired", "other keys"])
def test_a_token_that_does_not_do_keeps_its_bearer_out(bearing: Bearing, kind: str) -> None:
    token = {
        "unsigned": lambda: bearing.provider.unsigned("alice"),
        "foreign issuer": lambda: bearing.provider.token("alice", iss="https://evil.test"),
        "expired": lambda: bearing.provider.token("alice", lifetime_s=-100),
        "other keys": lambda: Provider().token("alice"),
    }[kind]()
    errors: list[KafkaError] = []
    options = config(bearing, token)
    options["error_cb"] = errors.append
    client = AdminClient(options)
    with pytest.raises(KafkaException):
        client.list_topics(timeout=2)
    client.poll(1)
    assert KafkaError._AUTHENTICATION in {error.code() for error in errors}


def test_a_new_key_of_the_provider_is_found_and_floods_of_unknown_ones_do_not_reach_it(
    bearing: Bearing,
) -> None:
    before, began = bearing.provider.asked, time.monotonic()
    for number in range(20):
        token = bearing.provider.token("alice", said_key_id=f"flood-{number}")
        with pytest.raises(KafkaException):
            AdminClient(config(bearing, token)).list_topics(timeout=0.3)
    asked_s = 10.0  # it is left in peace for so long
    assert bearing.provider.asked - before <= 2 + (time.monotonic() - began) / asked_s
    bearing.provider.add_key("key-new", "ES256")
    token = bearing.provider.token("alice", key_id="key-new", lifetime_s=600)
    assert sent(Producer(config(bearing, token, 600)), "by a new key") is None


def test_aiokafka_writes_with_a_token(bearing: Bearing) -> None:
    class Tokens(AbstractTokenProvider):
        async def token(self) -> str:
            return bearing.provider.token("alice")

    async def write() -> int:
        producer = AIOKafkaProducer(
            bootstrap_servers=bearing.address,
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism="OAUTHBEARER",
            sasl_oauth_token_provider=Tokens(),
        )
        await producer.start()
        try:
            sent = await producer.send_and_wait("signed", b"from aiokafka")
            return int(sent.partition)
        finally:
            await producer.stop()

    assert asyncio.run(write()) == 0


SPELLINGS = {
    "librdkafka": {
        "sasl.mechanisms": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.client.id": "machine",
        "sasl.oauthbearer.client.secret": "its secret",
    },
    "Java": {
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.jaas.config": f'{MODULE} required clientId="machine" clientSecret="its secret";',
        "sasl.login.callback.handler.class": (
            "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"
        ),
    },
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_our_own_tools_fetch_tokens_from_the_provider(
    bearing: Bearing, spelling: str, tmp_path: Path
) -> None:
    """By librdkafka (topics) and by the wire client (brokers)."""
    file = tmp_path / "client.properties"
    options = {
        "bootstrap.servers": bearing.address,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.oauthbearer.token.endpoint.url": f"{bearing.provider.url}/token",
        **SPELLINGS[spelling],
    }
    file.write_text(render_properties(options, about="our tools"))
    for command in (["topic", "list"], ["cluster", "status"]):
        before = len(bearing.provider.granted)
        ran = CliRunner().invoke(app, [*command, "--command-config", str(file)], prog_name="ottla")
        assert ran.exit_code == 0, ran.output
        assert len(bearing.provider.granted) > before
