"""`ottla.Node`: a broker in a process, for tests and notebooks."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer

import ottla
from ottla.errors import OttlaError


def send(node: ottla.Node, topic: str, value: str) -> None:
    producer = Producer({"bootstrap.servers": node.bootstrap_servers})
    producer.produce(topic, value)
    assert producer.flush(10) == 0


def first_value(node: ottla.Node, topic: str) -> bytes | None:
    consumer = Consumer(
        {
            "bootstrap.servers": node.bootstrap_servers,
            "group.id": "first",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    try:
        consumer.subscribe([topic])
        message = consumer.poll(20)
        assert message is not None
        assert message.error() is None
        return message.value()
    finally:
        consumer.close()


def test_records_go_through_a_node_of_one_s_own() -> None:
    with ottla.Node() as node:
        send(node, "greetings", "hello")
        assert first_value(node, "greetings") == b"hello"
        directory = node.data
        assert directory.is_dir()
    assert not directory.exists()


def test_a_directory_of_the_caller_s_stays_and_is_served_again(tmp_path: Path) -> None:
    with ottla.Node(data=tmp_path / "data") as node:
        send(node, "kept", "hello")
    with ottla.Node(data=tmp_path / "data") as node:
        assert first_value(node, "kept") == b"hello"


def test_a_killed_node_comes_back_where_clients_look_for_it() -> None:
    with ottla.Node() as node:
        send(node, "survivors", "hello")
        address = node.bootstrap_servers
        node.kill()
        assert not node.running
        node.start()
        assert node.bootstrap_servers == address
        assert first_value(node, "survivors") == b"hello"


def test_settings_are_broker_options() -> None:
    with ottla.Node(settings={"num.partitions": 3, "auto.create.topics.enable": True}) as node:
        send(node, "three", "hello")
        producer = Producer({"bootstrap.servers": node.bootstrap_servers})
        assert len(producer.list_topics("three", timeout=10).topics["three"].partitions) == 3


def test_a_node_that_does_not_start_says_why() -> None:
    with (
        pytest.raises(OttlaError, match=r"ended with code 1[\s\S]*num\.partitions cannot be"),
        ottla.Node(settings={"num.partitions": "none"}),
    ):
        pass


def test_a_node_leaves_nothing_behind_when_it_does_not_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(OttlaError), ottla.Node(settings={"num.partitions": "none"}):
        pass
    assert os.listdir(tmp_path) == []


def test_the_pid_of_a_stopped_node_is_not_invented() -> None:
    with pytest.raises(OttlaError, match="does not run"):
        _ = ottla.Node(data="unused").pid


def test_a_node_that_was_forgotten_ends_with_the_program() -> None:
    code = "import ottla; node = ottla.Node().start(); print(node.pid, node.data)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    pid, directory = done.stdout.split()
    assert not Path(f"/proc/{pid}").exists()
    assert not Path(directory).exists()


def test_a_node_ends_with_the_script_that_started_it_however_that_ends() -> None:
    code = "import ottla, time; n = ottla.Node().start(); print(n.pid, flush=True); time.sleep(100)"
    for number in (signal.SIGTERM, signal.SIGKILL):
        script = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        assert script.stdout is not None
        with script.stdout:
            broker = int(script.stdout.readline())
        script.send_signal(number)
        script.wait(10)
        until = time.monotonic() + 20
        while _runs(broker):
            assert time.monotonic() < until
            time.sleep(0.05)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
