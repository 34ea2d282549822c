"""Workers as they are asked, joined by others, and stopped; without Spark."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from confluent_kafka.admin import NewTopic

import ottla.connect.worker
from ottla.client.connection import Connection
from ottla.connect.runs.offsets import offset_key, offset_value, read_offsets
from ottla.testing import Node
from support.connect_workers import LocalWorker
from system.connect.asking import ask, until
from system.connect.requests import SINK, delete, get, patch, post, put, source


@pytest.fixture(scope="module")
def worker(bootstrap: str) -> Iterator[LocalWorker]:
    with LocalWorker(bootstrap) as one:
        yield one


def eventually(true: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it does not come true"
        time.sleep(0.02)


def test_a_connector_that_is_posted_runs_until_it_is_deleted(
    worker: LocalWorker, tmp_path: object
) -> None:
    config = source(str(tmp_path))
    assert ask(worker.url, post("/connectors", {"name": "walk", "config": config})).status == 201
    until(worker.url, "walk/0", "RUNNING")
    assert worker.runner.running["walk"].plan.tasks == 1
    assert ask(worker.url, delete("/connectors/walk")).status == 204
    eventually(lambda: "walk" not in worker.runner.running)
    assert ask(worker.url, get("/connectors/walk/status")).status == 404


def test_what_was_asked_for_is_resumed_by_the_next_worker(bootstrap: str, tmp_path: object) -> None:
    with LocalWorker(bootstrap) as first:
        ask(first.url, put("/connectors/runs/config", source(str(tmp_path))))
        ask(first.url, put("/connectors/rests/config", source(str(tmp_path))))
        until(first.url, "rests/0", "RUNNING")
        ask(first.url, put("/connectors/rests/pause"))
        until(first.url, "rests/0", "PAUSED")
        until(first.url, "runs/0", "RUNNING")
        second = first.another()
    assert first.runner.closed
    assert not first.runner.prepared  # there was nothing to run
    with second:
        until(second.url, "runs/0", "RUNNING")
        until(second.url, "rests", "PAUSED")
        assert list(second.runner.running) == ["runs"]
        assert second.runner.prepared  # while it joined its group


def test_the_second_worker_hands_on_and_takes_over(
    bootstrap: str, tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ottla.connect.worker, "FOLLOWER_READY_S", 0.0)
    with LocalWorker(bootstrap) as first, first.another() as second:
        answer = ask(second.url, put("/connectors/moves/config", source(str(tmp_path))))
        assert answer.status == 201
        assert ask(second.url, get("/connectors")).body == ["moves"]
        until(second.url, "moves/0", "RUNNING")
        assert list(first.runner.running) == ["moves"]
        assert not second.runner.running
        eventually(lambda: second.runner.prepared)  # to take over
        assert not first.runner.prepared
        refused = ask(second.url, put("/connectors/moves/pause?forward=false"))
        assert refused.status == 409
        first.stop()
        eventually(lambda: list(second.runner.running) == ["moves"])


def test_a_worker_can_be_stopped_while_its_brokers_are_away(tmp_path: Path) -> None:
    with Node() as node, LocalWorker(node.bootstrap_servers) as worker:
        ask(worker.url, put("/connectors/runs/config", source(str(tmp_path))))
        until(worker.url, "runs/0", "RUNNING")
        node.kill()
        worker.stop()
        assert worker.runner.closed


def test_a_secret_goes_into_the_run_and_nowhere_else(bootstrap: str, tmp_path: object) -> None:
    secrets = f"{tmp_path}/secrets.properties"
    with open(secrets, "w") as file:
        file.write("topic=hush-hush\n")
    options = {
        "config.providers": "file",
        "config.providers.file.class": (
            "org.apache.kafka.common.config.provider.FileConfigProvider"
        ),
        "config.providers.file.param.allowed.paths": str(tmp_path),
    }
    with LocalWorker(bootstrap, options) as worker:
        said = f"${{file:{secrets}:topic}}"
        config = source(str(tmp_path), topic=said)
        ask(worker.url, put("/connectors/quiet/config", config))
        until(worker.url, "quiet/0", "RUNNING")
        assert worker.runner.plans[0].resolved["topic"] == "hush-hush"
        for path in ("", "/config", "/status", "/tasks"):
            shown = ask(worker.url, get(f"/connectors/quiet{path}"))
            assert "hush-hush" not in str(shown.body)
        outside = source(str(tmp_path), topic=f"${{file:{tmp_path}/../../etc/passwd:root}}")
        answer = ask(worker.url, put("/connectors/quiet/config", outside))
        assert answer.status == 400
        assert "cannot be resolved" in str(answer.body)


def test_what_a_secret_stands_for_is_checked_and_not_shown(bootstrap: str, tmp_path: Path) -> None:
    secrets = tmp_path / "secrets.properties"
    secrets.write_text("number=7\nword=hush-hush\n")
    options = {
        "config.providers": "file",
        "config.providers.file.class": (
            "org.apache.kafka.common.config.provider.FileConfigProvider"
        ),
    }
    with LocalWorker(bootstrap, options) as worker:
        number, word = (f"${{file:{secrets}:{key}}}" for key in ("number", "word"))
        config = source(str(tmp_path), **{"batch.size": number})
        assert ask(worker.url, put("/connectors/quiet/config", config)).status == 201
        until(worker.url, "quiet/0", "RUNNING")
        wrong = source(str(tmp_path), **{"batch.size": word, "errors.tolerance": word})
        refused = ask(worker.url, put("/connectors/quiet/config", wrong))
        assert refused.status == 400
        path = "/connector-plugins/FileStreamSource/config/validate"
        checked = ask(worker.url, put(path, wrong | {"name": "quiet"})).body
        assert checked["error_count"] == 2
        shown = {one["value"]["name"]: one["value"]["value"] for one in checked["configs"]}
        assert [shown["batch.size"], shown["errors.tolerance"]] == [word, word]
        assert word in str(refused.body)
        assert "hush-hush" not in str(refused.body) + str(checked)


def test_offsets_that_are_no_objects_are_refused_in_a_sentence(
    worker: LocalWorker, tmp_path: Path
) -> None:
    config = {"connector.class": SINK, "topics": "lines", "file": str(tmp_path / "out")}
    ask(worker.url, put("/connectors/odd/config", config))
    ask(worker.url, put("/connectors/odd/stop"))
    until(worker.url, "odd", "STOPPED")
    place = {"kafka_topic": "lines", "kafka_partition": 0}
    for wrong in ({"partition": place, "offset": 1}, {"partition": "lines", "offset": None}):
        answer = ask(worker.url, patch("/connectors/odd/offsets", {"offsets": [wrong]}))
        assert answer.status == 500
        assert "is no JSON object" in answer.body["message"]
    ask(worker.url, delete("/connectors/odd"))


def test_a_source_with_an_offsets_topic_of_its_own_stands_where_that_says(
    worker: LocalWorker, bootstrap: str, tmp_path: object
) -> None:
    """As with Connect, the worker's topic is asked for what the other one does not have."""
    own = f"own-{uuid4()}"
    files = [{"filename": f"{tmp_path}/{name}"} for name in ("in.txt", "other.txt")]
    config = source(str(tmp_path), **{"offsets.storage.topic": own})

    def stands_at() -> list[dict[str, int]]:
        told = ask(worker.url, get("/connectors/own/offsets")).body["offsets"]
        places = {one["partition"]["filename"]: one["offset"] for one in told}
        return [places[one["filename"]] for one in files if one["filename"] in places]

    ask(worker.url, put("/connectors/own/config", config))
    until(worker.url, "own/0", "RUNNING")
    assert worker.runner.running["own"].plan.own_offsets_topic == own
    ask(worker.url, put("/connectors/own/stop"))
    until(worker.url, "own", "STOPPED")
    both = [{"partition": one, "offset": {"position": 4}} for one in files]
    answer = ask(worker.url, patch("/connectors/own/offsets", {"offsets": both}))
    assert answer.status == 200, answer
    assert stands_at() == [{"position": 4}, {"position": 4}]
    for topic in (own, worker.options["offset.storage.topic"]):
        held = read_offsets(Connection(bootstrap), topic, "own")
        assert sorted(held.all(), key=str) == [(one, {"position": 4}) for one in files]
    producer = Connection(bootstrap).producer({"partitioner": "murmur2_random"})
    producer.produce(own, offset_value({"position": 9}), offset_key("own", files[0]))
    producer.produce(own, None, offset_key("own", files[1]))
    assert producer.flush(30) == 0
    assert stands_at() == [{"position": 9}, {"position": 4}]
    assert ask(worker.url, delete("/connectors/own/offsets")).status == 200
    assert stands_at() == []
    ask(worker.url, delete("/connectors/own"))


def test_an_offsets_topic_that_cannot_hold_offsets_is_refused_in_a_sentence(
    worker: LocalWorker, bootstrap: str, tmp_path: object
) -> None:
    own = f"lines-{uuid4()}"
    admin = Connection(bootstrap).admin()
    (made,) = admin.create_topics([NewTopic(own, 1, 1)]).values()
    made.result()
    config = source(str(tmp_path), **{"offsets.storage.topic": own})
    ask(worker.url, put("/connectors/lossy/config", config))
    until(worker.url, "lossy", "FAILED")
    trace = ask(worker.url, get("/connectors/lossy/status")).body["connector"]["trace"]
    assert f"Topic {own} has cleanup.policy=delete: old records would be lost." in trace
    ask(worker.url, delete("/connectors/lossy"))


def test_requests_in_many_threads_are_answered_one_after_the_other(
    worker: LocalWorker, tmp_path: object
) -> None:
    def toggle(which: str) -> None:
        for _ in range(5):
            assert ask(worker.url, put(f"/connectors/busy/{which}")).status == 202

    ask(worker.url, put("/connectors/busy/config", source(str(tmp_path))))
    threads = [threading.Thread(target=toggle, args=(one,)) for one in ("pause", "resume")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ask(worker.url, put("/connectors/busy/resume"))
    until(worker.url, "busy/0", "RUNNING")
    ask(worker.url, delete("/connectors/busy"))
