"""Clients of schema registries in Go (franz-go), JavaScript (kafkajs's, Confluent's) and Java
(Confluent's own, inside a jar of Flink's), fetched from where they are published; what each writes,
confluent-kafka reads, and the other way round."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from support.jars import registry_client_jar
from system.registry.processes import Registry
from system.registry.toolchains import go_program_of, node_modules_in

pytestmark = [pytest.mark.foreign, pytest.mark.long, pytest.mark.timeout(400)]

HERE = Path(__file__).parent
ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "note", "type": "string", "default": ""},
    ],
}


@pytest.fixture(scope="module")
def go_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return go_program_of(HERE / "go", tmp_path_factory.mktemp("go"))


@pytest.fixture(scope="module")
def node_modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return node_modules_in(tmp_path_factory.mktemp("node"))


def seen_by(*command: str | Path, **environment: str) -> Any:
    """What a scenario printed."""
    ran = subprocess.run(
        command, capture_output=True, text=True, timeout=60, env={**os.environ, **environment}
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def of(topic: str) -> SerializationContext:
    return SerializationContext(topic, MessageField.VALUE)


def written(client: SchemaRegistryClient, topic: str) -> str:
    raw = AvroSerializer(client, json.dumps(ORDER))({"id": 7, "note": "é"}, of(topic))
    assert raw is not None
    return raw.hex()


def test_franz_go_reads_registers_and_writes(go_program: Path, registry: Registry) -> None:
    client = SchemaRegistryClient({"url": registry.url})
    seen = seen_by(go_program, registry.url, "go-value", written(client, "go"))
    raw = bytes.fromhex(seen.pop("written"))
    assert AvroDeserializer(client)(raw, of("go")) == {"id": 8, "note": "franz", "go": True}
    assert "go-value" in seen.pop("subjects")
    assert seen == {
        "read": {"id": 7, "note": "é"},
        "compatible": True,
        "version": 2,
        "same": True,
        "level": "FULL",
        "missing": 40402,
        "deleted": [1, 2],
    }


@pytest.mark.parametrize("client", ["kafkajs", "confluent"])
def test_clients_in_javascript_read_register_and_write(
    node_modules: Path, registry: Registry, client: str
) -> None:
    ours = SchemaRegistryClient({"url": registry.url})
    topic = f"node-{client}"
    script = HERE / "node" / "scenario.js"
    given = (client, registry.url, topic, written(ours, topic))
    seen = seen_by("node", script, *given, NODE_PATH=str(node_modules))
    raw = bytes.fromhex(seen.pop("written"))
    assert AvroDeserializer(ours)(raw, of(topic)) == {"id": 8, "note": "node", client: True}
    assert seen == {"read": {"id": 7, "note": "é"}, "same": True}


def test_confluents_client_in_java_reads_registers_and_writes(registry: Registry) -> None:
    pyspark = pytest.importorskip("pyspark")
    if shutil.which("java") is None:
        pytest.skip("Java is not installed")
    (logging,) = (Path(pyspark.__file__).parent / "jars").glob("slf4j-api-*.jar")
    jars = os.pathsep.join(map(str, (registry_client_jar(), logging)))
    client = SchemaRegistryClient({"url": registry.url})
    program = (
        "java",
        "-Xmx256m",
        "-XX:TieredStopAtLevel=1",
        "-cp",
        jars,
        HERE / "java" / "Scenario.java",
    )
    seen = seen_by(*program, registry.url, "java-value", written(client, "java"))
    raw = bytes.fromhex(seen.pop("written"))
    assert AvroDeserializer(client)(raw, of("java")) == {"id": 8, "note": "java", "java": True}
    assert seen == {
        "read": '{"id": 7, "note": "é"}',
        "compatible": True,
        "same": True,
        "version": 2,
        "versions": [1, 2],
        "latest": True,
        "subjects of it": ["java-value"],
        "level": "FULL FULL",
        "messages": True,
        "refused": 409,
        "missing": 40401,
        "unknown id": 40403,
        "referred": "Order",
        "mode": "READONLY READONLY",
        "read only": 42205,
        "deleted": [1, 2],
        "for good": [1],
        "softly": True,
    }
