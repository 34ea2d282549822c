"""One file of client properties for Kafka's tools and ours, over TLS and with a password.

The broker is Apache Kafka: whoever it lets in has been told right.
"""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from ottla.cli.app import app
from ottla.client.connection import Connection, properties_of, read_connection
from ottla.config.properties import render_properties
from ottla.errors import OttlaError
from support.brokers import running
from support.homes import Home, free_port
from support.toolbox import Toolbox

pytestmark = pytest.mark.java

TOPICS = "org.apache.kafka.tools.TopicCommand"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
PASSWORD = 'a"b\\c;d e'
QUOTED = PASSWORD.replace("\\", "\\\\").replace('"', '\\"')


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`ca.pem`, `key.pem`, and both in `both.pem`: who signs is who is signed for."""
    folder = tmp_path_factory.mktemp("certificates")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=127.0.0.1",
         "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "key.pem", "-out", "ca.pem"],
        cwd=folder, check=True, capture_output=True,
    )  # fmt: skip
    both = (folder / "key.pem").read_text() + (folder / "ca.pem").read_text()
    (folder / "both.pem").write_text(both)
    return folder


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, certificates: Path) -> Iterator[str]:
    """The listener of an Apache Kafka that wants a certificate and a password."""
    path, port, plain, controller = tmp_path_factory.mktemp("kafka"), *ports(3)
    guard = "listener.name.guarded"
    settings = {
        "listeners": f"PLAINTEXT://127.0.0.1:{plain},GUARDED://127.0.0.1:{port},"
        f"CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{plain},GUARDED://127.0.0.1:{port}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,"
        "GUARDED:SASL_SSL",
        f"{guard}.ssl.keystore.type": "PEM",
        f"{guard}.ssl.keystore.location": str(certificates / "both.pem"),
        f"{guard}.ssl.truststore.type": "PEM",
        f"{guard}.ssl.truststore.location": str(certificates / "ca.pem"),
        f"{guard}.ssl.client.auth": "required",
        f"{guard}.sasl.enabled.mechanisms": "PLAIN",
        f"{guard}.plain.sasl.jaas.config": (
            f'{PLAIN} required user_ann="{QUOTED}";'.replace("\\", "\\\\")
        ),
    }
    home = Home(path=path, settings=settings, port=plain, controller_port=controller)
    with running("kafka", home):
        yield f"127.0.0.1:{port}"


def ports(count: int) -> list[int]:
    return [free_port() for _ in range(count)]


def in_java_s_names(certificates: Path, password: str = QUOTED) -> dict[str, str]:
    return {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'{PLAIN} required username="ann" password="{password}";',
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(certificates / "ca.pem"),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(certificates / "both.pem"),
    }


def in_librdkafka_s_names(certificates: Path) -> dict[str, str]:
    return {
        "security.protocol": "sasl_ssl",
        "sasl.mechanisms": "PLAIN",
        "sasl.username": "ann",
        "sasl.password": PASSWORD,
        "ssl.ca.location": str(certificates / "ca.pem"),
        "ssl.certificate.location": str(certificates / "ca.pem"),
        "ssl.key.location": str(certificates / "key.pem"),
    }


def written(path: Path, properties: dict[str, str]) -> str:
    path.write_text(render_properties(properties, about="for clients"))
    return str(path)


def ottla(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments, prog_name="ottla")


def test_a_file_that_kafka_s_tools_take_serves_ours(
    toolbox: Toolbox, guarded: str, certificates: Path, tmp_path: Path, name: str
) -> None:
    file = written(tmp_path / "client.properties", in_java_s_names(certificates))
    where = ("--bootstrap-server", guarded, "--command-config", file)
    toolbox.run(TOPICS, *where, "--create", "--topic", name)
    ours = ottla("topic", "list", "-b", guarded, "--command-config", file)
    assert name in ours.stdout
    assert ottla("cluster", "status", "-b", guarded, "--command-config", file).exit_code == 0


def test_what_is_said_in_librdkafka_s_names_is_told_to_java_s_clients(
    toolbox: Toolbox, guarded: str, certificates: Path, tmp_path: Path, name: str
) -> None:
    said = properties_of(in_librdkafka_s_names(certificates), "-X")
    told = Connection(guarded, tuple(said)).java()
    del told["bootstrap.servers"]
    file = written(tmp_path / "java.properties", told)
    where = ("--bootstrap-server", guarded, "--command-config", file)
    toolbox.run(TOPICS, *where, "--create", "--topic", name)
    admin = Connection(guarded, tuple(said)).admin()
    assert name in admin.list_topics(timeout=10).topics


def test_a_wrong_password_opens_nothing(guarded: str, certificates: Path, tmp_path: Path) -> None:
    file = written(tmp_path / "client.properties", in_java_s_names(certificates, "wrong"))
    read_connection(guarded, file=file, environ={})
    refused = ottla("topic", "list", "-b", guarded, "--command-config", file)
    assert isinstance(refused.exception, OttlaError)
    assert "wrong" not in str(refused.exception)
