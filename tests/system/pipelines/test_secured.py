"""An application against a secured node: by a file of client properties, its password nowhere."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from ottla import Node
from ottla.client.files import JAVA

pytestmark = [pytest.mark.long, pytest.mark.timeout(400)]
SECONDS = 30
ORDERS = 100
PROGRAM = """
from ottla.pipelines import App, json

app = App("shop", client={file!r})
orders = app.stream("orders", value=json("who STRING, n INT"))
orders.filter("n >= 5").to("large")
orders.group_by("who").agg(total="sum(n)").to("totals")
"""


def arguments_of_all(seen: set[str], done: threading.Event) -> None:
    """What `ps` shows while the application runs, of every process."""
    while not done.wait(0.2):
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                seen.add(path.read_bytes().decode(errors="replace"))
            except OSError:
                continue


def files_under(folder: Path) -> Iterator[bytes]:
    for path in folder.rglob("*"):
        if path.is_file():
            yield path.read_bytes()


def test_rows_pass_through_and_the_password_is_found_nowhere(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    with Node(secure=True, data=tmp_path / "home") as node:
        config = node.client_config()
        admin = AdminClient(config)
        admin.create_topics([NewTopic("orders", 2, 1)])["orders"].result(SECONDS)
        producer = Producer(config)
        for n in range(ORDERS):
            producer.produce("orders", json.dumps({"who": "ann", "n": n % 10}))
        assert producer.flush(SECONDS) == 0
        file = node.data / "secure" / "clients" / "admin" / JAVA
        (work / "program.py").write_text(PROGRAM.format(file=str(file)))
        seen: set[str] = set()
        done = threading.Event()
        watch = threading.Thread(target=arguments_of_all, args=(seen, done))
        watch.start()
        try:
            ran = subprocess.run(
                [sys.executable, "-m", "ottla", "run", "--no-ui", "--until-done", "program.py"],
                cwd=work,
                env={**os.environ, "OTTLA_STATE": str(work / "state")},
                capture_output=True,
                timeout=300,
            )
        finally:
            done.set()
            watch.join()
        assert ran.returncode == 0, ran.stderr.decode()[-3000:]
        consumer = Consumer(
            {**config, "group.id": "g", "auto.offset.reset": "earliest", "enable.partition.eof": 0}
        )
        consumer.subscribe(["large"])
        large = consumer.consume(ORDERS // 2, SECONDS)
        consumer.close()
        assert sorted(json.loads(one.value() or b"")["n"] for one in large) == sorted(
            n % 10 for n in range(ORDERS) if n % 10 >= 5
        )
        password = str(config["sasl.password"])
    assert password not in "".join(seen)
    for text in (ran.stdout, ran.stderr, *files_under(work)):
        assert password.encode() not in text
