"""Debezium's connectors on Kafka Connect: the judges of postgres-cdc and mysql-cdc.

`OTTLA_CONNECT_LIBS` and `OTTLA_DEBEZIUM` (`OTTLA_DEBEZIUM_MARIADB`) name folders that have the jars
and the unpacked plugin already; otherwise Maven fetches them once into `.kafka`.
"""

import json
import os
import shutil
import subprocess
import tarfile
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, TopicPartition

from ottla.ports.network import free_ports
from support.brokers import BrokerProcess, die_with_parent
from support.cdc import Shown
from support.homes import Home
from support.jars import KAFKA_VERSION, PROJECT


@dataclass(frozen=True)
class DebeziumPlugin:
    artifact: str
    folder: str  # in `.kafka`
    variable: str  # names a folder that has it


POSTGRES = DebeziumPlugin(
    "io.debezium:debezium-connector-postgres:3.6.2.Final:tar.gz:plugin",
    "debezium",
    "OTTLA_DEBEZIUM",
)
MARIADB = DebeziumPlugin(
    "io.debezium:debezium-connector-mariadb:3.5.0.Final:tar.gz:plugin",
    "debezium-mariadb",
    "OTTLA_DEBEZIUM_MARIADB",
)
JDBC = DebeziumPlugin(
    "io.debezium:debezium-connector-jdbc:3.6.0.Final:tar.gz:plugin",
    "debezium-jdbc",
    "OTTLA_DEBEZIUM_JDBC",
)
_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>ottla</groupId><artifactId>connect-for-comparison</artifactId><version>1</version>
<dependencies><dependency><groupId>org.apache.kafka</groupId><artifactId>connect-runtime</artifactId>
<version>{version}</version></dependency></dependencies></project>"""


def _libraries() -> Path:
    given = os.environ.get("OTTLA_CONNECT_LIBS")
    folder = Path(given) if given else PROJECT / ".kafka" / "debezium-connect"
    if not folder.is_dir():
        pom = Path(tempfile.mkdtemp()) / "pom.xml"
        pom.write_text(_POM.format(version=KAFKA_VERSION))
        copy = ["dependency:copy-dependencies", f"-DoutputDirectory={folder}"]
        subprocess.run(["mvn", "-q", "-f", pom, *copy], check=True)
    return folder


def plugin_folder(plugin: DebeziumPlugin = POSTGRES) -> Path:
    given = os.environ.get(plugin.variable)
    folder = Path(given) if given else PROJECT / ".kafka" / plugin.folder
    if not folder.is_dir():
        fetched = Path(tempfile.mkdtemp())
        copy = ["dependency:copy", f"-Dartifact={plugin.artifact}", f"-DoutputDirectory={fetched}"]
        subprocess.run(["mvn", "-q", *copy], check=True)
        with tarfile.open(next(fetched.glob("*.tar.gz"))) as archive:
            archive.extractall(folder, filter="data")
        shutil.rmtree(fetched)
    return folder


class Debezium:
    """A Connect worker that writes to a broker of its own."""

    def __init__(self, bootstrap: str, url: str) -> None:
        self.bootstrap = bootstrap
        self.url = url

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"{self.url}{path}", data, {"Content-Type": "application/json"}, method=method
        )
        with urllib.request.urlopen(request, timeout=60) as response:
            text = response.read()
        return json.loads(text) if text else None

    def put(self, config: Mapping[str, str]) -> None:
        self.ask("PUT", f"/connectors/{config['name']}/config", dict(config))

    def wait_until(self, name: str, state: str) -> None:
        """Of the connector; RUNNING: of its task, too."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                status = self.ask("GET", f"/connectors/{name}/status")
            except urllib.error.HTTPError:
                status = None
            if status is not None:
                tasks = [one["state"] for one in status["tasks"]]
                assert "FAILED" not in tasks, status
                if status["connector"]["state"] == state and (tasks != [] or state == "STOPPED"):
                    return
            time.sleep(0.2)
        raise AssertionError(f"{name} did not become {state}")

    def offset(self, name: str) -> dict[str, Any] | None:
        found = self.ask("GET", f"/connectors/{name}/offsets")["offsets"]
        return found[0]["offset"] if found else None

    def alter_offset(self, name: str, prefix: str, offset: Mapping[str, Any]) -> None:
        one = {"partition": {"server": prefix}, "offset": dict(offset)}
        self.ask("PATCH", f"/connectors/{name}/offsets", {"offsets": [one]})

    def records(self, prefix: str) -> list[Shown]:
        """Read committed, each topic in its order."""
        settings = {"bootstrap.servers": self.bootstrap, "group.id": "judge"}
        consumer = Consumer({**settings, "enable.partition.eof": True})
        topics = consumer.list_topics(timeout=10).topics
        parts = [
            TopicPartition(name, part, 0)
            for name, topic in topics.items()
            if name.startswith(f"{prefix}.")
            for part in topic.partitions
        ]
        consumer.assign(parts)
        found: list[Shown] = []
        open_parts = len(parts)
        while open_parts:
            message = consumer.poll(10)
            assert message is not None, "the judge's records cannot be read"
            if message.error():
                open_parts -= 1
                continue
            key, value = message.key(), message.value()
            found.append(
                {
                    "topic": message.topic(),
                    "key": None if key is None else json.loads(key),
                    "value": None if value is None else json.loads(value),
                    "headers": _headers(message.headers()),
                }
            )
        consumer.close()
        return found


def _headers(said: Any) -> dict[str, str]:
    return {name: value.decode() for name, value in said or []}


@contextmanager
def running_debezium(folder: Path, plugin: DebeziumPlugin = POSTGRES) -> Iterator[Debezium]:
    (port,) = free_ports(1)
    broker = BrokerProcess("ottla", Home(path=folder))
    worker: subprocess.Popen[bytes] | None = None
    try:
        broker.start()
        worker = _worker(folder, broker.bootstrap, port, plugin)
        judge = Debezium(broker.bootstrap, f"http://127.0.0.1:{port}")
        deadline = time.monotonic() + 120
        while True:
            try:
                judge.ask("GET", "/connectors")
                break
            except OSError:
                assert worker.poll() is None, (folder / "connect.log").read_text()[-2000:]
                assert time.monotonic() < deadline, "Connect does not answer"
                time.sleep(0.3)
        yield judge
    finally:
        if worker is not None:
            worker.kill()
            worker.wait()
        broker.discard()


def _worker(
    folder: Path, bootstrap: str, port: int, plugin: DebeziumPlugin
) -> "subprocess.Popen[bytes]":
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": "judge",
        "listeners": f"http://127.0.0.1:{port}",
        "plugin.path": str(plugin_folder(plugin)),
        "key.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "exactly.once.source.support": "enabled",
        **{f"{kind}.storage.topic": f"connect-{kind}" for kind in ("config", "offset", "status")},
        **{f"{kind}.storage.replication.factor": "1" for kind in ("config", "offset", "status")},
    }
    file = folder / "worker.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    main = "org.apache.kafka.connect.cli.ConnectDistributed"
    java = ["java", "-Xmx512m", "-XX:TieredStopAtLevel=1", "-cp", f"{_libraries()}/*", main]
    with (folder / "connect.log").open("wb") as log:
        return subprocess.Popen(
            [*java, str(file)], stdout=log, stderr=log, preexec_fn=die_with_parent
        )
