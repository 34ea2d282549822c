"""Applications as `ottla run` runs them: live in real time, stopped, started again, replayed."""

import contextlib
import io
import json
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from ottla.pipelines import App, string
from ottla.pipelines import json as json_format
from ottla.pipelines.api.store import TableView
from ottla.pipelines.engine.options import RunOptions
from ottla.pipelines.lifecycle.brokers import create
from ottla.pipelines.lifecycle.running import Runner
from ottla.pipelines.lifecycle.views import Lines
from ottla.pipelines.planning.plan import make_plan
from ottla.pipelines.planning.topics import NewTopic

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]
WITHIN_S = 200.0


class Shop:
    """An application with a filter, a count and a join, under names of its own."""

    def __init__(self, bootstrap: str, folder: Path) -> None:
        self.bootstrap = bootstrap
        self.folder = folder
        self.name = f"shop-{uuid.uuid4().hex[:6]}"
        app = App(self.name, bootstrap=bootstrap)
        orders = app.stream(self.topic("orders"), value=json_format("who STRING, n INT"))
        people = app.table(self.topic("people"), value=json_format("town STRING"))
        orders.filter("n >= 5").to(self.topic("large"))
        orders.group_by("who").agg(total="sum(n)").to(self.topic("totals"))
        orders.key_by("who").left_join(people).to(self.topic("joined"))
        self.app = app
        create(app.definition(), [NewTopic(self.topic(t), 2) for t in ("orders", "people")])
        self.producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})

    def topic(self, name: str) -> str:
        return f"{self.name}-{name}"

    def send(self, topic: str, key: str, value: Any) -> None:
        self.producer.produce(self.topic(topic), json.dumps(value), key=key)
        assert self.producer.flush(30) == 0

    def runner(self, **options: Any) -> Runner:
        chosen = RunOptions(state=self.folder, ui=False, archive=False, **options)
        return Runner(make_plan(self.app.definition()), chosen, Lines(io.StringIO()))

    def total(self) -> int:
        """The newest total of the first customer."""
        return max((row["total"] for row in self.of_ann("totals")), default=0)

    def of_ann(self, topic: str) -> list[Any]:
        return [row for _, row, _ in self.read(topic) if row["who"] == "ann"]

    def read(self, topic: str) -> list[tuple[Any, Any, dict[str, bytes]]]:
        """Everything in the topic: key, value, headers."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": uuid.uuid4().hex,
                "enable.partition.eof": True,
                "isolation.level": "read_committed",
            }
        )
        consumer.assign([TopicPartition(self.topic(topic), p, 0) for p in range(2)])
        rows, left = [], 2
        while left:
            message = consumer.poll(30)
            assert message is not None
            if message.error():
                left -= 1
            else:
                key = (message.key() or b"").decode()
                rows.append(
                    (key, json.loads(message.value() or b"null"), dict(message.headers() or []))
                )
        consumer.close()
        return rows  # type: ignore[return-value]


@contextlib.contextmanager
def live(runner: Runner) -> Iterator[None]:
    """The application runs while the block does, and stops cleanly after it."""
    failed: list[BaseException] = []

    def run() -> None:
        try:
            runner.run()
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        runner.stop()
        thread.join(120)
    assert not thread.is_alive()
    assert not failed, failed


def eventually(condition: Callable[..., bool]) -> None:
    deadline = time.monotonic() + WITHIN_S
    while not condition():
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.3)


def test_a_real_time_application_runs_stops_and_goes_on_where_it_was(
    driven: str, tmp_path: Path
) -> None:
    shop = Shop(driven, tmp_path)
    plan = make_plan(shop.app.definition())
    assert {stage.mode for stage in plan.stages if not stage.only_dead} == {"real-time"}
    shop.send("people", "ann", {"town": "Prague"})
    for number in range(10):
        shop.send("orders", f"o{number}", {"who": "ann", "n": number})
    runner = shop.runner()
    with live(runner):
        eventually(lambda: len(shop.read("large")) == 5)
        eventually(lambda: len(shop.read("joined")) == 10)
        eventually(lambda: shop.total() == 45)
        eventually(lambda: committed(shop) == 10)
        shop.producer.produce(shop.topic("orders"), b"no JSON", key="bad")
        eventually(lambda: sum(runner.status.dead.values()) == 1)
        eventually(lambda: sees_latency(shop, runner))
        assert not runner.status.failures
    assert {row["town"] for row in shop.of_ann("joined")} == {"Prague"}
    assert all(b"orders" in row[2]["ottla.topic"] for row in shop.read("large"))
    shop.send("orders", "o10", {"who": "ann", "n": 10})
    with live(shop.runner()):
        eventually(lambda: shop.total() == 55)
        eventually(lambda: len(shop.of_ann("joined")) >= 11)
    # It stopped at a batch's boundary, so nothing was done twice.
    assert sorted(row["n"] for row in shop.of_ann("joined")) == list(range(11))
    with contextlib.closing(TableView(shop.name, shop.topic("totals"), bootstrap=driven)) as view:
        assert view["ann"] == {"who": "ann", "total": 55}


def sees_latency(shop: Shop, runner: Runner) -> bool:
    """A record more, until one was caught on its way out: it took less than a second."""
    shop.send("orders", "seen", {"who": "zoe", "n": 7})
    found = runner.status.latencies_ms.get(shop.topic("large"))
    return found is not None and 0 <= found < 1000


def committed(shop: Shop) -> int:
    consumer = Consumer({"bootstrap.servers": shop.bootstrap, "group.id": shop.name})
    places = consumer.committed([TopicPartition(shop.topic("orders"), p) for p in range(2)], 30)
    consumer.close()
    return sum(max(0, place.offset) for place in places)


def test_a_replay_writes_the_same_results_beside_the_old_ones(driven: str, tmp_path: Path) -> None:
    name = f"words-{uuid.uuid4().hex[:6]}"
    app = App(name, bootstrap=driven)
    lines = app.stream(f"{name}-lines", value=string())
    lines.explode("split(value, ' ')", "word").group_by("word").count().to(f"{name}-counts")
    create(app.definition(), [NewTopic(f"{name}-lines", 1)])
    producer = Producer({"bootstrap.servers": driven})
    for line in ("to be or not to be", "that is the question", "to be"):
        producer.produce(f"{name}-lines", line)
    assert producer.flush(30) == 0
    for replay in (False, True):
        options = RunOptions(
            state=tmp_path, ui=False, archive=False, until_done=True, replay=replay
        )
        Runner(make_plan(app.definition()), options, Lines(io.StringIO())).run()
    views = [
        TableView(name, topic, bootstrap=driven)
        for topic in (f"{name}-counts", f"{name}-counts-v2")
    ]
    assert views[0]["be"] == {"word": "be", "count": 3}
    assert dict(views[0]) == dict(views[1])
    for view in views:
        view.close()


def test_a_stage_that_fails_starts_again(driven: str, tmp_path: Path) -> None:
    marker = tmp_path / "mended"
    name = f"fragile-{uuid.uuid4().hex[:6]}"
    app = App(name, bootstrap=driven)

    def fragile(row: dict[str, Any]) -> dict[str, Any]:
        if not marker.exists():
            raise ValueError("the disk is not there yet")
        return {"value": row["value"].upper()}

    app.stream(f"{name}-in", value=string()).map(fragile, "value STRING").to(f"{name}-out")
    create(app.definition(), [NewTopic(f"{name}-in", 1)])
    producer = Producer({"bootstrap.servers": driven})
    producer.produce(f"{name}-in", "hello", key="k")
    assert producer.flush(30) == 0
    options = RunOptions(state=tmp_path / "state", ui=False, archive=False)
    runner = Runner(make_plan(app.definition()), options, Lines(io.StringIO()))
    with live(runner):
        eventually(lambda: "the disk is not there yet" in " ".join(runner.status.failures.values()))
        marker.touch()
        view = TableView(name, f"{name}-out", bootstrap=driven)

        def arrived() -> bool:
            view.refresh()
            return view.get("k") == "HELLO"

        eventually(arrived)
        view.close()
