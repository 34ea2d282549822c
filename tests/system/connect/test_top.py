"""`ottla connect top`: rates, lag and errors of a worker, and what is unknown of it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from support.connect_tool import ConnectTool
from support.connect_workers import LocalWorker
from system.connect.original import Original
from system.connect.requests import SINK, SOURCE


@pytest.fixture(scope="module")
def worker(bootstrap: str) -> Iterator[LocalWorker]:
    with LocalWorker(bootstrap) as one:
        yield one


def looks(tool: ConnectTool, *more: str) -> dict[str, dict[str, Any]]:
    """The second of two, by connector."""
    shown = tool("top", "--every", "0.3", "--looks", "2", "--json", *more).stdout.splitlines()
    return {one["connector"]: one for one in json.loads(shown[-1])["connectors"]}


def test_lag_is_told_by_the_group_and_a_failed_task_by_its_trace(
    worker: LocalWorker, bootstrap: str, tmp_path: Path
) -> None:
    tool, topic = ConnectTool(worker.url, bootstrap), f"in-{tmp_path.name}"
    producer = Producer({"bootstrap.servers": bootstrap})
    for _ in range(10):
        producer.produce(topic, "x", partition=0)
    producer.flush(10)
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "connect-out"})
    consumer.commit(offsets=[TopicPartition(topic, 0, 4)], asynchronous=False)
    consumer.close()
    sink = ("--set", f"connector.class={SINK}", "--set", f"topics={topic}")
    tool("add", "out", *sink, "--set", f"file={tmp_path}/out.txt")
    tool("add", "lost", *sink, "--set", "file=/no-such-folder/file")
    tool.until("out", "RUNNING", tasks="RUNNING")
    tool.until("lost", "RUNNING", tasks="FAILED")
    found = looks(tool)
    assert found["out"]["lag"] == 6
    assert (found["out"]["running"], found["out"]["records_per_second"]) == (1, 0)
    assert found["lost"]["failed_tasks"] == 1
    assert found["lost"]["errors"] == ["ConnectException: no folder /no-such-folder"]
    rows = tool("top", "--every", "0.1", "--looks", "1").stdout.splitlines()
    assert "out\tsink\tRUNNING\t1/1\t0.0\t6\t0\t-" in rows


def test_without_its_kafka_only_what_the_worker_tells_is_known(
    worker: LocalWorker, bootstrap: str, tmp_path: Path
) -> None:
    tool = ConnectTool(worker.url, bootstrap)
    config = (f"connector.class={SOURCE}", f"file={tmp_path}/in.txt", "topic=lines")
    tool("add", "in", *(word for one in config for word in ("--set", one)))
    tool.until("in", "RUNNING", tasks="RUNNING")
    told = tool("top", "--looks", "1", "--every", "0.1", "-b", "127.0.0.1:1")
    assert "No broker answers at 127.0.0.1:1" in told.stderr
    assert "in\tsource\tRUNNING\t1/1\t?\t-\t0\t-" in told.stdout.splitlines()


@pytest.mark.long
@pytest.mark.timeout(300)
def test_rates_of_kafka_connect_are_told_too(bootstrap: str, tmp_path: Path) -> None:
    topic, file = f"lines-{tmp_path.name}", tmp_path / "in.txt"
    file.write_text("a line\n" * 1000)
    with Original(bootstrap) as connect:
        tool = ConnectTool(connect.url, bootstrap)
        source = (f"connector.class={SOURCE}", f"file={file}", f"topic={topic}")
        sink = (f"connector.class={SINK}", f"file={tmp_path}/out.txt", f"topics={topic}")
        for name, config in (("in", source), ("out", sink)):
            tool("add", name, *(word for one in config for word in ("--set", one)))
            tool.until(name, "RUNNING", tasks="RUNNING")
        for _ in range(60):
            with file.open("a") as lines:
                lines.write("a line\n" * 500)
            found = looks(tool)
            known = [found[one]["records_per_second"] for one in ("in", "out")]
            if all(known):
                break
        assert all(known), found
        assert found["out"]["lag"] is not None
