"""An application over SASL_SSL, killed, begun again, replayed: each row once, its password nowhere.

By a file of client properties, at Ottla and (`--broker kafka`) at Apache Kafka.
"""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import urllib.request
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from ottla.config.properties import render_properties
from support.brokers import Kind
from support.confluent import wait_until
from support.secured import SCRAM_MODULE, running_secured

pytestmark = [pytest.mark.long, pytest.mark.timeout(500)]
SECONDS, STARTS_WITHIN_S = 30, 240
ORDERS = 100
USER, PASSWORD = "shop", "grep-me-Zwq81"
PROGRAM = """
from ottla.pipelines import App, json

app = App("shop", client={file!r}, delivery="exactly_once")
orders = app.stream("orders", value=json("who STRING, n INT"))
orders.filter("n >= 5").to("large")
orders.group_by("who").agg(total="sum(n)").to("totals")
"""
UI_PAGES = ("environment", "jobs", "api/v1/applications")


class Shop:
    """The application, by its file, and the clients beside it."""

    def __init__(self, config: dict[str, Any], work: Path) -> None:
        self.config = config
        self.work = work
        self.log = work / "run.log"

    def send(self, first: int) -> None:
        producer = Producer(self.config)
        for n in range(first, first + ORDERS):
            producer.produce("orders", json.dumps({"who": "ann", "n": n % 10}))
        assert producer.flush(SECONDS) == 0

    def large(self, count: int, topic: str = "large") -> list[int]:
        """What was committed of it: so many, and no more behind them."""
        consumer = Consumer(
            {**self.config, "group.id": uuid.uuid4().hex, "auto.offset.reset": "earliest"}
            | {"isolation.level": "read_committed"}
        )
        consumer.subscribe([topic])
        read = consumer.consume(count, SECONDS) + consumer.consume(1, 2)
        consumer.close()
        return sorted(json.loads(one.value() or b"")["n"] for one in read if not one.error())

    def start(self, *options: str) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "ottla", "run", *options, "program.py"],
                cwd=self.work,
                env={**os.environ, "OTTLA_STATE": str(self.work / "state")},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def pages(self) -> str:
        """What Spark's own page shows of it."""
        found = re.search(r"Spark's own page: (\S+)", self.log.read_text())
        assert found is not None
        shown = ""
        for page in UI_PAGES:
            with urllib.request.urlopen(f"{found[1]}/{page}", timeout=SECONDS) as answer:
                shown += answer.read().decode(errors="replace")
        return shown


@pytest.fixture
def shop(broker_kind: Kind, tmp_path: Path) -> Iterator[Shop]:
    work = tmp_path / "work"
    work.mkdir()
    more = {"super.users": f"User:ANONYMOUS;User:{USER}"}
    with running_secured(broker_kind, tmp_path / "node", more) as secured:
        secured.add_user(USER, PASSWORD)
        trusted = tmp_path / "node" / "trusted.pem"
        file = tmp_path / "client.properties"
        options = {
            "bootstrap.servers": secured.encrypted,
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-256",
            "sasl.jaas.config": f'{SCRAM_MODULE} required username="{USER}" password="{PASSWORD}";',
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(trusted),
        }
        file.write_text(render_properties(options, about="a client"))
        (work / "program.py").write_text(PROGRAM.format(file=str(file)))
        config: dict[str, Any] = {
            "bootstrap.servers": secured.encrypted,
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-256",
            "sasl.username": USER,
            "sasl.password": PASSWORD,
            "ssl.ca.location": str(trusted),
        }
        admin = AdminClient(config)
        admin.create_topics([NewTopic("orders", 2, 1)])["orders"].result(SECONDS)
        yield Shop(config, work)


@contextlib.contextmanager
def arguments_of_all() -> Iterator[set[str]]:
    """What `ps` shows meanwhile, of every process."""
    seen: set[str] = set()
    done = threading.Event()

    def look() -> None:
        while not done.wait(0.2):
            for path in Path("/proc").glob("[0-9]*/cmdline"):
                with contextlib.suppress(OSError):
                    seen.add(path.read_bytes().decode(errors="replace"))

    watch = threading.Thread(target=look)
    watch.start()
    try:
        yield seen
    finally:
        done.set()
        watch.join()


def files_under(folder: Path) -> Iterator[bytes]:
    for path in folder.rglob("*"):
        if path.is_file():
            yield path.read_bytes()


def test_rows_pass_once_whoever_is_killed_and_the_password_is_found_nowhere(shop: Shop) -> None:
    shop.send(0)
    with arguments_of_all() as seen:
        running = shop.start()
        try:
            wait_until(lambda: len(shop.large(1)) > 0, STARTS_WITHIN_S)
            shown = shop.pages()
            shop.send(ORDERS)
        finally:
            os.killpg(running.pid, signal.SIGKILL)
            running.wait()
        for more in ([], ["--replay"]):
            again = shop.start("--until-done", "--no-ui", *more)
            assert again.wait(STARTS_WITHIN_S) == 0, shop.log.read_text()[-3000:]
    wanted = sorted(n % 10 for n in range(2 * ORDERS) if n % 10 >= 5)
    assert shop.large(len(wanted)) == wanted
    assert shop.large(len(wanted), "large-v2") == wanted
    assert "shop" in shown
    assert PASSWORD not in shown
    assert PASSWORD not in "".join(seen)
    for text in files_under(shop.work):
        assert PASSWORD.encode() not in text
