"""A disk that fills up, for real: a small tmpfs. Writes are refused and come back; reads go on."""

import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

import ottla
from support.confluent import create_topic

DISK_BYTES = 48 * 1024 * 1024
VALUE = bytes(range(256)) * 400  # 100 kB
WITHIN_S = 20.0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = shutil.which("mount")
    if mount is None:
        pytest.skip("there is no mount command")
    command = [mount, "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(disk)]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting a tmpfs is not allowed here")
    try:
        yield disk
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def send(node: ottla.Node, topic: str, *, retries: int = 0) -> KafkaError | None:
    """One record; the broker's refusal, if any."""
    answers: list[KafkaError | None] = []
    producer = Producer(
        {
            "bootstrap.servers": node.bootstrap_servers,
            "retries": retries,
            "message.timeout.ms": 10_000,
            "log_level": 0,
        }
    )
    producer.produce(topic, VALUE, on_delivery=lambda error, _: answers.append(error))
    producer.flush(15)
    (answer,) = answers
    return answer


def fill(node: ottla.Node, topic: str) -> tuple[int, KafkaError]:
    for sent in range(DISK_BYTES // len(VALUE) + 1):
        error = send(node, topic)
        if error is not None:
            return sent, error
    pytest.fail("the disk did not fill up")


def count(node: ottla.Node, topic: str) -> int:
    consumer = Consumer(
        {
            "bootstrap.servers": node.bootstrap_servers,
            "group.id": "none",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    read = 0
    try:
        while (message := consumer.poll(10)) is not None:
            error = message.error()
            if error is not None:
                assert error.code() == KafkaError._PARTITION_EOF
                return read
            assert message.value() == VALUE
            read += 1
        pytest.fail(f"nothing came after {read} records")
    finally:
        consumer.close()


def wait_until_writable(node: ottla.Node, topic: str) -> None:
    deadline = time.monotonic() + WITHIN_S
    while (error := send(node, topic)) is not None:
        assert time.monotonic() < deadline, error
        time.sleep(0.2)


def delete_topic(node: ottla.Node, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": node.bootstrap_servers})
    (deleted,) = admin.delete_topics([topic], operation_timeout=10).values()
    try:
        deleted.result(15)
    except KafkaException as error:
        pytest.fail(f"a full disk must not keep topics: {error}")


@pytest.mark.timeout(180)
def test_a_full_disk_refuses_writes_serves_reads_and_recovers(small_disk: Path) -> None:
    settings = {"log.segment.delete.delay.ms": 0, "auto.create.topics.enable": False}
    with ottla.Node(data=small_disk / "data", settings=settings) as node:
        create_topic(node.bootstrap_servers, "kept")
        create_topic(node.bootstrap_servers, "large")
        assert send(node, "kept") is None
        sent, error = fill(node, "large")
        assert error.code() == KafkaError.KAFKA_STORAGE_ERROR
        assert sent > DISK_BYTES // len(VALUE) // 2
        assert node.running
        assert count(node, "kept") == 1
        assert count(node, "large") == sent
        assert node.running
        delete_topic(node, "large")
        wait_until_writable(node, "kept")
        assert count(node, "kept") == 2


@pytest.mark.timeout(180)
def test_a_disk_that_others_filled_is_survived_without_losing_anything(small_disk: Path) -> None:
    with ottla.Node(data=small_disk / "data") as node:
        create_topic(node.bootstrap_servers, "kept")
        for _ in range(5):
            assert send(node, "kept") is None
        ballast = small_disk / "ballast"
        with ballast.open("wb") as file:
            try:
                while file.write(VALUE):
                    file.flush()
            except OSError:
                pass  # not a byte is left
        refused = send(node, "kept")
        assert refused is not None
        assert refused.code() == KafkaError.KAFKA_STORAGE_ERROR
        assert count(node, "kept") == 5
        ballast.unlink()
        wait_until_writable(node, "kept")
        node.kill()
        node.start()
        assert count(node, "kept") == 6
