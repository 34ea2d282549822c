"""Metadata, DescribeCluster, DescribeTopicPartitions and the APIs that make topics."""

import time
import uuid
from contextlib import suppress
from typing import Any

import pytest
from kio.schema.errors import ErrorCode

from support.brokers import START_SECONDS_MAX, Kind, running
from support.confluent import create_topic, wait_until
from support.homes import Home
from support.wire import Connection
from system.conformance.raw_topics import MakeRawTopic, RawTopic


def test_no_list_means_all_topics_and_an_empty_list_none(
    connection: Connection, raw_topic: RawTopic
) -> None:
    every = connection.ask("metadata", 12, topics=None)
    assert raw_topic.name in {topic.name for topic in every.topics}
    assert connection.ask("metadata", 12, topics=[]).topics == ()
    in_version_0 = connection.ask("metadata", 0, topics=[])
    assert raw_topic.name in {topic.name for topic in in_version_0.topics}


def test_the_cluster_and_its_node_are_told(connection: Connection, bootstrap: str) -> None:
    reply = connection.ask("metadata", 12, topics=[])
    [node] = reply.brokers
    assert (node.node_id, f"{node.host}:{node.port}", node.rack) == (1, bootstrap, None)
    assert reply.controller_id == 1
    assert len(reply.cluster_id) == 22


def test_the_first_answer_after_a_start_names_the_broker_and_its_leads(
    broker_kind: Kind, home: Home
) -> None:
    """When it hears of a cluster of no brokers, librdkafka forgets even where it began."""
    with running(broker_kind, home) as broker:
        create_topic(home.bootstrap, "t")
        for _ in range(3):
            broker.stop()
            broker.launch()
            reply = first_answer(home.bootstrap)
            assert [node.node_id for node in reply.brokers] == [1]
            assert reply.topics[0].partitions[0].leader_id == 1


def first_answer(bootstrap: str) -> Any:
    """Asked again and again without a pause: what is wrong only for a moment must be seen."""
    deadline = time.monotonic() + START_SECONDS_MAX
    while time.monotonic() < deadline:
        with suppress(ConnectionError), Connection(bootstrap) as connection:
            return connection.ask("metadata", 12, topics=[{"name": "t"}])
    raise AssertionError("the broker did not answer in time")


@pytest.mark.parametrize("version", range(14))
def test_every_version_describes_a_topic(
    connection: Connection, raw_topic: RawTopic, version: int
) -> None:
    reply = connection.ask("metadata", version, topics=[{"name": raw_topic.name}])
    [topic] = reply.topics
    assert (topic.error_code, topic.name) == (ErrorCode.none, raw_topic.name)
    [partition] = topic.partitions
    assert partition.leader_id == 1
    assert (partition.replica_nodes, partition.isr_nodes) == ((1,), (1,))
    if version >= 10:
        assert topic.topic_id == raw_topic.id


def test_a_topic_is_found_by_its_id(connection: Connection, raw_topic: RawTopic) -> None:
    [known] = connection.ask(
        "metadata", 12, topics=[{"topic_id": raw_topic.id, "name": None}]
    ).topics
    assert (known.error_code, known.name) == (ErrorCode.none, raw_topic.name)
    nobodys = uuid.uuid4()
    [unknown] = connection.ask("metadata", 12, topics=[{"topic_id": nobodys, "name": None}]).topics
    assert unknown.error_code == ErrorCode.unknown_topic_id
    assert (unknown.topic_id, unknown.name) == (nobodys, None)


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a b", "x" * 250, "ä"])
def test_an_illegal_name_is_told(connection: Connection, name: str) -> None:
    [topic] = connection.ask("metadata", 12, topics=[{"name": name}]).topics
    assert topic.error_code == ErrorCode.invalid_topic_exception


def test_an_absent_topic_is_made_only_when_asked(connection: Connection) -> None:
    name = f"absent-{uuid.uuid4().hex[:8]}"
    asked = [{"name": name}]
    [absent] = connection.ask("metadata", 12, topics=asked, allow_auto_topic_creation=False).topics
    assert absent.error_code == ErrorCode.unknown_topic_or_partition
    wait_until(
        lambda: (
            connection.ask("metadata", 12, topics=asked, allow_auto_topic_creation=True)
            .topics[0]
            .error_code
            == ErrorCode.none
        )
    )


@pytest.mark.parametrize("version", [0, 3, 4, 9, 13])
def test_a_topic_that_is_made_on_demand_is_unknown_at_first(
    connection: Connection, version: int
) -> None:
    name = f"on-demand-{uuid.uuid4().hex[:8]}"
    may = {"allow_auto_topic_creation": True} if version >= 4 else {}
    [first] = connection.ask("metadata", version, topics=[{"name": name}], **may).topics
    assert first.error_code == ErrorCode.unknown_topic_or_partition
    assert first.partitions == ()
    wait_until(lambda: is_there(connection, name))


def is_there(connection: Connection, name: str) -> bool:
    asked = {"topics": [{"name": name}], "allow_auto_topic_creation": False}
    return connection.ask("metadata", 12, **asked).topics[0].error_code == ErrorCode.none


def test_each_topic_is_told_once_and_those_that_are_there_come_first(
    connection: Connection, raw_topic: RawTopic
) -> None:
    asked = [{"name": name} for name in ("gone", raw_topic.name, "gone", "a b", raw_topic.name)]
    reply = connection.ask("metadata", 12, topics=asked, allow_auto_topic_creation=False)
    assert [topic.name for topic in reply.topics] == [raw_topic.name, "gone", "a b"]


def test_names_do_not_count_where_a_topic_is_asked_for_by_id(
    connection: Connection, raw_topic: RawTopic, make_raw_topic: MakeRawTopic
) -> None:
    other, nobodys = make_raw_topic(), uuid.uuid4()
    by_id = [{"topic_id": one, "name": None} for one in (raw_topic.id, nobodys)]
    reply = connection.ask("metadata", 12, topics=[{"name": other.name}, *by_id])
    assert [topic.topic_id for topic in reply.topics] == [nobodys, raw_topic.id]


@pytest.mark.parametrize("fields", [{"topic_id": uuid.uuid4(), "name": "t"}, {"name": None}])
@pytest.mark.parametrize("version", [10, 11])
def test_ids_are_refused_before_version_12(
    connection: Connection, version: int, fields: dict[str, Any]
) -> None:
    [topic] = connection.ask("metadata", version, topics=[fields]).topics
    assert (topic.error_code, topic.name) == (ErrorCode.invalid_request, fields["name"] or "")


def test_allowed_operations_are_told_of_unknown_topics_too(
    connection: Connection, raw_topic: RawTopic
) -> None:
    asked = [{"name": raw_topic.name}, {"name": "gone"}, {"name": "a b"}]
    for version in (8, 13):
        reply = connection.ask(
            "metadata",
            version,
            topics=asked,
            allow_auto_topic_creation=False,
            include_topic_authorized_operations=True,
        )
        assert {topic.topic_authorized_operations for topic in reply.topics} == {3576}
    nobodys = [{"topic_id": uuid.uuid4(), "name": None}]
    reply = connection.ask("metadata", 13, topics=nobodys, include_topic_authorized_operations=True)
    assert reply.topics[0].topic_authorized_operations == -(2**31)


def test_the_cluster_is_described(connection: Connection, bootstrap: str) -> None:
    reply = connection.ask("describe_cluster", 1, endpoint_type=1)
    assert (reply.error_code, reply.controller_id) == (ErrorCode.none, 1)
    assert [(b.broker_id, f"{b.host}:{b.port}") for b in reply.brokers] == [(1, bootstrap)]
    assert (
        connection.ask("describe_cluster", 1, endpoint_type=2).error_code
        == ErrorCode.mismatched_endpoint_type
    )


def test_topic_partitions_come_in_pages(
    connection: Connection, make_raw_topic: MakeRawTopic
) -> None:
    topic = make_raw_topic(partitions=5)
    page = connection.ask(
        "describe_topic_partitions",
        0,
        topics=[{"name": topic.name}],
        response_partition_limit=3,
        cursor=None,
    )
    [part] = page.topics
    assert [p.partition_index for p in part.partitions] == [0, 1, 2]
    assert all(p.eligible_leader_replicas in ((), None) for p in part.partitions)
    assert (page.next_cursor.topic_name, page.next_cursor.partition_index) == (topic.name, 3)
    rest = connection.ask(
        "describe_topic_partitions",
        0,
        topics=[{"name": topic.name}],
        response_partition_limit=3,
        cursor={"topic_name": topic.name, "partition_index": 3},
    )
    assert [p.partition_index for p in rest.topics[0].partitions] == [3, 4]
    assert rest.next_cursor is None


def pages(connection: Connection, names: list[str], limit: int, cursor: Any = None) -> Any:
    return connection.ask(
        "describe_topic_partitions",
        0,
        topics=[{"name": name} for name in names],
        response_partition_limit=limit,
        cursor=cursor,
    )


@pytest.mark.parametrize("limit", [0, -1, -(2**31)])
def test_a_page_has_at_least_one_partition(
    connection: Connection, make_raw_topic: MakeRawTopic, limit: int
) -> None:
    topic = make_raw_topic(partitions=2)
    page = pages(connection, [topic.name], limit)
    assert [p.partition_index for p in page.topics[0].partitions] == [0]
    assert (page.next_cursor.topic_name, page.next_cursor.partition_index) == (topic.name, 1)


def test_a_full_page_points_to_the_next_topic_whether_it_is_there_or_not(
    connection: Connection, make_raw_topic: MakeRawTopic
) -> None:
    topic = make_raw_topic(partitions=2)
    page = pages(connection, [topic.name, f"{topic.name}-absent"], 2)
    assert [one.name for one in page.topics] == [topic.name]
    assert page.next_cursor.topic_name == f"{topic.name}-absent"
    assert page.next_cursor.partition_index == 0
    cursor = {"topic_name": f"{topic.name}-absent", "partition_index": 0}
    rest = pages(connection, [topic.name, f"{topic.name}-absent"], 2, cursor)
    assert [one.error_code for one in rest.topics] == [ErrorCode.unknown_topic_or_partition]
    assert rest.next_cursor is None


def test_a_cursor_beyond_the_last_partition_gives_an_empty_topic(
    connection: Connection, make_raw_topic: MakeRawTopic
) -> None:
    topic = make_raw_topic(partitions=2)
    page = pages(connection, [topic.name], 5, {"topic_name": topic.name, "partition_index": 7})
    assert [(one.name, one.partitions) for one in page.topics] == [(topic.name, ())]
    assert page.next_cursor is None


@pytest.mark.parametrize(
    ("cursor_topic", "partition"), [("aaa", 0), ("zzz", 0), ("known", -1)], ids=str
)
def test_a_cursor_must_be_at_a_topic_that_was_asked_for(
    connection: Connection, raw_topic: RawTopic, cursor_topic: str, partition: int
) -> None:
    at = raw_topic.name if cursor_topic == "known" else cursor_topic
    page = pages(connection, [raw_topic.name], 5, {"topic_name": at, "partition_index": partition})
    assert [one.error_code for one in page.topics] == [ErrorCode.invalid_request]


def create(
    connection: Connection, *topics: dict[str, Any], version: int = 7, validate_only: bool = False
) -> Any:
    return connection.ask(
        "create_topics", version, topics=list(topics), timeout=10_000, validate_only=validate_only
    ).topics


def wanted(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "num_partitions": 1, "replication_factor": 1, **fields}


def test_defaults_are_filled_in_and_told(connection: Connection) -> None:
    name = f"defaults-{uuid.uuid4().hex[:8]}"
    [made] = create(connection, wanted(name, num_partitions=-1, replication_factor=-1))
    assert made.error_code == ErrorCode.none
    assert (made.num_partitions, made.replication_factor) == (1, 1)
    configs = {config.name: config for config in made.configs}
    assert configs["cleanup.policy"].value == "delete"
    assert configs["cleanup.policy"].config_source == 5  # a default


def test_a_name_twice_in_one_request_is_refused(connection: Connection) -> None:
    name = f"twice-{uuid.uuid4().hex[:8]}"
    replies = create(connection, wanted(name), wanted(name))
    assert {reply.error_code for reply in replies} == {ErrorCode.invalid_request}


def test_assignments_and_counts_exclude_each_other(connection: Connection) -> None:
    assignment = [{"partition_index": 0, "broker_ids": [1]}]
    [reply] = create(connection, wanted("both", assignments=assignment))
    assert reply.error_code == ErrorCode.invalid_request


def test_assignments_must_be_gapless_and_name_known_brokers(connection: Connection) -> None:
    def refused(*assignments: tuple[int, list[int]]) -> ErrorCode:
        asked = [{"partition_index": n, "broker_ids": ids} for n, ids in assignments]
        [reply] = create(
            connection,
            wanted("assigned", num_partitions=-1, replication_factor=-1, assignments=asked),
        )
        return reply.error_code

    assert refused((1, [1])) == ErrorCode.invalid_replica_assignment
    assert refused((0, [1, 1])) == ErrorCode.invalid_replica_assignment
    assert refused((0, [])) == ErrorCode.invalid_replica_assignment


def test_topics_are_deleted_by_id_and_unknown_ids_are_told(
    connection: Connection, raw_topic: RawTopic
) -> None:
    asked = [{"topic_id": raw_topic.id, "name": None}, {"topic_id": uuid.uuid4(), "name": None}]
    known, unknown = connection.ask("delete_topics", 6, topics=asked, timeout=5000).responses
    assert (known.error_code, known.name) == (ErrorCode.none, raw_topic.name)
    assert unknown.error_code == ErrorCode.unknown_topic_id


def test_partitions_of_an_unknown_topic_cannot_grow(connection: Connection) -> None:
    reply = connection.ask(
        "create_partitions",
        3,
        topics=[{"name": "never-made", "count": 3, "assignments": None}],
        timeout=5000,
    )
    assert reply.results[0].error_code == ErrorCode.unknown_topic_or_partition


def describe_configs(connection: Connection, kind: int, name: str, **fields: Any) -> Any:
    asked = {"resource_type": kind, "resource_name": name, "configuration_keys": None, **fields}
    return connection.ask("describe_configs", 4, resources=[asked], include_synonyms=True).results[
        0
    ]


def test_one_config_is_described_with_what_it_overrides(
    connection: Connection, make_raw_topic: MakeRawTopic
) -> None:
    topic = make_raw_topic(segment_bytes="2000000")
    names = ["segment.bytes", "retention.ms"]
    reply = describe_configs(connection, 2, topic.name, configuration_keys=names)
    configs = {config.name: config for config in reply.configs}
    default, changed = configs["retention.ms"], configs["segment.bytes"]
    assert (default.value, default.config_source, default.synonyms) == ("604800000", 5, ())
    assert (changed.value, changed.config_source) == ("2000000", 1)
    assert (changed.config_type, default.config_type) == (3, 5)  # an int, a long
    assert [(s.name, s.value, s.source) for s in changed.synonyms] == [
        ("segment.bytes", "2000000", 1),
        ("log.segment.bytes", "1073741824", 5),
    ]


@pytest.mark.parametrize(
    ("kind", "name", "error"),
    [
        (2, "never-made", ErrorCode.unknown_topic_or_partition),
        (2, "bad name", ErrorCode.invalid_topic_exception),
        (4, "7", ErrorCode.invalid_request),
        (4, "one", ErrorCode.invalid_request),
        (99, "x", ErrorCode.invalid_request),
    ],
)
def test_configs_of_what_is_not_there_are_refused(
    connection: Connection, kind: int, name: str, error: ErrorCode
) -> None:
    assert describe_configs(connection, kind, name).error_code == error
