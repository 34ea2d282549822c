"""The client files that `ottla start --secure` writes, each used by its client as it is."""

import asyncio
import importlib.util
import re
import shutil
import ssl
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)
from confluent_kafka.cimpl import NewTopic
from typer.testing import CliRunner

from ottla import Node
from ottla.cli.app import app
from ottla.client.files import AIOKAFKA, FRANZ_GO, JAVA, LIBRDKAFKA

SECONDS = 20


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    with Node(secure=True, data=tmp_path_factory.mktemp("secured") / "home") as node:
        yield node


@pytest.fixture(scope="module")
def files(node: Node) -> Path:
    return node.data / "secure" / "clients" / "admin"


def properties(file: Path) -> dict[str, Any]:
    lines = (line for line in file.read_text().splitlines() if not line.startswith("#"))
    return dict(line.split("=", 1) for line in lines)


def test_confluent_kafka(files: Path) -> None:
    config = properties(files / LIBRDKAFKA)
    producer = Producer(config)
    producer.produce("by-confluent", "hello")
    assert producer.flush(SECONDS) == 0
    consumer = Consumer({**config, "group.id": "g", "auto.offset.reset": "earliest"})
    consumer.subscribe(["by-confluent"])
    message = consumer.poll(SECONDS)
    consumer.close()
    assert message is not None
    assert message.value() == b"hello"


def test_aiokafka_with_a_context_as_strict_as_python_3_13_makes_it(files: Path) -> None:
    spec = importlib.util.spec_from_file_location("aiokafka_options", files / AIOKAFKA)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    options = module.OPTIONS
    options["ssl_context"].verify_flags |= ssl.VERIFY_X509_STRICT

    async def talk() -> bytes:
        async with AIOKafkaProducer(**options) as producer:
            await producer.send_and_wait("by-aiokafka", b"hello")
        async with AIOKafkaConsumer(
            "by-aiokafka", **options, auto_offset_reset="earliest"
        ) as consumer:
            message = await asyncio.wait_for(consumer.getone(), SECONDS)
            return bytes(message.value or b"")

    assert asyncio.run(talk()) == b"hello"


@pytest.mark.foreign
def test_kcat(files: Path) -> None:
    kcat = shutil.which("kcat")
    if kcat is None:
        pytest.skip("kcat is not installed")
    told = subprocess.run([kcat, "-V"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"librdkafka (\d+)\.(\d+)\.(\d+)", told)
    assert found is not None
    if tuple(map(int, found.groups())) < (2, 6, 1):
        pytest.skip("its librdkafka sends a wrong nonce, which Apache Kafka 4 refuses as well")
    command = [kcat, "-F", str(files / LIBRDKAFKA), "-t", "by-kcat"]
    subprocess.run([*command, "-P"], input=b"hello\n", check=True, timeout=SECONDS)
    ran = subprocess.run([*command, "-C", "-e"], capture_output=True, check=True, timeout=SECONDS)
    assert ran.stdout == b"hello\n"


@pytest.mark.parametrize("file", [LIBRDKAFKA, JAVA])
@pytest.mark.parametrize(
    "command",
    [
        ["topic", "list"],
        ["cluster", "status"],
        ["group", "list"],
        ["consume", "by-ottla", "-f", "-n", "1"],
    ],
    ids=lambda words: "-".join(words[:2]),
)
def test_every_command_of_ours(files: Path, file: str, command: list[str]) -> None:
    said = ["--command-config", str(files / file)]
    run = CliRunner()
    wrote = run.invoke(app, ["produce", "by-ottla", *said], input="hello\n")
    assert wrote.exit_code == 0, wrote.output
    told = run.invoke(app, [*command, *said])
    assert told.exit_code == 0, told.output
    by_environment = run.invoke(app, command, env={"OTTLA_CLIENT_CONFIG": str(files / file)})
    assert by_environment.exit_code == 0, by_environment.output


def test_only_the_owner_may_read_them(node: Node, files: Path) -> None:
    for path in (*files.iterdir(), *node.data.glob("secure/*"), *node.data.glob("node1/*")):
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path
    assert {file.name for file in files.iterdir()} == {JAVA, LIBRDKAFKA, AIOKAFKA, FRANZ_GO}


def test_no_secret_is_in_the_log_or_among_the_arguments(node: Node, files: Path) -> None:
    password = properties(files / LIBRDKAFKA)["sasl.password"]
    arguments = Path(f"/proc/{node.pid}/cmdline").read_bytes().decode()
    for text in (arguments, node.log_file.read_text()):
        assert password not in text
        assert "PRIVATE KEY" not in text


def test_a_user_comes_in_and_may_do_what_a_rule_allows(node: Node) -> None:
    admin = AdminClient(node.client_config())
    admin.create_topics([NewTopic("alices", 1, 1)])["alices"].result(SECONDS)
    assert refused(node, "alices") == KafkaError.TOPIC_AUTHORIZATION_FAILED
    allowed = AclBinding(
        ResourceType.TOPIC,
        "alices",
        ResourcePatternType.LITERAL,
        "User:alice",
        "*",
        AclOperation.WRITE,
        AclPermissionType.ALLOW,
    )
    admin.create_acls([allowed])[allowed].result(SECONDS)
    assert refused(node, "alices") is None
    assert node.client_config("alice") == node.client_config("alice")
    assert "scram.ScramLoginModule" in str(node.client_config("alice", for_="java"))


def refused(node: Node, topic: str) -> int | None:
    """Why alice's record was; librdkafka remembers what it was refused, so each is a new client."""
    producer = Producer(node.client_config("alice"))
    errors: list[KafkaError | None] = []
    producer.produce(topic, "x", on_delivery=lambda error, _: errors.append(error))
    assert producer.flush(SECONDS) == 0
    error = errors[0]
    return None if error is None else int(error.code())


def test_nobody_comes_in_without_a_password_or_without_tls(node: Node, files: Path) -> None:
    config = properties(files / LIBRDKAFKA)
    for changes in ({"sasl.password": "wrong"}, {"security.protocol": "SASL_PLAINTEXT"}):
        with pytest.raises(KafkaException):
            AdminClient({**config, **changes}).list_topics(timeout=2)


def test_the_page_s_snippet_runs_as_it_stands() -> None:
    page = (Path(__file__).parents[3] / "docs" / "security.md").read_text()
    (snippet,) = re.findall(r"```python\n(.*?secure=True.*?)```", page, re.DOTALL)
    subprocess.run([sys.executable, "-c", snippet], check=True, timeout=2 * SECONDS)


def test_a_check_says_what_the_ports_speak(node: Node) -> None:
    text = (node.data / "node1" / "server.properties").read_text()
    found = re.search(r"NODES://(127\.0\.0\.1:\d+)", text)
    assert found is not None
    where = f"{node.bootstrap_servers},{found[1]},127.0.0.1:1"
    told = CliRunner().invoke(app, ["secure", "check", "--bootstrap", where])
    assert told.exit_code == 1
    assert f"{node.bootstrap_servers} speaks SASL_SSL" in told.output
    assert "offers SCRAM-SHA-512" in told.output
    assert f"{found[1]} speaks SSL" in told.output
    assert "127.0.0.1:1 does not answer" in told.output


def test_a_second_start_takes_what_is_there(tmp_path: Path) -> None:
    def seen(home: Path) -> dict[str, bytes]:
        kept = (*home.glob("secure/**/*"), *home.glob("node1/*.*"))
        return {str(path): path.read_bytes() for path in kept if path.is_file()}

    with Node(secure=True, data=tmp_path / "home") as first:
        config = first.client_config()
        producer = Producer(config)
        producer.produce("kept", "hello")
        assert producer.flush(SECONDS) == 0
        before = seen(first.data)
    with Node(secure=True, data=tmp_path / "home") as second:
        assert second.client_config() == config
        assert seen(second.data) == before
        assert "kept" in AdminClient(config).list_topics(timeout=SECONDS).topics
