"""`ottla cluster …` and `ottla start --workers` as a user types them."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from support.confluent import wait_until
from support.supervised import Supervised, running

SECONDS_MAX = 60
RECORDS = 300

pytestmark = pytest.mark.timeout(180)


def ottla(*arguments: str, bootstrap: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "ottla", *arguments],
        env={**os.environ, "OTTLA_BOOTSTRAP": bootstrap, "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done


def status(bootstrap: str) -> Any:
    return json.loads(ottla("cluster", "status", "--json", bootstrap=bootstrap).stdout)


def wait_for(bootstrap: str, wanted: Callable[[Any], bool]) -> Any:
    deadline = time.monotonic() + SECONDS_MAX
    while not wanted(state := status(bootstrap)):
        assert time.monotonic() < deadline, state
    return state


def fill(bootstrap: str, topic: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
    for number in range(RECORDS):
        producer.produce(topic, str(number).encode(), partition=number % 6)
    assert producer.flush(SECONDS_MAX) == 0


def count(bootstrap: str, topic: str) -> int:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "counting"})
    try:
        ends = [
            consumer.get_watermark_offsets(TopicPartition(topic, at), timeout=SECONDS_MAX)
            for at in range(6)
        ]
        return sum(end for _, end in ends)
    finally:
        consumer.close()


def test_a_cluster_heals_is_evened_out_and_emptied_and_goes_on_after_a_stop(tmp_path: Path) -> None:
    with running("cluster", str(tmp_path), "--nodes", "4") as cluster:
        use(cluster)
    with running("cluster", str(tmp_path)) as again:
        assert again.addresses == cluster.addresses
        assert count(again.bootstrap, "orders") == RECORDS


def use(cluster: Supervised) -> None:
    bootstrap = cluster.bootstrap
    ottla("topic", "create", "orders", "-p", "6", "-r", "3", bootstrap=bootstrap)
    fill(bootstrap, "orders")

    kill_a_node(cluster, "node2/")
    wait_for(bootstrap, lambda state: is_healthy(state, nodes=4))

    ottla("cluster", "balance", bootstrap=bootstrap)
    state = wait_for(bootstrap, lambda state: not state["under_replicated"])
    assert max(one["leads"] for one in state["brokers"]) <= 2
    assert all(one["lag"] == 0 for one in state["brokers"])

    shown = ottla("cluster", "drain", "3", "--dry-run", bootstrap=bootstrap).stdout
    drained = ottla("cluster", "drain", "3", bootstrap=bootstrap)
    assert drained.stdout == shown
    assert "Node 3 is empty" in drained.stderr
    (third,) = [one for one in status(bootstrap)["brokers"] if one["node"] == 3]
    assert (third["leads"], third["replicas"]) == (0, 0)
    assert count(bootstrap, "orders") == RECORDS

    ottla("cluster", "move", "orders:0", "--to", "3,1", bootstrap=bootstrap)
    told = ottla("topic", "describe", "orders", "--json", bootstrap=bootstrap).stdout
    moved = json.loads(told)["partitions"][0]
    assert (moved["leader"], moved["replicas"]) == (3, "3,1")

    ottla("cluster", "forget", "3", bootstrap=bootstrap, code=1)


def kill_a_node(cluster: Supervised, mark: str) -> None:
    """Returns when another process has taken its place."""
    killed = cluster.child(mark)
    assert killed is not None
    os.kill(killed, signal.SIGKILL)
    wait_until(lambda: (pid := cluster.child(mark)) is not None and pid != killed, SECONDS_MAX)


def is_healthy(state: Any, nodes: int) -> bool:
    words = [one["state"] for one in state["brokers"]]
    return words == ["up"] * nodes and not state["under_replicated"]


def test_a_worker_that_dies_is_started_again(tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    with running("start", "--listen", "127.0.0.1:0", "--data", data, "--workers", "2") as host:
        state = status(host.bootstrap)
        assert {one["rack"] for one in state["brokers"]} == {socket.gethostname()}
        assert [one["voter"] for one in state["quorum"]["members"]] == [True, False]
        ottla("topic", "create", "orders", "-p", "6", "-r", "2", bootstrap=host.bootstrap)
        kill_a_node(host, "node.id=2")
        wait_for(host.addresses[0], lambda state: is_healthy(state, nodes=2))


def test_a_node_that_cannot_start_ends_them_all_with_a_sentence(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        arguments = ["--listen", listen, "--data", str(tmp_path / "data"), "--workers", "2"]
        done = subprocess.run(
            [sys.executable, "-m", "ottla", "start", *arguments],
            capture_output=True,
            text=True,
            timeout=SECONDS_MAX,
            check=False,
        )
    assert done.returncode == 1
    assert "worker 1 ended with code 1 before it served" in done.stderr
