"""What the image says becomes of logs on disk; a disk that refuses must not end the node."""

import os
from collections.abc import Callable
from errno import EIO, ENOSPC
from pathlib import Path
from typing import Any, cast

import pytest

from ottla.config import Settings
from ottla.ids import ZERO_UUID, TopicPartition
from ottla.log.directory import LogDirectory
from ottla.log.files import OpenFiles
from ottla.log.partition_log import LogResources
from ottla.log.tail import TailCache
from ottla.metadata.image import Delta, Image
from ottla.metadata.publisher import Publisher
from ottla.metadata.records import Record, frame
from ottla.replication.assignments import Assignments
from ottla.replication.directories import Directories
from ottla.replication.partitions import Partitions
from ottla.wire.records.metadata import (
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from support.log_batches import NOW, append, values_from

HERE, ELSEWHERE = b"h" * 16, b"e" * 16
A, B = b"a" * 16, b"b" * 16
ORDERS = TopicPartition("orders", 0)


class Broker:
    """Broker 1 as far as it follows the image: replicas, logs, and what it tells of them."""

    def __init__(self, path: Path) -> None:
        self.directory = LogDirectory(path, LogResources(OpenFiles(), TailCache()))
        logs = Directories([self.directory], [HERE], lambda: NOW)
        self.partitions = Partitions(
            1,
            logs,
            Settings({}),
            now=lambda: 0.0,
            moved=lambda _: None,
            proposed=lambda _, __: None,
        )
        self.told = 0
        self.assignments = Assignments(
            cast(Any, None), self.partitions, logs, epoch=lambda: 1, spawn=self._tell
        )
        self.publisher = Publisher()
        self.publisher.subscribe(self._image_changed)

    def _tell(self, telling: Any) -> None:
        self.told += 1
        telling.close()

    def _image_changed(self, image: Image, delta: Delta) -> None:
        self.partitions.apply(image, delta)
        self.assignments.image_changed(image, delta)

    def learns(self, *records: Record) -> None:
        offset = self.publisher.image.offset + 1
        self.publisher.committed(offset, 1, [frame(record) for record in records], NOW)

    def makes_directories(self) -> None:
        self.directory.resources.files.new_directories.make_all()

    def holds(self, *values: bytes) -> None:
        for value in values:
            append(self.partitions.replica("orders", 0).log, value)


@pytest.fixture
def broker(tmp_path: Path) -> Broker:
    return Broker(tmp_path)


def orders(topic_id: bytes = A, **fields: Any) -> list[Record]:
    placed: dict[str, Any] = {"replicas": [1], "isr": [1], "leader": 1, "directories": [HERE]}
    return [
        TopicRecord(name="orders", topic_id=topic_id),
        PartitionRecord(topic_id=topic_id, partition_id=0, **placed | fields),
    ]


def refusing(code: int) -> Callable[..., None]:
    def rename(*_: Any) -> None:
        raise OSError(code, os.strerror(code))

    return rename


def test_a_replica_without_a_log_that_moves_away_is_forgotten_with_its_files(
    broker: Broker, tmp_path: Path
) -> None:
    (tmp_path / "orders-0").mkdir()
    broker.directory.unusable[ORDERS] = "it is damaged"
    two: dict[str, Any] = {
        "replicas": [1, 2],
        "isr": [2],
        "leader": 2,
        "directories": [HERE, ELSEWHERE],
    }
    broker.learns(*orders(**two))
    assert list(broker.partitions.offline) == [(A, 0)]
    assert broker.told == 1
    gone: dict[str, Any] = {
        "replicas": [3, 2],
        "isr": [3, 2],
        "directories": [ELSEWHERE, ELSEWHERE],
    }
    broker.learns(PartitionChangeRecord(topic_id=A, partition_id=0, **gone))
    assert not list(broker.partitions.offline)
    assert not (tmp_path / "orders-0").exists()
    assert broker.told == 1
    broker.learns(PartitionChangeRecord(topic_id=A, partition_id=0, **two))
    assert broker.partitions.find("orders", 0) is not None


def test_a_deletion_that_the_disk_refuses_leaves_the_files_behind_and_nothing_else(
    broker: Broker,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    broker.learns(*orders())
    broker.makes_directories()
    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", refusing(EIO))
        broker.learns(RemoveTopicRecord(topic_id=A))
    assert broker.partitions.find("orders", 0) is None
    assert [each.getMessage() for each in caplog.records] == [
        f"the files of orders-0 are left behind: Cannot write to {tmp_path}: {os.strerror(EIO)}."
    ]
    assert (tmp_path / "orders-0").exists()


def test_a_new_topic_does_not_find_what_a_full_disk_kept_of_one_with_its_name(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.learns(*orders(A))
    broker.holds(b"of the old")
    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", refusing(ENOSPC))
        broker.learns(RemoveTopicRecord(topic_id=A))
        broker.learns(*orders(B))
        assert list(broker.partitions.offline) == [(B, 0)]
    broker.partitions.tick()
    assert not list(broker.partitions.offline)
    assert values_from(broker.partitions.replica("orders", 0).log, 0) == []


def test_whose_log_it_is_may_fail_to_be_written_down(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.learns(*orders())
    broker.makes_directories()
    log = broker.partitions.replica("orders", 0).log
    log.topic_id = ZERO_UUID  # as after a power cut
    again = Partitions(
        1,
        Directories([broker.directory], [HERE], lambda: NOW),
        Settings({}),
        now=lambda: 0.0,
        moved=lambda _: None,
        proposed=lambda _, __: None,
    )
    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", refusing(ENOSPC))
        again.load(broker.publisher.image)
    assert list(again.offline) == [(A, 0)]
    again.tick()
    assert again.replica("orders", 0).log is log
    assert log.topic_id == A
