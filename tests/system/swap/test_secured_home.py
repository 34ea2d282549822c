"""A directory that `--secure` wrote, begun by either broker and taken over by the other."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from ottla.cli.local_cluster import lay_out
from ottla.client.connection import read_connection
from ottla.client.files import LIBRDKAFKA
from support.brokers import Kind, die_with_parent
from support.class_data import brief_java
from support.confluent import wait_until
from support.jars import class_path

pytestmark = [pytest.mark.java, pytest.mark.long, pytest.mark.timeout(300)]
SECONDS = 60


@contextlib.contextmanager
def running(kind: Kind, file: Path, config: dict[str, Any]) -> Iterator[None]:
    commands = {
        "kafka": [*brief_java(), "-cp", class_path(), "kafka.Kafka", str(file)],
        "ottla": [sys.executable, "-m", "ottla", "start", str(file)],
    }
    with (file.parent / f"{kind}.log").open("ab") as log:
        process = subprocess.Popen(
            commands[kind], stdout=log, stderr=log, cwd=file.parent, preexec_fn=die_with_parent
        )

    def serves() -> bool:
        assert process.poll() is None, (file.parent / f"{kind}.log").read_text()[-3000:]
        with contextlib.suppress(KafkaException):
            return bool(AdminClient({**config, "log_level": 0}).list_topics(timeout=2).brokers)
        return False

    try:
        wait_until(serves, SECONDS)
        yield
        process.send_signal(signal.SIGTERM)
        process.wait(SECONDS)
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("order", [("ottla", "kafka", "ottla"), ("kafka", "ottla", "kafka")])
def test_the_first_user_comes_in_whoever_serves(order: tuple[Kind, ...], tmp_path: Path) -> None:
    (file,) = lay_out(tmp_path / "c", 1, None, secure=True)
    clients = tmp_path / "c" / "secure" / "clients" / "admin" / LIBRDKAFKA
    said = read_connection(file=clients, environ=os.environ | {"OTTLA_CLIENT_CONFIG": ""})
    config: dict[str, Any] = {"bootstrap.servers": said.bootstrap, **said.librdkafka()}
    for turn, kind in enumerate(order):
        with running(kind, file, config):
            producer = Producer(config)
            producer.produce("t", str(turn))
            assert producer.flush(SECONDS) == 0
            group = {"group.id": f"g{turn}", "auto.offset.reset": "earliest"}
            consumer = Consumer({**config, **group})
            consumer.subscribe(["t"])
            values = [int(one.value() or b"") for one in consumer.consume(turn + 1, SECONDS)]
            consumer.close()
            assert values == list(range(turn + 1))
