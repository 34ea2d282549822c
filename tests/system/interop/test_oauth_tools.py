"""Apache Kafka's console tools with tokens that they fetch from a provider themselves."""

import subprocess
from pathlib import Path

import pytest

from ottla.config.properties import render_properties
from support.brokers import Kind, running
from support.confluent import create_topic, wait_until
from support.homes import Home, free_port
from support.jars import class_path
from support.provider import AUDIENCE, ISSUER, running_provider

pytestmark = [pytest.mark.java, pytest.mark.timeout(240)]

PACKAGE = "org.apache.kafka.common.security.oauthbearer."
MODULE = f"{PACKAGE}OAuthBearerLoginModule"
ALLOWED = "-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls="


def test_the_console_tools_write_and_read_with_tokens(broker_kind: Kind, tmp_path: Path) -> None:
    settings: dict[str, str] = {}
    home, address = Home(path=tmp_path / "node", settings=settings), f"127.0.0.1:{free_port()}"
    with running_provider() as provider:
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
            f"{prefix}.server.callback.handler.class": (
                f"{PACKAGE}OAuthBearerValidatorCallbackHandler"
            ),
            f"{prefix}.oauthbearer.jwks.endpoint.url": f"{provider.url}/keys",
            f"{prefix}.oauthbearer.expected.issuer": ISSUER,
            f"{prefix}.oauthbearer.expected.audience": AUDIENCE,
        }
        client = tmp_path / "client.properties"
        options = {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.jaas.config": f"{MODULE} required;",
            "sasl.login.callback.handler.class": f"{PACKAGE}OAuthBearerLoginCallbackHandler",
            "sasl.oauthbearer.token.endpoint.url": f"{provider.url}/token",
            "sasl.oauthbearer.client.credentials.client.id": "machine",
            "sasl.oauthbearer.client.credentials.client.secret": "its secret",
        }
        client.write_text(render_properties(options, about="a client"))

        def tool(name: str, *arguments: str, said: str = "") -> str:
            java = ["java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", class_path()]
            java.append(f"{ALLOWED}{provider.url}/token")
            common = ["--bootstrap-server", address, "--topic", "signed"]
            ran = subprocess.run(
                [*java, name, *common, "--command-config", str(client), *arguments],
                input=said,
                capture_output=True,
                text=True,
                timeout=100,
            )
            assert ran.returncode == 0, ran.stderr
            return ran.stdout

        with running(broker_kind, home) as process:
            wait_until(lambda: provider.asked > 0)
            create_topic(process.bootstrap, "signed")
            tool("org.apache.kafka.tools.ConsoleProducer", said="a line\n")
            read = tool(
                "org.apache.kafka.tools.consumer.ConsoleConsumer",
                *("--from-beginning", "--max-messages", "1", "--timeout-ms", "30000"),
            )
            assert read.split("\n")[0] == "a line"
