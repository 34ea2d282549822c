"""Every client by every way to prove who it is, over TLS, for longer than a session lasts.

Each writes a record now and then while its session ends twice: whoever can authenticates anew on
its connection, others come again. What was written is read by somebody else, in the open.
"""

import asyncio
import shutil
import ssl
import subprocess
import time
import uuid
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.abc import AbstractTokenProvider
from aiokafka.errors import KafkaConnectionError
from confluent_kafka import KafkaError, Message, Producer

from ottla.config.properties import render_properties
from ottla.wire.client import read_reply, request_frame
from ottla.wire.messages.create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from support import certificates
from support.brokers import Kind
from support.confluent import create_topic, read, wait_until
from support.jars import class_path
from support.provider import AUDIENCE, ISSUER, Provider, running_provider
from support.secured import PLAIN_MODULE, SCRAM_MODULE, SHA_512, Secured, running_secured

pytestmark = [pytest.mark.java, pytest.mark.foreign, pytest.mark.long, pytest.mark.timeout(240)]

HERE = Path(__file__).parent
PACKAGE = "org.apache.kafka.common.security.oauthbearer."
ALLOWED = "-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls="
PLAIN, SCRAM_256, SCRAM_512 = "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"
BEARER, TOKEN, CERTIFICATE = "OAUTHBEARER", "delegation-token", "certificate"
WAYS = (PLAIN, SCRAM_256, SCRAM_512, BEARER, TOKEN, CERTIFICATE)
USER, PASSWORD = "wanda", "wanda-secret"
RECORDS, EVERY_S, SESSION_MS = 10, 0.5, 2000


@dataclass
class Doors:
    secured: Secured
    provider: Provider
    token: tuple[str, str]
    folder: Path

    def address(self, way: str) -> str:
        return self.secured.mutual if way == CERTIFICATE else self.secured.encrypted

    def account(self, way: str) -> tuple[str, str]:
        return self.token if way == TOKEN else (USER, PASSWORD)

    def bearer_token(self) -> str:
        return self.provider.token(USER, lifetime_s=30)

    @property
    def trusted(self) -> Path:
        return self.folder / "trusted.pem"

    @property
    def own(self) -> Path:
        return self.folder / "wanda.pem"


def mechanism(way: str) -> str:
    return SCRAM_256 if way == TOKEN else way


def settings_of(provider: Provider) -> dict[str, str]:
    bearer = "listener.name.guarded.oauthbearer.sasl"
    return {
        "listener.name.guarded.sasl.enabled.mechanisms": ",".join(WAYS[:4]),
        "listener.name.guarded.plain.sasl.jaas.config": (
            f'{PLAIN_MODULE} required user_{USER}="{PASSWORD}";'
        ),
        "listener.name.guarded.scram-sha-512.sasl.jaas.config": f"{SCRAM_MODULE} required;",
        **{
            f"listener.name.guarded.{way.lower()}.connections.max.reauth.ms": str(SESSION_MS)
            for way in WAYS[:4]
        },
        f"{bearer}.jaas.config": f"{PACKAGE}OAuthBearerLoginModule required;",
        f"{bearer}.server.callback.handler.class": f"{PACKAGE}OAuthBearerValidatorCallbackHandler",
        f"{bearer}.oauthbearer.jwks.endpoint.url": f"{provider.url}/keys",
        f"{bearer}.oauthbearer.expected.issuer": ISSUER,
        f"{bearer}.oauthbearer.expected.audience": AUDIENCE,
        "super.users": f"User:ANONYMOUS;User:root;User:{USER};User:machine",
    }


def token_of(secured: Secured, user: str) -> tuple[str, str]:
    """A delegation token's id and what its bearer shows."""
    with secured.by(user, PASSWORD) as connection:
        connection.send_frame(request_frame(CreateDelegationTokenRequest(), 3, 1, b""))
        token = read_reply(connection.receive_frame(), CreateDelegationTokenResponse, 3, 1)
    assert token.error_code == 0
    return token.token_id, b64encode(token.hmac).decode()


@pytest.fixture(scope="module")
def doors(broker_kind: Kind, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Doors]:
    folder = tmp_path_factory.mktemp("ways")
    with running_provider() as provider, pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_TOOL_OPTIONS", f"{ALLOWED}{provider.url}/keys")
        with running_secured(broker_kind, folder, settings_of(provider)) as secured:
            yield furnished(secured, provider, folder)


def furnished(secured: Secured, provider: Provider, folder: Path) -> Doors:
    """With somebody who may come in by every way."""
    secured.add_user(USER, PASSWORD)
    secured.add_user(USER, PASSWORD, SHA_512)
    own = certificates.issue(secured.authority, USER, "127.0.0.1", organization="people")
    own.write_pem(folder / "wanda.pem")
    wait_until(lambda: provider.asked > 0)
    return Doors(secured, provider, token_of(secured, USER), folder)


def by_librdkafka(doors: Doors, way: str, topic: str, _: Path) -> None:
    config: dict[str, Any] = {
        "bootstrap.servers": doors.address(way),
        "security.protocol": "SSL" if way == CERTIFICATE else "SASL_SSL",
        "ssl.ca.location": str(doors.trusted),
    }
    if way == CERTIFICATE:
        config |= {"ssl.certificate.location": str(doors.own), "ssl.key.location": str(doors.own)}
    elif way == BEARER:
        config["oauth_cb"] = lambda _: (doors.bearer_token(), time.time() + 30)
    else:
        user, password = doors.account(way)
        config |= {"sasl.username": user, "sasl.password": password}
    if way != CERTIFICATE:
        config["sasl.mechanism"] = mechanism(way)
    producer = Producer(config)
    errors: list[KafkaError | None] = []

    def told(error: KafkaError | None, _: Message) -> None:
        errors.append(error)

    for _number in range(RECORDS):
        producer.produce(topic, b"hello", on_delivery=told)
        assert producer.flush(15) == 0
        time.sleep(EVERY_S)
    assert errors == [None] * RECORDS


def by_aiokafka(doors: Doors, way: str, topic: str, _: Path) -> None:
    class Tokens(AbstractTokenProvider):
        async def token(self) -> str:
            return doors.bearer_token()

    async def write() -> None:
        context = ssl.create_default_context(cafile=str(doors.trusted))
        options: dict[str, Any] = {"security_protocol": "SASL_SSL", "ssl_context": context}
        if way == CERTIFICATE:
            context.load_cert_chain(doors.own)
            options["security_protocol"] = "SSL"
        elif way == BEARER:
            options |= {"sasl_mechanism": way, "sasl_oauth_token_provider": Tokens()}
        else:
            user, password = doors.account(way)
            options |= {
                "sasl_mechanism": mechanism(way),
                "sasl_plain_username": user,
                "sasl_plain_password": password,
            }
        producer = AIOKafkaProducer(bootstrap_servers=doors.address(way), **options)
        await producer.start()
        try:
            for _number in range(RECORDS):
                await producer.send_and_wait(topic, b"hello")
                await asyncio.sleep(EVERY_S)
        finally:
            await producer.stop()

    asyncio.run(write())


def login_line(doors: Doors, way: str) -> str:
    if way == BEARER:
        return f"{PACKAGE}OAuthBearerLoginModule required;"
    user, password = doors.account(way)
    module = PLAIN_MODULE if way == PLAIN else SCRAM_MODULE
    more = " tokenauth=true" if way == TOKEN else ""
    return f'{module} required username="{user}" password="{password}"{more};'


def by_java(doors: Doors, way: str, topic: str, folder: Path) -> None:
    """Kafka's own tool, which writes at a pace."""
    options = {
        "security.protocol": "SSL" if way == CERTIFICATE else "SASL_SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(doors.trusted),
    }
    if way == CERTIFICATE:
        options |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(doors.own)}
    else:
        options |= {
            "sasl.mechanism": mechanism(way),
            "sasl.jaas.config": login_line(doors, way),
        }
    if way == BEARER:
        account = "sasl.oauthbearer.client.credentials.client"
        options |= {
            "sasl.login.callback.handler.class": f"{PACKAGE}OAuthBearerLoginCallbackHandler",
            "sasl.oauthbearer.token.endpoint.url": f"{doors.provider.url}/token",
            f"{account}.id": "machine",
            f"{account}.secret": "its secret",
        }
    file = folder / "client.properties"
    file.write_text(render_properties(options, about="a client"))
    allowed = f"{ALLOWED}{doors.provider.url}/token"
    java = ["java", "-Xmx256m", "-XX:TieredStopAtLevel=1", allowed, "-cp", class_path()]
    tool = [*java, "org.apache.kafka.tools.ProducerPerformance", "--topic", topic]
    shape = ["--num-records", str(RECORDS), "--record-size", "5", "--throughput", "2"]
    reach = ["--command-config", str(file), "--bootstrap-server", doors.address(way)]
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("JAVA_TOOL_OPTIONS")  # are the broker's
        ran = subprocess.run([*tool, *shape, *reach], capture_output=True, text=True, timeout=100)
    assert ran.returncode == 0, ran.stderr
    assert "rror" not in ran.stderr + ran.stdout


@pytest.fixture(scope="session")
def go_writer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("go") is None:
        pytest.skip("Go is not installed")
    folder = tmp_path_factory.mktemp("go-writer")
    for file in ("go.mod", "go.sum"):
        shutil.copy(HERE / "go" / file, folder)
    shutil.copy(HERE / "go" / "ways" / "main.go", folder)
    build = ["go", "build", "-mod=mod", "-buildvcs=false", "-o", "writer", "."]
    subprocess.run(build, cwd=folder, check=True)
    return folder / "writer"


def by_franz_go(doors: Doors, way: str, topic: str, _: Path, writer: Path) -> None:
    user, password = doors.account(way)
    said = {
        "WAY": way,
        "USERNAME": user,
        "PASSWORD": password,
        "TRUSTED": str(doors.trusted),
        "OWN": str(doors.own),
        "BEARER": doors.bearer_token() if way == BEARER else "",
        "RECORDS": str(RECORDS),
        "EVERY": f"{EVERY_S}s",
    }
    ran = subprocess.run(
        [writer, doors.address(way), topic], env=said, capture_output=True, text=True, timeout=100
    )
    assert ran.returncode == 0, ran.stderr


CLIENTS: dict[str, Callable[[Doors, str, str, Path], None]] = {
    "librdkafka": by_librdkafka,
    "aiokafka": by_aiokafka,
    "Java": by_java,
}


WITHOUT_TOKENS = ("librdkafka", "aiokafka")
"""They cannot say that what they prove is a token's (SCRAM's extension `tokenauth`)."""


@pytest.mark.parametrize(
    ("client", "way"),
    [
        (client, way)
        for client in CLIENTS
        for way in WAYS
        if not (way == TOKEN and client in WITHOUT_TOKENS)
    ],
)
def test_a_client_comes_in_and_stays(doors: Doors, client: str, way: str, tmp_path: Path) -> None:
    topic = f"ways-{uuid.uuid4().hex[:8]}"
    create_topic(doors.secured.process.bootstrap, topic)
    CLIENTS[client](doors, way, topic, tmp_path)
    assert len(read(doors.secured.process.bootstrap, topic, RECORDS)) == RECORDS


@pytest.mark.parametrize("client", WITHOUT_TOKENS)
def test_a_token_is_no_user_s_password(doors: Doors, client: str, tmp_path: Path) -> None:
    with pytest.raises((AssertionError, KafkaConnectionError)):
        CLIENTS[client](doors, TOKEN, "never", tmp_path)


@pytest.mark.parametrize("way", WAYS)
def test_franz_go_comes_in_and_stays(
    doors: Doors, way: str, tmp_path: Path, go_writer: Path
) -> None:
    topic = f"ways-{uuid.uuid4().hex[:8]}"
    create_topic(doors.secured.process.bootstrap, topic)
    by_franz_go(doors, way, topic, tmp_path, go_writer)
    assert len(read(doors.secured.process.bootstrap, topic, RECORDS)) == RECORDS
