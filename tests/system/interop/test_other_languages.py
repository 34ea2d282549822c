"""Clients in Go (franz-go, sarama) and JavaScript (kafkajs), fetched from their registries."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import ConsumerGroupType
from confluent_kafka.admin import AdminClient

from support.confluent import create_topic

pytestmark = [pytest.mark.foreign, pytest.mark.timeout(400)]

HERE = Path(__file__).parent
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]


@pytest.fixture(scope="session")
def node_modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("npm") is None:
        pytest.skip("Node is not installed")
    folder = tmp_path_factory.mktemp("node")
    shutil.copy(HERE / "node" / "package.json", folder)
    subprocess.run(["npm", "install", "--silent"], cwd=folder, check=True)
    return folder / "node_modules"


def seen_by(*command: str | Path, **environment: str) -> Any:
    """What a scenario printed."""
    ran = subprocess.run(
        command, capture_output=True, text=True, timeout=60, env={**os.environ, **environment}
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_franz_go_writes_and_reads_every_codec(go_program: Path, bootstrap: str, name: str) -> None:
    create_topic(bootstrap, name)
    seen = seen_by(go_program, "franz-records", bootstrap, name)
    values = [f"{codec} {n}" for codec in CODECS for n in range(10)]
    assert seen == {"offsets": list(range(50)), "first": values[:20], "rest": values[20:]}


def test_franz_go_administers_topics(go_program: Path, bootstrap: str, name: str) -> None:
    assert seen_by(go_program, "franz-admin", bootstrap, name) == {
        "exists": True,
        "retention": "4242",
        "partitions": 3,
        "brokers": 1,
        "controller": 1,
    }


def test_franz_go_reads_through_a_group_of_the_consumer_protocol(
    go_program: Path, bootstrap: str, name: str
) -> None:
    create_topic(bootstrap, name)
    seen = seen_by(go_program, "franz-next-groups", bootstrap, name)
    assert seen["first"] + seen["rest"] == [str(n) for n in range(20)]
    assert type_of_group(bootstrap, name) is ConsumerGroupType.CONSUMER


@pytest.mark.parametrize("scenario", ["franz-transactions", "franz-next-transactions"])
def test_franz_go_copies_exactly_once(
    go_program: Path, bootstrap: str, name: str, scenario: str
) -> None:
    seen = seen_by(go_program, scenario, bootstrap, name)
    assert seen == {"values": [str(n) for n in range(10)], "committed": 10}


def type_of_group(bootstrap: str, name: str) -> ConsumerGroupType:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    groups = admin.list_consumer_groups().result()
    return next(group.type for group in groups.valid if group.group_id == name)


def test_sarama_writes_and_reads_every_codec(go_program: Path, bootstrap: str, name: str) -> None:
    create_topic(bootstrap, name)
    seen = seen_by(go_program, "sarama", bootstrap, name)
    assert seen["offsets"] == list(range(25))
    assert seen["values"] == [f"{codec} {n}" for codec in CODECS for n in range(5)]


def test_kafkajs_writes_and_reads_through_a_group(
    node_modules: Path, bootstrap: str, name: str
) -> None:
    scenario = HERE / "node" / "scenario.js"
    seen = seen_by("node", scenario, bootstrap, name, NODE_MODULES=str(node_modules))
    assert seen == {
        "offsets": [0, 3],
        "values": ["0 0", "0 1", "0 2", "1 0", "1 1", "1 2"],
        "committed": 6,
    }
