"""The same application on executors that are processes of their own: two ways to have a cluster."""

import contextlib
import json
import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest
from confluent_kafka import Producer

from ottla.pipelines.api.app import App
from ottla.pipelines.api.store import TableView
from ottla.pipelines.lifecycle.brokers import create
from ottla.pipelines.planning.topics import NewTopic
from support.spark_cluster import standalone

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]
SOURCE = Path(__file__).parents[3] / "src"
PROGRAM = """
import ottla
from ottla.pipelines import json
from shop_rules import squared
app = ottla.App("{name}", delivery="exactly_once")
numbers = app.stream("{name}-in", value=json("n BIGINT"))
squares = numbers.map(lambda row: row | {{"square": squared(row["n"])}}, "n BIGINT, square BIGINT")
squares.key_by("n").to("{name}-squares")
numbers.with_columns(odd="n % 2").group_by("odd").agg(total="sum(n)").to("{name}-totals")
"""


@pytest.mark.parametrize("kind", ["local-cluster", "standalone"])
def test_results_are_the_same_on_a_cluster(driven: str, tmp_path: Path, kind: str) -> None:
    name = f"cluster-{uuid.uuid4().hex[:6]}"
    create(App(name, bootstrap=driven).definition(), [NewTopic(f"{name}-in", 2)])
    producer = Producer({"bootstrap.servers": driven})
    for number in range(100):
        producer.produce(f"{name}-in", json.dumps({"n": number}), key=str(number))
    assert producer.flush(30) == 0
    file = tmp_path / "program.py"
    file.write_text(PROGRAM.format(name=name))
    # A module beside it, which executors cannot import from where they run.
    (tmp_path / "shop_rules.py").write_text("def squared(n):\n    return n**2\n")
    environment = os.environ | {
        "PYTHONPATH": str(SOURCE),
        "OTTLA_BOOTSTRAP": driven,
        "OTTLA_STATE": str(tmp_path / "state"),
    }
    cluster = standalone(tmp_path) if kind == "standalone" else contextlib.nullcontext()
    with cluster as address:
        command = [sys.executable, "-m", "ottla", "run", "--no-ui", "--until-done"]
        command += ["--master", address or "local-cluster[2,1,1024]", str(file)]
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=400, check=False
        )
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-1000:]
    with contextlib.closing(TableView(name, f"{name}-squares", bootstrap=driven)) as squares:
        assert {int(key): row["square"] for key, row in squares.items()} == {
            number: number**2 for number in range(100)
        }
    with contextlib.closing(TableView(name, f"{name}-totals", bootstrap=driven)) as totals:
        assert {key: row["total"] for key, row in totals.items()} == {"0": 2450, "1": 2500}
