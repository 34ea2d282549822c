"""Tokens of a provider that is not ours (npm's oidc-provider), carried by librdkafka, which fetches
them itself."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, Producer

from support.brokers import Kind, die_with_parent, running
from support.confluent import create_topic
from support.homes import Home, free_port

pytestmark = [pytest.mark.foreign, pytest.mark.timeout(240)]

HERE = Path(__file__).parent / "oidc"
MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
HANDLER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"


@pytest.fixture
def issuer(tmp_path: Path) -> Iterator[str]:
    if shutil.which("npm") is None:
        pytest.skip("npm is missing")
    folder, port = tmp_path / "provider", free_port()
    shutil.copytree(HERE, folder)
    subprocess.run(["npm", "install", "--silent"], cwd=folder, check=True)
    process = subprocess.Popen(
        ["node", "provider.js", str(port)],
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=die_with_parent,
    )
    assert process.stdout is not None
    assert any(line.strip() == "ready" for line in process.stdout)
    yield f"http://127.0.0.1:{port}"
    process.kill()
    process.wait()


def test_librdkafka_fetches_a_token_and_writes(
    issuer: str, broker_kind: Kind, tmp_path: Path
) -> None:
    settings: dict[str, str] = {}
    home, address = Home(path=tmp_path / "node", settings=settings), f"127.0.0.1:{free_port()}"
    prefix = "listener.name.bearers.oauthbearer.sasl"
    settings |= {
        "listeners": (
            f"PLAINTEXT://{home.bootstrap},BEARERS://{address},"
            f"CONTROLLER://127.0.0.1:{home.controller_port}"
        ),
        "advertised.listeners": f"PLAINTEXT://{home.bootstrap},BEARERS://{address}",
        "listener.security.protocol.map": (
            "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,BEARERS:SASL_PLAINTEXT"
        ),
        "inter.broker.listener.name": "PLAINTEXT",
        "listener.name.bearers.sasl.enabled.mechanisms": "OAUTHBEARER",
        f"{prefix}.jaas.config": f"{MODULE} required;",
        f"{prefix}.server.callback.handler.class": HANDLER,
        f"{prefix}.oauthbearer.jwks.endpoint.url": f"{issuer}/jwks",
        f"{prefix}.oauthbearer.expected.issuer": issuer,
        f"{prefix}.oauthbearer.expected.audience": "kafka",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS;User:machine",
    }
    with running(broker_kind, home) as process:
        create_topic(process.bootstrap, "signed")
        producer = Producer(
            {
                "bootstrap.servers": address,
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "OAUTHBEARER",
                "sasl.oauthbearer.method": "oidc",
                "sasl.oauthbearer.token.endpoint.url": f"{issuer}/token",
                "sasl.oauthbearer.client.id": "machine",
                "sasl.oauthbearer.client.secret": "of-the-machine",
                "sasl.oauthbearer.scope": "kafka",
            }
        )
        errors: list[KafkaError | None] = []
        producer.produce("signed", b"x", on_delivery=lambda error, _: errors.append(error))
        assert producer.flush(30) == 0
        assert errors == [None]
