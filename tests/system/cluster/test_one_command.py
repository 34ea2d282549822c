"""`ottla cluster DIR --secure`: nodes that know each other by certificates, and a first user."""

import os
import signal
import stat
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from ottla.client.cluster import Cluster
from ottla.client.connection import read_connection
from ottla.client.files import LIBRDKAFKA
from support.confluent import wait_until
from support.supervised import running

SECONDS_MAX = 60
RECORDS = 100

pytestmark = pytest.mark.timeout(180)


def write(config: dict[str, Any], values: range) -> None:
    producer = Producer({**config, "enable.idempotence": True})
    for value in values:
        producer.produce("t", str(value))
    assert producer.flush(SECONDS_MAX) == 0


def read(config: dict[str, Any], count: int) -> list[int]:
    consumer = Consumer({"group.id": "g", **config, "auto.offset.reset": "earliest"})
    consumer.subscribe(["t"])
    values = [int(message.value() or b"") for message in consumer.consume(count, SECONDS_MAX)]
    consumer.close()
    return values


def test_a_secured_cluster_outlives_its_controller_and_a_stop(tmp_path: Path) -> None:
    home = tmp_path / "c"
    file = home / "secure" / "clients" / "admin" / LIBRDKAFKA
    with running("cluster", str(home), "--secure", "--nodes", "3") as first:
        said = read_connection(file=file, environ={})
        config: dict[str, Any] = {"bootstrap.servers": said.bootstrap, **said.librdkafka()}
        assert config["bootstrap.servers"] == first.bootstrap
        admin = AdminClient(config)
        admin.create_topics([NewTopic("t", 1, 3)])["t"].result(SECONDS_MAX)
        write(config, range(RECORDS))
        quorum = Cluster(said).state().quorum
        assert quorum is not None
        active = quorum.leader
        victim = first.child(f"node{active}/")
        assert victim is not None
        os.kill(victim, signal.SIGKILL)
        write(config, range(RECORDS, 2 * RECORDS))
        wait_until(lambda: first.child(f"node{active}/") not in (None, victim), SECONDS_MAX)
        assert read(config, 2 * RECORDS) == list(range(2 * RECORDS))
    with running("cluster", str(home)) as second:  # what was begun as secured stays so
        assert second.bootstrap == first.bootstrap
        assert read({**config, "group.id": "again"}, RECORDS) == list(range(RECORDS))
    for path in home.rglob("*.pem"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
