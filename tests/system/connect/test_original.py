"""Kafka Connect itself beside workers of Ottla: one group, the same topics, never both at once."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from ottla.testing.connect import Connect
from support.confluent import read, wait_until
from support.connect_workers import LocalWorker
from system.connect.asking import answers, ask, difference, until
from system.connect.original import Original
from system.connect.requests import Step, delete, get, post, put, sink, source, table

pytestmark = [pytest.mark.long, pytest.mark.timeout(400)]


@pytest.fixture
def folder(tmp_path: Path) -> str:
    (tmp_path / "in.txt").write_text("1\n2\n3\n")
    return str(tmp_path)


def test_every_request_is_answered_alike_in_one_run(bootstrap: str, folder: str) -> None:
    with Original(bootstrap) as connect:
        theirs = list(answers(connect.url, table(folder), folder))
    with LocalWorker(bootstrap) as worker:
        ours = list(answers(worker.url, table(folder), folder))
    for (request, expected), (_, found) in zip(theirs, ours, strict=True):
        assert difference(expected, found) is None, request


def test_while_one_kind_runs_the_other_is_refused_in_a_sentence(bootstrap: str) -> None:
    with Original(bootstrap) as connect:
        refused = LocalWorker(bootstrap, connect.options)
        with refused:
            refused.wait(60)
        assert refused.ended is not None
        assert "is in use by workers of Kafka Connect" in refused.ended
        assert ask(connect.url, get("/connectors")).status == 200
    with LocalWorker(bootstrap) as worker:
        connect = Original(bootstrap, worker.options)
        connect.launch()
        assert connect.process is not None
        connect.process.wait(150)
        assert "INCONSISTENT_GROUP_PROTOCOL" in connect.log or "inconsistent" in connect.log.lower()
        assert ask(worker.url, get("/health")).status == 200


def life(folder: str) -> Iterator[Step]:
    """What leaves records of every kind."""
    yield post("/connectors", {"name": "src", "config": source(folder)})
    yield put("/connectors/src/pause", src="RUNNING", src_0="RUNNING")
    yield put("/connectors/src/resume", src="PAUSED", src_0="PAUSED")
    yield put("/connectors/snk/config", sink(folder), src="RUNNING", src_0="RUNNING")
    yield post("/connectors/src/restart?includeTasks=true", snk_0="RUNNING", snk_1="RUNNING")
    yield put("/connectors/src/stop", src="RUNNING", src_0="RUNNING")
    offset = {"partition": {"filename": f"{folder}/in.txt"}, "offset": {"position": 2}}
    yield Step("PATCH", "/connectors/src/offsets", {"offsets": [offset]}, first={"src": "STOPPED"})
    yield delete("/connectors/snk")
    yield put("/connectors/src/resume")
    yield get("/connectors/src/status", src="RUNNING", src_0="RUNNING")


def test_the_topics_hold_the_same_bytes(bootstrap: str, folder: str) -> None:
    with Original(bootstrap) as connect:
        for _ in answers(connect.url, life(folder), folder):
            continue
        theirs = latest(bootstrap, connect.options)
    with LocalWorker(bootstrap) as worker:
        for _ in answers(worker.url, life(folder), folder):
            continue
        ours = latest(bootstrap, worker.options)
    theirs.pop(b"session-key", None)
    assert ours.keys() == theirs.keys()
    for key, expected in theirs.items():
        assert ours[key] == expected, key


_OWN = re.compile(rb'"(worker_id|version)":("[^"]*"|null)|"(generation|discoverTimestamp)":\d+')


def latest(bootstrap: str, options: dict[str, str]) -> dict[bytes, bytes | None]:
    """The last value of every key of the configs and statuses, without what is each one's own."""
    found: dict[bytes, bytes | None] = {}
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "reads",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
    )
    for storage in ("config", "status"):
        topic = options[f"{storage}.storage.topic"]
        for partition in consumer.list_topics(topic, 10).topics[topic].partitions:
            place = TopicPartition(topic, partition, OFFSET_BEGINNING)
            consumer.assign([place])
            while (one := consumer.poll(30)) is not None and one.error() is None:
                value = one.value()
                found[one.key() or b""] = None if value is None else _OWN.sub(b"", value)
            assert one is not None, f"{topic} is not read to its end"
    consumer.close()
    return {key: value for key, value in found.items() if b"status-topic" not in key}


def test_connectors_move_from_connect_to_ottla_and_back(bootstrap: str, folder: str) -> None:
    """One record for each line, in every leg; the paused one stays paused."""
    topic = f"moved-{Path(folder).name}"
    file = Path(folder) / "in.txt"
    config = source(folder, topic=topic)
    with Original(bootstrap) as connect:
        ask(connect.url, put("/connectors/moves/config", config))
        ask(connect.url, put("/connectors/rests/config", source(folder, topic="nowhere")))
        until(connect.url, "rests/0", "RUNNING")
        ask(connect.url, put("/connectors/rests/pause"))
        until(connect.url, "rests/0", "PAUSED")
        wait_until(lambda: _position(connect.url) == 6)
        options = connect.options
    listening = {"listeners", "bootstrap.servers"}
    same = {name: value for name, value in options.items() if name not in listening}
    with Connect(bootstrap, settings=same) as ours:
        until(ours.url, "moves/0", "RUNNING")
        assert ask(ours.url, get("/connectors/rests/status")).body["connector"]["state"] == "PAUSED"
        with file.open("a") as lines:
            lines.write("4\n5\n6\n")
        wait_until(lambda: _position(ours.url) == 12, seconds=60)
    with Original(bootstrap, options) as connect:
        until(connect.url, "moves/0", "RUNNING")
        with file.open("a") as lines:
            lines.write("7\n8\n9\n")
        wait_until(lambda: _position(connect.url) == 18)
        rests = ask(connect.url, get("/connectors/rests/status")).body
        assert rests["tasks"][0]["state"] == "PAUSED"
    settings = {"isolation.level": "read_committed"}
    messages = read(bootstrap, topic, count=9, config=settings)
    assert [json.loads(one.value() or b"") for one in messages] == [str(n) for n in range(1, 10)]


def _position(url: str) -> int | None:
    offsets = ask(url, get("/connectors/moves/offsets")).body["offsets"]
    return offsets[0]["offset"]["position"] if offsets else None
