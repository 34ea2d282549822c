import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from errno import EIO, ENOSPC
from pathlib import Path

import pytest

from ottla.errors import ErrorCode, KafkaError, OttlaError
from ottla.ids import ZERO_UUID, TopicPartition, parse_uuid, show_uuid
from ottla.log.checkpoints import (
    HIGH_WATERMARKS,
    LOG_STARTS,
    RECOVERY_POINTS,
    MetaProperties,
    read_meta_properties,
    read_offsets,
    write_meta_properties,
)
from ottla.log.config import LogConfig
from ottla.log.directory import LogDirectory
from ottla.log.directory_names import parse_partition
from ottla.log.partition_log import LogResources
from ottla.replication.directories import Directories
from support.ids import new_uuid
from support.log_batches import NOW, append, values_from

ORDERS = TopicPartition("orders", 0)
Make = Callable[[], LogDirectory]
PryingThread = Callable[[], AbstractContextManager[None]]


@pytest.fixture
def make(tmp_path: Path, resources: LogResources) -> Make:
    def make_it() -> LogDirectory:
        directory = LogDirectory(tmp_path / "data", resources)
        directory.lock()
        directory.open_all(lambda topic: LogConfig(), now_ms=NOW)
        return directory

    return make_it


def test_a_clean_stop_is_remembered_once_with_the_brokers_epoch(make: Make) -> None:
    directory = make()
    assert directory.previous_broker_epoch is None
    directory.close(broker_epoch=7)
    directory = make()
    assert directory.previous_broker_epoch == 7
    directory.unlock()
    assert make().previous_broker_epoch is None


def test_partitions_are_found_again_with_their_ids_and_watermarks(make: Make) -> None:
    directory = make()
    topic_id = new_uuid()
    log = directory.create(ORDERS, topic_id, LogConfig(), now_ms=NOW)
    append(log, b"a", b"b")
    log.advance_high_watermark(2)
    directory.close(broker_epoch=1)
    assert (log.path / "partition.metadata").stat().st_size == 43
    assert read_offsets(directory.path / RECOVERY_POINTS) == {ORDERS: 2}
    assert read_offsets(directory.path / HIGH_WATERMARKS) == {ORDERS: 2}
    found = make().logs[ORDERS]
    assert (found.topic_id, found.high_watermark) == (topic_id, 2)
    assert values_from(found, 0) == [b"a", b"b"]


@pytest.mark.parametrize("size", [0, 9, 21, 30, 42])
def test_a_log_whose_owner_is_torn_is_nobodys_until_it_is_assigned(make: Make, size: int) -> None:
    directory = make()
    topic_id = new_uuid()
    log = directory.create(ORDERS, topic_id, LogConfig(), now_ms=NOW)
    append(log, b"a")
    directory.unlock()
    os.truncate(log.path / "partition.metadata", size)
    directory = make()
    found = directory.logs[ORDERS]
    assert found.topic_id == ZERO_UUID
    Directories([directory], [new_uuid()], lambda: NOW).assign(found, topic_id)
    directory.unlock()
    assert make().logs[ORDERS].topic_id == topic_id


def test_what_recovery_cuts_off_does_not_count_as_cleaned(make: Make) -> None:
    directory = make()
    log = directory.create(ORDERS, new_uuid(), LogConfig(), now_ms=NOW)
    for value in (b"a", b"b", b"c"):
        append(log, value)
    log.cleaned_upto = 2
    directory.checkpoint().run()
    directory.unlock()
    directory = make()
    assert directory.logs[ORDERS].cleaned_upto == 2
    directory.unlock()
    os.truncate(log.active.log_path, log.size // 3 + 1)
    found = make().logs[ORDERS]
    append(found, b"b again")
    assert found.cleaned_upto == found.log_end_offset - 1 == 1


def test_many_partitions_are_synced_together_at_a_stop(make: Make) -> None:
    directory = make()
    for n in range(20):
        name = TopicPartition("many", n)
        append(directory.create(name, new_uuid(), LogConfig(), now_ms=NOW), b"x")
    directory.close(broker_epoch=1)
    logs = make().logs
    assert len(logs) == 20
    assert all(log.log_end_offset == 1 for log in logs.values())


def test_a_directory_in_use_is_refused(make: Make) -> None:
    make()
    with pytest.raises(OttlaError, match="in use"):
        make()


def test_a_deleted_partition_is_out_of_sight_at_once_and_gone_later(make: Make) -> None:
    directory = make()
    log = directory.create(ORDERS, new_uuid(), LogConfig(), now_ms=NOW)
    append(log, b"a")
    directory.delete(ORDERS, now_ms=NOW)
    assert not log.path.exists()
    directory.sweep(NOW + 59_000)()
    assert len(list(directory.path.glob("orders-0.*-delete"))) == 1
    directory.sweep(NOW + 60_000)()
    assert list(directory.path.glob("orders-0*")) == []


def test_a_topic_made_anew_writes_into_no_file_that_a_thread_opened_amid_the_deletion(
    make: Make, prying_thread: PryingThread
) -> None:
    directory = make()
    append(directory.create(ORDERS, new_uuid(), LogConfig(), now_ms=NOW), b"old")
    with prying_thread():
        directory.delete(ORDERS, now_ms=NOW)
    append(directory.create(ORDERS, new_uuid(), LogConfig(), now_ms=NOW), b"new")
    directory.unlock()
    assert values_from(make().logs[ORDERS], 0) == [b"new"]


def write_and_delete(directory: LogDirectory) -> None:
    log = directory.create(ORDERS, new_uuid(), LogConfig(), now_ms=NOW)
    for _ in range(9):
        append(log, b"old")
    log.flush()
    log.advance_high_watermark(9)
    log.delete_records_before(5)
    log.cleaned_upto = 4
    directory.checkpoint().run()
    directory.delete(ORDERS, now_ms=NOW)


@pytest.mark.parametrize("crash_first", [False, True])
def test_a_topic_made_anew_has_none_of_the_offsets_of_the_old_one_after_a_crash(
    make: Make, crash_first: bool
) -> None:
    directory = make()
    write_and_delete(directory)
    if crash_first:
        directory.unlock()
        directory = make()
    log = directory.create(ORDERS, new_uuid(), LogConfig(), now_ms=NOW)
    for n in range(3):
        append(log, b"%d" % n)
    log.advance_high_watermark(3)
    directory.unlock()
    found = make().logs[ORDERS]
    assert values_from(found, 0) == [b"0", b"1", b"2"]
    assert (found.log_start_offset, found.recovery_point, found.cleaned_upto) == (0, 0, 0)


def test_a_checkpoint_taken_before_a_topic_was_made_anew_is_written_by_no_thread_after(
    make: Make,
) -> None:
    directory = make()
    log = directory.create(ORDERS, new_uuid(), LogConfig(), now_ms=NOW)
    append(log, b"a", b"b")
    log.advance_high_watermark(2)
    log.delete_records_before(1)
    late = directory.checkpoint()
    directory.delete(ORDERS, now_ms=NOW)
    directory.create(ORDERS, new_uuid(), LogConfig(), now_ms=NOW)
    late.run()
    assert ORDERS not in read_offsets(directory.path / LOG_STARTS)
    assert ORDERS not in read_offsets(directory.path / HIGH_WATERMARKS)


def test_many_partitions_made_anew_are_written_down_once(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = make()
    names = [TopicPartition("many", n) for n in range(20)]
    written: list[Path] = []
    monkeypatch.setattr(
        "ottla.log.checkpoints.write_durably", lambda path, *_: written.append(path)
    )
    for name in names:
        directory.create(name, new_uuid(), LogConfig(), now_ms=NOW)
    assert written == [], "there were none before"
    directory.checkpoint().run()
    for name in names:
        directory.delete(name, now_ms=NOW)
    written.clear()
    for name in names:
        directory.create(name, new_uuid(), LogConfig(), now_ms=NOW)
    assert len(written) == len(set(written)) == 4
    directory.checkpoint().run()
    written.clear()
    directory.checkpoint().run()
    assert written == [], "nothing is new"


def test_the_directory_of_a_new_log_is_made_before_its_first_record(make: Make) -> None:
    directory = make()
    log = directory.create(ORDERS, new_uuid(), LogConfig(), now_ms=NOW)
    assert not log.path.exists()
    append(log, b"a")
    assert (log.path / "partition.metadata").stat().st_size == 43


def test_directories_of_new_logs_are_made_together_by_a_thread(make: Make) -> None:
    directory = make()
    logs = [
        directory.create(TopicPartition("many", n), new_uuid(), LogConfig(), now_ms=NOW)
        for n in range(20)
    ]
    directory.resources.files.new_directories.make_all()
    assert all((log.path / "partition.metadata").exists() for log in logs)
    assert not directory.resources.files.new_directories


def test_a_clean_stop_leaves_a_directory_for_every_log(make: Make) -> None:
    directory = make()
    topic_id = new_uuid()
    directory.create(ORDERS, topic_id, LogConfig(), now_ms=NOW)
    directory.close(broker_epoch=1)
    assert make().logs[ORDERS].topic_id == topic_id


def test_a_log_that_is_deleted_before_its_directory_is_made_leaves_nothing(make: Make) -> None:
    directory = make()
    directory.create(ORDERS, new_uuid(), LogConfig(), now_ms=NOW)
    directory.delete(ORDERS, now_ms=NOW)
    directory.resources.files.new_directories.make_all()
    assert list(directory.path.glob("orders*")) == []
    topic_id = new_uuid()
    append(directory.create(ORDERS, topic_id, LogConfig(), now_ms=NOW), b"a")
    directory.close(broker_epoch=1)
    assert make().logs[ORDERS].topic_id == topic_id


def test_a_directory_that_cannot_be_made_is_tried_again(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = make()
    log = directory.create(ORDERS, new_uuid(), LogConfig(), now_ms=NOW)

    def no_room(path: str) -> None:
        raise OSError(ENOSPC, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr("os.mkdir", no_room)
        directory.resources.files.new_directories.make_all()
        assert directory.health.full
    directory.resources.files.new_directories.make_all()
    assert log.path.is_dir()


def test_what_a_crash_left_unfinished_is_removed(make: Make) -> None:
    directory = make()
    log = directory.create(ORDERS, new_uuid(), LogConfig(), now_ms=NOW)
    append(log, b"a")
    directory.unlock()
    torn = directory.path / f"{RECOVERY_POINTS}.tmp", log.path / "leader-epoch-checkpoint.tmp"
    for path in torn:
        path.write_bytes(b"0\n1")
    assert ORDERS in make().logs
    assert not any(path.exists() for path in torn)


def test_dropped_segments_stay_a_while_for_their_readers(make: Make) -> None:
    directory = make()
    config = LogConfig(segment_bytes=100, retention_ms=0)
    log = directory.create(ORDERS, new_uuid(), config, now_ms=NOW)
    append(log, b"a")
    append(log, b"b")
    log.advance_high_watermark(2)
    assert log.enforce_retention(NOW + 10) == 2
    directory.sweep(NOW + 10)()
    assert list(log.path.glob("*.log.deleted"))
    directory.sweep(NOW + 60_010)()
    assert list(log.path.glob("*.deleted")) == []


def test_strays_are_kept_under_another_name(make: Make) -> None:
    directory = make()
    directory.create(ORDERS, new_uuid(), LogConfig(), now_ms=NOW)
    kept = directory.set_aside_stray(ORDERS)
    assert kept.name.endswith("-stray")
    directory.close()
    assert make().logs == {}


def test_identity_survives(tmp_path: Path) -> None:
    meta = MetaProperties(3, "cluster", new_uuid())
    write_meta_properties(tmp_path, meta)
    assert read_meta_properties(tmp_path) == meta


def test_identity_is_read_with_java_s_escapes(tmp_path: Path) -> None:
    name = show_uuid(new_uuid())
    (tmp_path / "meta.properties").write_text(
        "#\n#Mon Nov 16 12:13:50 UTC 2026\n"
        f"node.id=1\ndirectory.id={name}\nversion=1\ncluster.id=ciWo7IWazngRchmPES6q5A\\=\\=\n"
    )
    expected = MetaProperties(1, "ciWo7IWazngRchmPES6q5A==", parse_uuid(name))
    assert read_meta_properties(tmp_path) == expected


@pytest.mark.parametrize("text", ["version=1\n", "version=1\nnode.id=\\u12\n", "version=2\n"])
def test_a_file_that_does_not_tell_whose_directory_it_is_is_refused(
    tmp_path: Path, text: str
) -> None:
    (tmp_path / "meta.properties").write_text(text)
    with pytest.raises(OttlaError, match=r"meta.properties"):
        read_meta_properties(tmp_path)


@pytest.mark.parametrize(
    ("name", "partition"),
    [
        ("a-b-12", TopicPartition("a-b", 12)),
        ("orders-0.0123456789abcdef0123456789abcdef-delete", None),
        ("orders-0.0123456789abcdef0123456789abcdef-stray", None),
        ("orders-0.0123456789abcdef0123456789abcdef-future", None),
        ("lost+found", None),
    ],
)
def test_directories_are_told_apart(name: str, partition: TopicPartition | None) -> None:
    assert parse_partition(name) == partition


def test_a_full_disk_refuses_and_comes_back(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = make()
    log = directory.create(ORDERS, new_uuid(), LogConfig(), now_ms=NOW)
    append(log, b"before")

    def no_room(*_: object) -> int:
        raise OSError(ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("ottla.log.segment.os.pwritev", no_room)
        with pytest.raises(KafkaError) as refused:
            append(log, b"refused")
        assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert values_from(log, 0) == [b"before"]
    assert directory.health.full
    assert directory.health.failure is None
    assert directory.health.check_space()
    assert append(log, b"after").first_offset == 1


def test_a_directory_that_failed_is_never_written_again(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = make()
    log = directory.create(ORDERS, new_uuid(), LogConfig(), now_ms=NOW)

    def broken(*_: object) -> int:
        raise OSError(EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr("ottla.log.segment.os.pwritev", broken)
        with pytest.raises(KafkaError):
            append(log, b"lost")
    with pytest.raises(KafkaError) as refused:
        append(log, b"refused")
    assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    directory.close(broker_epoch=1)
    assert not (directory.path / ".kafka_cleanshutdown").exists()
