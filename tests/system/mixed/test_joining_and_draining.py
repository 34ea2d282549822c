"""The move of docs/move.md, beside: a broker joins, the old one is emptied, and back."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from support.brokers import BrokerProcess, Kind
from support.homes import Home, free_port

SECONDS_MAX = 90
PARTITIONS = 4
RECORDS = 400

pytestmark = [pytest.mark.java, pytest.mark.timeout(300)]


def ottla(bootstrap: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "ottla", "cluster", *arguments],
        env={**os.environ, "OTTLA_BOOTSTRAP": bootstrap},
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def brokers(bootstrap: str) -> dict[int, Any]:
    state = json.loads(ottla(bootstrap, "status", "--json"))
    assert state["under_replicated"] == []
    return {one["node"]: one for one in state["brokers"]}


def joining(old: Home, path: Path) -> Home:
    """A broker's file that names the controllers; the directory is not formatted."""
    port = free_port()
    settings = {
        "node.id": "2",
        "process.roles": "broker",
        "controller.quorum.voters": f"1@127.0.0.1:{old.controller_port}",
        "listeners": f"PLAINTEXT://127.0.0.1:{port}",
    }
    return Home(path=path, port=port, settings=settings)


def fill(bootstrap: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic("orders", PARTITIONS, 1)])["orders"].result(SECONDS_MAX)
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
    for number in range(RECORDS):
        producer.produce("orders", str(number).encode(), partition=number % PARTITIONS)
    assert producer.flush(SECONDS_MAX) == 0


@pytest.mark.parametrize("old", ["kafka", "ottla"])
def test_a_new_broker_joins_takes_everything_and_is_taken_out_again(
    old: Kind, tmp_path: Path
) -> None:
    first = BrokerProcess(old, Home(path=tmp_path / "old"))
    second = BrokerProcess("ottla", joining(first.home, tmp_path / "new"))
    try:
        first.start()
        fill(first.bootstrap)
        second.start()
        ottla(first.bootstrap, "drain", "1")
        seen = brokers(first.bootstrap)
        assert (seen[1]["replicas"], seen[1]["bytes"]) == (0, 0)
        assert seen[2]["leads"] == PARTITIONS
        assert seen[2]["bytes"] > 0
        ottla(second.bootstrap, "drain", "2")
        second.stop()
        ottla(first.bootstrap, "forget", "2")
        seen = brokers(first.bootstrap)
        assert list(seen) == [1]
        assert seen[1]["leads"] == PARTITIONS
    finally:
        first.discard()
        second.discard()
