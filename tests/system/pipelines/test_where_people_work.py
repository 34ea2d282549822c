"""The same application from a shell, a script, spark-submit, a notebook and a cluster of two
workers: the same results."""

import contextlib
import json
import os
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from ottla.pipelines.api.app import App
from ottla.pipelines.api.store import TableView
from ottla.pipelines.lifecycle.brokers import create
from ottla.pipelines.lifecycle.state import Generations, State
from ottla.pipelines.planning.manifest import Manifest
from ottla.pipelines.planning.topics import NewTopic
from ottla.pipelines.runtime.java import find_java
from ottla.pipelines.runtime.sessions import session
from ottla.pipelines.runtime.storage import HadoopStorage
from support.hdfs import running_hdfs
from support.spark_cluster import standalone
from system.pipelines.struck import reading

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]
SOURCE = Path(__file__).parents[3] / "src"
PROGRAM = """
import ottla
from ottla.pipelines import json
app = ottla.App("{name}", delivery="exactly_once", parallelism=1)
numbers = app.stream("{name}-in", value=json("n BIGINT"))
squares = numbers.map(lambda row: row | {{"square": row["n"] ** 2}}, "n BIGINT, square BIGINT")
squares.key_by("n").to("{name}-squares")
numbers.with_columns(odd="n % 2").group_by("odd").agg(total="sum(n)").to("{name}-totals")
"""
RUN = """
if __name__ == "__main__":
    with app.run(until_done=True) as running:
        assert running.wait()
"""
# A session that the notebook had already, made by nobody who knew of Ottla.
OWN_SESSION = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[4]").config("spark.ui.enabled", "false").getOrCreate()
assert spark.range(3).count() == 3
"""

OTTLAS_SESSION = """
import ottla
spark = ottla.spark_session("notebook", conf={"spark.sql.files.maxPartitionBytes": "64m"})
assert spark.conf.get("spark.sql.files.maxPartitionBytes") == "64m"
"""


class Place:
    def __init__(self, bootstrap: str, folder: Path) -> None:
        self.name = f"place-{uuid.uuid4().hex[:6]}"
        self.bootstrap = bootstrap
        self.folder = folder
        create(App(self.name, bootstrap=bootstrap).definition(), [NewTopic(f"{self.name}-in", 2)])
        producer = Producer({"bootstrap.servers": bootstrap})
        for number in range(100):
            producer.produce(f"{self.name}-in", json.dumps({"n": number}), key=str(number))
        assert producer.flush(30) == 0
        self.program = PROGRAM.format(name=self.name)
        self.environment = os.environ | {
            "PYTHONPATH": os.pathsep.join((str(SOURCE), os.environ.get("PYTHONPATH", ""))),
            "OTTLA_BOOTSTRAP": bootstrap,
            "OTTLA_STATE": str(folder / "state"),
        }

    def file(self, text: str) -> str:
        path = self.folder / "program.py"
        path.write_text(text)
        return str(path)

    def call(self, *command: str) -> None:
        done = subprocess.run(
            command, env=self.environment, capture_output=True, text=True, timeout=500, check=False
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]


@pytest.fixture
def place(driven: str, tmp_path: Path) -> Iterator[Place]:
    """Somewhere to run; afterwards the results are looked at."""
    chosen = Place(driven, tmp_path)
    yield chosen
    squares = TableView(chosen.name, f"{chosen.name}-squares", bootstrap=driven)
    totals = TableView(chosen.name, f"{chosen.name}-totals", bootstrap=driven)
    with contextlib.closing(squares), contextlib.closing(totals):
        assert {int(key): row["square"] for key, row in squares.items()} == {
            number: number**2 for number in range(100)
        }
        assert {key: row["total"] for key, row in totals.items()} == {"0": 2450, "1": 2500}


def test_from_a_shell_with_settings_of_ones_own(place: Place) -> None:
    place.call(
        sys.executable, "-m", "ottla", "run", "--no-ui", "--until-done",
        "--checkpoints", f"file://{place.folder}/checkpoints", "--driver-memory", "900m",
        "--conf", "spark.sql.streaming.minBatchesToRetain=7", place.file(place.program),
    )  # fmt: skip
    assert list((place.folder / "checkpoints" / place.name).glob("*/1/manifest.json"))


def test_as_a_script(place: Place) -> None:
    place.call(sys.executable, place.file(place.program + RUN))


def test_by_spark_submit(place: Place) -> None:
    import pyspark

    home = Path(pyspark.__file__).parent
    place.environment |= {"JAVA_HOME": str(find_java()), "PYSPARK_PYTHON": sys.executable}
    place.call(
        str(home / "bin" / "spark-submit"), "--master", "local[4]",
        "--conf", "spark.ui.enabled=false", place.file(place.program + RUN),
    )  # fmt: skip


@pytest.mark.parametrize(
    "session", ["", OWN_SESSION, OTTLAS_SESSION], ids=["none", "own", "ottlas"]
)
def test_in_a_notebook(place: Place, session: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import nbformat
    from nbclient import NotebookClient

    for name, value in place.environment.items():
        monkeypatch.setenv(name, value)
    run = "with app.run(until_done=True) as running:\n    running.wait()\nrunning"
    sources = [session, place.program, "app.explain()", run]
    cells = [nbformat.v4.new_code_cell(source) for source in sources if source]
    notebook = nbformat.v4.new_notebook(cells=cells)
    NotebookClient(
        notebook, timeout=400, resources={"metadata": {"path": str(place.folder)}}
    ).execute()
    shown = json.dumps([cell["outputs"] for cell in notebook.cells])
    assert "text/html" in shown
    assert f"{place.name}-totals" in shown


def test_with_checkpoints_in_hdfs(place: Place, tmp_path_factory: pytest.TempPathFactory) -> None:
    with running_hdfs(tmp_path_factory.mktemp("hdfs")) as hdfs:
        for _ in range(2):  # the second time it goes on where it was, and nothing is there twice
            place.call(
                sys.executable, "-m", "ottla", "run", "--no-ui", "--until-done",
                "--checkpoints", f"{hdfs.url}/ottla", place.file(place.program),
            )  # fmt: skip
        storage = HadoopStorage(session(), f"{hdfs.url}/ottla")
        [cluster] = storage.list(place.name)
        state = Generations(storage, place.name, cluster).current()
        assert sorted(state.checkpoints()) == [f"{place.name}-squares", f"{place.name}-totals"]
        manifest = state.manifest()
        assert manifest is not None
        missed = look_while(state, partial(save_often, state, manifest))
    assert missed == 0
    consumer = reading(place.bootstrap)
    with contextlib.closing(consumer):
        assert count(consumer, f"{place.name}-squares") == 100


def save_often(state: State, manifest: Manifest) -> None:
    for _ in range(30):
        state.save(manifest)


def look_while(state: State, work: Callable[[], object]) -> int:
    """How often there was no manifest while the work was done."""
    done, missed = threading.Event(), 0

    def look() -> None:
        nonlocal missed
        while not done.is_set():
            missed += state.manifest() is None

    looking = threading.Thread(target=look)
    looking.start()
    try:
        work()
    finally:
        done.set()
        looking.join()
    return missed


def count(consumer: Consumer, topic: str) -> int:
    """Committed records of a topic."""
    places = consumer.list_topics(topic, timeout=10).topics[topic].partitions
    consumer.assign([TopicPartition(topic, place, 0) for place in places])
    found, left = 0, len(places)
    while left:
        message = consumer.poll(10)
        assert message is not None
        if message.error():
            left -= 1
        else:
            found += 1
    return found


def test_on_a_cluster_of_two_workers(place: Place, tmp_path: Path) -> None:
    with standalone(tmp_path, workers=2) as address:
        place.call(
            sys.executable, "-m", "ottla", "run", "--no-ui", "--until-done",
            "--master", address, place.file(place.program),
        )  # fmt: skip
