"""Checkpoints in a store of objects: Hadoop's client of S3 against a gateway that speaks it.

The gateway keeps each object as a file, so that what is in the store can be looked at.
"""

import contextlib
import json
import os
import socket
import subprocess
import sys
import uuid
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from py4j.protocol import Py4JJavaError

from ottla.pipelines.api.app import App
from ottla.pipelines.api.store import TableView
from ottla.pipelines.lifecycle.brokers import create, describe
from ottla.pipelines.planning.topics import NewTopic
from ottla.pipelines.runtime.sessions import session
from ottla.pipelines.runtime.storage import HadoopStorage
from support.brokers import Kind
from support.s3 import SECRET, Gateway, running_gateway
from system.pipelines.struck import SOURCE
from system.pipelines.test_exactly_once import under_fire

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]
PROGRAM = """
import ottla
from ottla.pipelines import json
app = ottla.App("{name}", delivery="exactly_once", parallelism=1, checkpoints="s3a://lake/apps")
numbers = app.stream("{name}-in", value=json("n BIGINT"))
numbers.with_columns(odd="n % 2").group_by("odd").agg({aggregates}).to("{name}-totals")
"""
GONE = 'numbers.group_by("n").count().to("{name}-counts")\n'
PATHS = "spark.hadoop.fs.s3a.path.style.access=true"
# A session that somebody else has made, who knew nothing of Ottla.
OWN_SESSION = """
from pyspark.sql import SparkSession
own = SparkSession.builder.master("local[4]").config("spark.ui.enabled", "false")
own.config("spark.hadoop.fs.s3a.path.style.access", "true").getOrCreate()
"""
RUN = """
with app.run(until_done=True) as running:
    assert running.wait()
"""


def credentials(gateway: Gateway) -> dict[str, str]:
    """The variables that every client of S3 reads."""
    return {
        "AWS_ACCESS_KEY_ID": "me",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_ENDPOINT_URL": gateway.url,
        "AWS_REGION": "us-east-1",
    }


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Gateway]:
    folder = tmp_path / "store"
    folder.mkdir()
    with running_gateway(folder) as running:
        yield running


def away(gateway: Gateway, asked: int = 5) -> None:
    """The store is gone, until it has been missed so often."""
    gateway.kill()
    with socket.create_server(("127.0.0.1", gateway.port)) as instead:
        for _ in range(asked):
            instead.accept()[0].close()
    gateway.start()


class Shop:
    def __init__(self, bootstrap: str, gateway: Gateway, folder: Path) -> None:
        self.name = f"s3-{uuid.uuid4().hex[:6]}"
        self.bootstrap = bootstrap
        self.gateway = gateway
        self.file = folder / "shop.py"
        self.environment = os.environ | credentials(gateway)
        self.environment |= {"PYTHONPATH": str(SOURCE), "OTTLA_BOOTSTRAP": bootstrap}
        self.environment["OTTLA_STATE"] = str(folder / "state")
        self.definition = App(self.name, bootstrap=bootstrap).definition()
        create(self.definition, [NewTopic(f"{self.name}-in", 2)])

    def send(self, numbers: range) -> None:
        producer = Producer({"bootstrap.servers": self.bootstrap})
        for number in numbers:
            producer.produce(f"{self.name}-in", json.dumps({"n": number}), key=str(number))
        assert producer.flush(30) == 0

    def write(self, aggregates: str, more: str = "") -> None:
        text = PROGRAM.format(name=self.name, aggregates=aggregates)
        self.file.write_text(text + more.format(name=self.name))

    def call(self, *words: str, more: tuple[str, ...] = ()) -> str:
        """What a command about the application's file says."""
        done = self.tried("-m", "ottla", *words, "--conf", PATHS, *more, str(self.file))
        assert done.returncode == 0, (done.stdout + done.stderr)[-5000:]
        return done.stdout

    def tried(self, *words: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, *words], env=self.environment, capture_output=True, text=True,
            timeout=400, check=False,
        )  # fmt: skip

    def run(self, *more: str) -> None:
        self.call("run", "--no-ui", "--until-done", more=more)

    def totals(self) -> dict[str, Any]:
        view = TableView(self.name, f"{self.name}-totals", bootstrap=self.bootstrap)
        with contextlib.closing(view):
            return {key: dict(row) for key, row in view.items()}

    def kept(self) -> list[str]:
        """What stands beside each other in the application's folder of the bucket."""
        at = self.gateway.lake / "apps" / self.name / describe(self.definition).id / "1"
        return sorted(one.name for one in at.iterdir())


def test_an_application_goes_on_is_upgraded_and_cleaned(
    driven: str, gateway: Gateway, tmp_path: Path
) -> None:
    shop = Shop(driven, gateway, tmp_path)
    totals, counts = f"{shop.name}-totals", f"{shop.name}-counts"
    shop.write('total="sum(n)"', GONE)
    shop.send(range(100))
    shop.run()
    assert {"manifest.json", "topics.json", totals, counts} <= set(shop.kept())
    shop.send(range(100, 200))
    shop.run()  # goes on: what was counted is not counted again
    assert {key: row["total"] for key, row in shop.totals().items()} == {"0": 9900, "1": 10000}
    shop.write('total="sum(n)", n="count(*)"')
    assert "rebuilt" in shop.call("pipeline", "diff")
    shop.run("--upgrade")
    assert {key: (row["total"], row["n"]) for key, row in shop.totals().items()} == {
        "0": (9900, 100),
        "1": (10000, 100),
    }
    assert {totals, f"{totals}~2", counts} <= set(shop.kept())
    said = shop.call("pipeline", "clean", more=("--yes",))
    assert f"checkpoint {totals}: no stage uses it" in said
    assert f"checkpoint {counts}: no stage uses it" in said
    left = shop.kept()
    assert f"{totals}~2" in left
    assert totals not in left
    assert counts not in left
    assert not list(gateway.lake.rglob("*.tmp"))  # nothing was written beside, to be renamed


def test_in_a_session_that_somebody_else_has_made(
    driven: str, gateway: Gateway, tmp_path: Path
) -> None:
    shop = Shop(driven, gateway, tmp_path)
    shop.write('total="sum(n)"')
    shop.file.write_text(OWN_SESSION + shop.file.read_text() + RUN)
    shop.send(range(100))
    done = shop.tried(str(shop.file))
    assert done.returncode == 0, done.stdout + done.stderr
    assert {key: row["total"] for key, row in shop.totals().items()} == {"0": 2450, "1": 2500}
    assert f"{shop.name}-totals" in shop.kept()


def test_a_store_that_refuses_is_a_sentence(driven: str, gateway: Gateway, tmp_path: Path) -> None:
    shop = Shop(driven, gateway, tmp_path)
    shop.write('total="sum(n)"')
    shop.environment["AWS_SECRET_ACCESS_KEY"] = "a wrong one"
    done = shop.tried("-m", "ottla", "run", "--no-ui", "--conf", PATHS, str(shop.file))
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    [said] = [line for line in done.stderr.splitlines() if line.startswith("ottla: ")]
    assert said.startswith("ottla: s3a://lake/apps does not serve its checkpoints: ")
    assert "AccessDenied" in said


def test_of_two_that_write_the_same_batch_the_store_takes_one(gateway: Gateway) -> None:
    spark: Any = session()
    conf = spark._jsc.hadoopConfiguration()
    lake = "fs.s3a.bucket.lake"
    conf.set(f"{lake}.endpoint", gateway.url)
    conf.set(f"{lake}.endpoint.region", "us-east-1")
    conf.set(f"{lake}.path.style.access", "true")
    conf.set(f"{lake}.access.key", "me")
    conf.set(f"{lake}.secret.key", SECRET)
    storage = HadoopStorage(spark, "s3a://lake/one")
    hadoop = spark._jvm.org.apache.hadoop.fs
    files = spark._jvm.ottla.ObjectCheckpoints(hadoop.Path("s3a://lake/one"), conf)
    batch = hadoop.Path("s3a://lake/one/0")
    first, second = files.createAtomic(batch, False), files.createAtomic(batch, False)
    first.write(bytearray(b"first"))
    second.write(bytearray(b"second"))
    assert storage.read("0") is None  # nothing is there before all is
    first.close()
    with pytest.raises(Py4JJavaError, match="FileAlreadyExistsException"):
        second.close()
    assert storage.read("0") == "first"
    dropped = files.createAtomic(batch, True)
    dropped.write(bytearray(b"dropped"))
    dropped.cancel()
    dropped.close()
    assert storage.read("0") == "first"
    over = files.createAtomic(batch, True)
    over.write(bytearray(b"over"))
    over.close()
    assert storage.read("0") == "over"
    assert storage.list("") == ["0"]


def test_results_are_there_once_whatever_is_killed(
    broker_kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "state"
    store.mkdir()
    with running_gateway(store) as gateway:
        for name, value in credentials(gateway).items():
            monkeypatch.setenv(name, value)
        under_fire(
            broker_kind,
            tmp_path,
            ["driver", "jvm", partial(away, gateway), "broker", "driver"],
            ["--checkpoints", "s3a://lake/fire", "--conf", PATHS],
        )
        assert list((store / "lake" / "fire").glob("**/commits/*"))
