"""Applications that change between two runs, on Spark: what goes on, what is refused, what is
rebuilt, and that the results are those of a run from the beginning."""

import contextlib
import io
import json
import random
import uuid
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from ottla.errors import OttlaError
from ottla.pipelines import App
from ottla.pipelines import json as json_format
from ottla.pipelines.cleaning import find_leftovers, remove
from ottla.pipelines.plan import make_plan
from ottla.pipelines.running import Runner, RunOptions
from ottla.pipelines.state import Generations, State
from ottla.pipelines.storage import LocalStorage
from ottla.pipelines.streams import Stream
from ottla.pipelines.topics import NewTopic, connect, create, describe
from ottla.pipelines.views import Lines

pytestmark = pytest.mark.timeout(600)
Build = Callable[[Stream, Callable[[str], str]], None]
WITHIN_S = 200.0


class Shop:
    """An application of which there are many versions, each a function of its one stream."""

    def __init__(self, bootstrap: str, folder: Path) -> None:
        self.bootstrap = bootstrap
        self.folder = folder
        self.name = f"shop-{uuid.uuid4().hex[:6]}"
        self.sent: list[dict[str, Any]] = []
        self.said = io.StringIO()
        create(self.app(lambda *_: None).definition(), [NewTopic(self.topic("in"), 2)])
        self.producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5})

    def topic(self, name: str) -> str:
        return f"{self.name}-{name}"

    def app(self, build: Build) -> App:
        app = App(self.name, bootstrap=self.bootstrap, parallelism=1, delivery="exactly_once")
        rows = app.stream(self.topic("in"), value=json_format("who STRING, town STRING, n BIGINT"))
        build(rows, self.topic)
        return app

    def send(self, count: int, seed: int = 1) -> None:
        chance = random.Random(seed)
        for _ in range(count):
            row = {
                "who": chance.choice("abcdef"),
                "town": chance.choice(["x", "y"]),
                "n": chance.randrange(100),
            }
            self.sent.append(row)
            self.producer.produce(self.topic("in"), json.dumps(row), key=row["who"])
        assert self.producer.flush(30) == 0

    def runner(self, build: Build, **options: Any) -> Runner:
        chosen = RunOptions(state=self.folder, ui=False, archive=False, **options)
        return Runner(make_plan(self.app(build).definition()), chosen, Lines(self.said))

    def run(self, build: Build, **options: Any) -> None:
        self.runner(build, until_done=True, **options).run()

    def state(self) -> State:
        cluster = describe(self.app(lambda *_: None).definition()).id
        return Generations(LocalStorage(self.folder), self.name, cluster).current()

    def rows(self, topic: str) -> list[tuple[str, Any]]:
        """Everything that was committed to a topic, in order within its partitions."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": uuid.uuid4().hex,
                "enable.partition.eof": True,
                "isolation.level": "read_committed",
            }
        )
        with contextlib.closing(consumer):
            name = self.topic(topic)
            parts = consumer.list_topics(name, timeout=30).topics[name].partitions
            consumer.assign([TopicPartition(name, p, 0) for p in parts])
            found, left = [], len(parts)
            while left:
                message = consumer.poll(30)
                assert message is not None
                if message.error():
                    left -= 1
                    continue
                key: Any = message.key() or b""
                found.append((key.decode(), json.loads(message.value() or b"null")))
            return found

    def table(self, topic: str) -> dict[str, Any]:
        latest = dict(self.rows(topic))
        return {key: row for key, row in latest.items() if row is not None}

    def sums(self, by: str) -> dict[str, int]:
        found: Counter[str] = Counter()
        for row in self.sent:
            found[row[by]] += row["n"]
        return dict(found)


def totals(by: str, aggregate: str = "sum(n)") -> Build:
    def build(rows: Stream, topic: Callable[[str], str]) -> None:
        rows.group_by(by).agg(total=aggregate).to(topic("totals"))

    return build


def both(*builds: Build) -> Build:
    def build(rows: Stream, topic: Callable[[str], str]) -> None:
        for each in builds:
            each(rows, topic)

    return build


def large(rows: Stream, topic: Callable[[str], str]) -> None:
    rows.filter("n >= 50").to(topic("large"))


def histogram(rows: Stream, topic: Callable[[str], str]) -> None:
    """Two states, one behind the other: an intermediate topic lies between."""
    counts = rows.group_by("who").count()
    counts.changes().group_by("count").agg(times="count(*)").to(topic("histogram"))


def of_column(table: dict[str, Any], column: str) -> dict[str, Any]:
    return {key: row[column] for key, row in table.items()}


def test_an_application_is_changed_while_it_lives(driven: str, tmp_path: Path) -> None:
    shop = Shop(driven, tmp_path)
    shop.send(50, seed=1)
    shop.run(both(large, totals("who")))
    shop.send(50, seed=2)
    # A line above, and a filter that is another: what stood there goes on, each row once.
    shop.run(both(histogram, large, totals("who")))
    assert of_column(shop.table("totals"), "total") == shop.sums("who")
    expected = Counter(row["n"] for row in shop.sent if row["n"] >= 50)
    assert Counter(row["n"] for _, row in shop.rows("large")) == expected
    # Another key would mix two kinds of sums.
    with pytest.raises(OttlaError, match=r"its keys was who and is town.*--upgrade"):
        shop.run(both(large, totals("town")))
    assert of_column(shop.table("totals"), "total") == shop.sums("who")
    shop.send(50, seed=3)
    shop.run(both(large, totals("town")), upgrade=True)
    assert of_column(shop.table("totals"), "total") == shop.sums("town")
    expected = Counter(row["n"] for row in shop.sent if row["n"] >= 50)
    assert Counter(row["n"] for _, row in shop.rows("large")) == expected
    shop.send(20, seed=4)
    shop.run(both(large, totals("town")))
    assert of_column(shop.table("totals"), "total") == shop.sums("town")
    # What is no longer used is named, and removed when that is wished.
    application = shop.app(both(large, totals("town"))).definition()
    left = find_leftovers(application, shop.state())
    assert set(left.checkpoints) >= {shop.topic("totals"), shop.topic("histogram")}
    assert len(left.topics) == 1
    remove(application, shop.state(), left)
    assert not find_leftovers(application, shop.state())
    topics = connect(application).list_topics(timeout=30).topics
    assert not any("rebuild" in name for name in topics if name.startswith(shop.name))
    shop.send(20, seed=5)
    shop.run(both(large, totals("town")))
    assert of_column(shop.table("totals"), "total") == shop.sums("town")
