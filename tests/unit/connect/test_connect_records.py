"""Records of Connect's topics, as a Connect 4.3.1 was seen to write them."""

import pytest

from ottla.connect import records
from ottla.connect.java_map import hash_order
from ottla.connect.records import STOPPED, Status
from ottla.connect.state import ClusterState, ConfigChanged, Removed, RestartAsked, TargetChanged
from ottla.serving.partitioning import partition_of

SINK = {
    "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
    "tasks.max": "2",
    "file": "/tmp/out.txt",
    "topics": "lines",
    "name": "snk",
    "task.class": "org.apache.kafka.connect.file.FileStreamSinkTask",
}


def test_a_task_is_written_in_the_order_of_a_hash_map() -> None:
    assert records.task("snk", 1, SINK) == (
        b"task-snk-1",
        b'{"properties":{"connector.class":"org.apache.kafka.connect.file.FileStreamSinkConnector",'
        b'"file":"/tmp/out.txt","task.class":"org.apache.kafka.connect.file.FileStreamSinkTask",'
        b'"tasks.max":"2","topics":"lines","name":"snk"}}',
    )


def test_stopped_is_paused_for_older_workers() -> None:
    assert records.target_state("a", STOPPED) == (
        b"target-state-a",
        b'{"state":"PAUSED","state.v2":"STOPPED"}',
    )


def test_a_status_has_every_field() -> None:
    status = Status(state="RUNNING", worker_id="127.0.0.1:8083", generation=3, version="4.3.1")
    assert records.task_status("src", 0, status)[1] == (
        b'{"state":"RUNNING","trace":null,"worker_id":"127.0.0.1:8083","generation":3,'
        b'"version":"4.3.1"}'
    )


def test_an_offset_keeps_the_order_of_its_fields() -> None:
    assert records.offset("src", {"filename": "/a b"}, {"position": 7}) == (
        b'["src",{"filename":"/a b"}]',
        b'{"position":7}',
    )
    assert records.offset("src", None, None) == (b'["src",null]', None)


@pytest.mark.parametrize(
    ("key", "partitions", "partition"),
    [
        (b'["src",null]', 25, 19),
        (b"status-connector-snk", 5, 4),
        (b"status-task-src-0", 5, 1),
        (b"status-connector-late", 5, 0),
    ],
)
def test_keys_go_where_javas_partitioner_sends_them(
    key: bytes, partitions: int, partition: int
) -> None:
    assert partition_of(key, partitions) == partition


def test_a_map_of_many_keys_has_more_buckets() -> None:
    names = [f"key{number}" for number in range(13)]
    assert sorted(hash_order(names)) == sorted(names)
    assert hash_order(["b", "a", "c"]) == ["a", "b", "c"]


def test_tasks_count_from_their_commit_on() -> None:
    state = ClusterState()
    assert state.config_record(*records.connector("snk", {"name": "snk"})) == ConfigChanged("snk")
    state.config_record(*records.task("snk", 0, {"a": "1"}))
    assert state.configs.connectors["snk"].tasks == []
    state.config_record(*records.commit("snk", 1))
    assert state.configs.connectors["snk"].tasks == [{"a": "1"}]
    state.config_record(*records.commit("snk", 2))  # whose tasks were compacted away
    assert state.configs.connectors["snk"].tasks == [{"a": "1"}]


def test_changes_are_told_once() -> None:
    state = ClusterState()
    state.config_record(*records.connector("a-b", {"name": "a-b"}))
    stopped = records.target_state("a-b", STOPPED)
    assert state.config_record(*stopped) == TargetChanged("a-b")
    assert state.config_record(*stopped) is None
    asked = records.restart("a-b", include_tasks=True, only_failed=False)
    assert state.config_record(*asked) == RestartAsked("a-b", True, False)
    assert state.config_record(*records.connector("a-b", None)) == Removed("a-b")
    assert state.config_record(*records.connector("a-b", None)) is None


def test_what_cannot_be_read_is_passed_over() -> None:
    state = ClusterState()
    for key, value in ((b"connector-x", b"[]"), (b"commit-x", b"{"), (b"later-than-us", b"{}")):
        assert state.config_record(key, value) is None
    state.status_record(b"status-connector-x", b'{"state":1}')
    state.offset_record(b"no json", b"{}")
    assert not state.configs.connectors
