"""Topics: names, placement, assignments by hand, partitions added, deletion."""

import asyncio
import time
from collections import Counter
from random import Random

import pytest

from ottla.config.settings import Settings
from ottla.controller.topics import create_topics
from ottla.errors import ErrorCode, KafkaError
from ottla.ids import UNASSIGNED_DIRECTORY
from ottla.wire.codec import encode
from ottla.wire.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from ottla.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from ottla.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from ottla.wire.records.metadata import ClearElrRecord, ConfigRecord, PartitionRecord, TopicRecord
from support.metadata import Cluster


@pytest.mark.parametrize("name", ["", ".", "..", "a" * 250, "a/b", "naïve", "a b", "../../etc"])
def test_an_illegal_name_is_refused(cluster: Cluster, name: str) -> None:
    assert cluster.create(name).error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert cluster.image.topics_by_name == {}


def test_names_that_differ_in_dots_and_underscores_only_collide(cluster: Cluster) -> None:
    assert cluster.create("a.b").error_code == 0
    refused = cluster.create("a_b")
    assert refused.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert "'a.b'" in (refused.error_message or "")


def test_the_records_of_a_topic_come_in_kafkas_order(cluster: Cluster) -> None:
    cluster.create("alpha", partitions=2, configs={"min.insync.replicas": "1"})
    kinds = [type(record) for record in cluster.last]
    assert kinds == [TopicRecord, ConfigRecord, ClearElrRecord, PartitionRecord, PartitionRecord]


def test_minus_one_means_the_default() -> None:
    cluster = Cluster({"num.partitions": "3"})
    cluster.broker(1)
    cluster.create("alpha", partitions=-1, replication_factor=-1)
    assert len(cluster.image.topics_by_name["alpha"].partitions) == 3
    cluster.close()


def test_each_topic_of_a_request_gets_its_own_answer(cluster: Cluster) -> None:
    cluster.create("there")
    topics = [
        CreatableTopic(name="there", num_partitions=1, replication_factor=1),
        CreatableTopic(name="zero", num_partitions=0, replication_factor=1),
        CreatableTopic(name="three", num_partitions=1, replication_factor=3),
        CreatableTopic(name="fine", num_partitions=1, replication_factor=1),
        CreatableTopic(name="twice", num_partitions=1, replication_factor=1),
        CreatableTopic(name="twice", num_partitions=1, replication_factor=1),
    ]
    response = cluster.wait(cluster.controller.create_topics(CreateTopicsRequest(topics=topics)))
    assert [topic.error_code for topic in response.topics] == [
        ErrorCode.TOPIC_ALREADY_EXISTS,
        ErrorCode.INVALID_PARTITIONS,
        ErrorCode.INVALID_REPLICATION_FACTOR,
        ErrorCode.NONE,
        ErrorCode.INVALID_REQUEST,
    ]
    assert set(cluster.image.topics_by_name) == {"there", "fine"}


def test_too_many_partitions_refuse_the_whole_request(cluster: Cluster) -> None:
    with pytest.raises(KafkaError) as refusal:
        cluster.create("huge", partitions=1_000_000)
    assert refusal.value.code == ErrorCode.POLICY_VIOLATION


@pytest.mark.parametrize("setting", [("retention.ms", "soon"), ("no.such.thing", "1")])
def test_a_bad_setting_refuses_the_topic(cluster: Cluster, setting: tuple[str, str]) -> None:
    refused = cluster.create("alpha", configs=dict([setting]))
    assert refused.error_code == ErrorCode.INVALID_CONFIG


def test_validating_only_changes_nothing(cluster: Cluster) -> None:
    ask = CreateTopicsRequest(
        topics=[CreatableTopic(name="alpha", num_partitions=2, replication_factor=1)],
        validate_only=True,
    )
    result = cluster.wait(cluster.controller.create_topics(ask)).topics[0]
    assert (result.error_code, result.num_partitions) == (0, 2)
    assert cluster.image.topics_by_name == {}


def test_a_reply_describes_the_settings_of_the_new_topic(cluster: Cluster) -> None:
    result = cluster.create("alpha", configs={"retention.ms": "1000"})
    described = {config.name: config for config in result.configs or []}
    assert described["retention.ms"].value == "1000"
    assert described["retention.ms"].config_source == 1
    assert described["cleanup.policy"].config_source == 5
    assert list(described) == sorted(described)


def test_replicas_are_spread_over_racks_then_over_brokers() -> None:
    cluster = Cluster()
    for broker in range(1, 7):
        cluster.broker(broker, rack="abc"[broker % 3])
    cluster.create("alpha", partitions=60, replication_factor=3)
    partitions = [cluster.partition("alpha", index) for index in range(60)]
    for partition in partitions:
        assert len({replica % 3 for replica in partition.replicas}) == 3
    leaders = Counter(partition.leader for partition in partitions)
    replicas = Counter(one for partition in partitions for one in partition.replicas)
    assert set(leaders.values()) == {10}
    assert set(replicas.values()) == {30}
    cluster.close()


def test_a_topic_is_led_by_the_living_only() -> None:
    cluster = Cluster()
    cluster.broker(1)
    cluster.register(2)
    cluster.create("alpha", partitions=4, replication_factor=2)
    assert {cluster.partition("alpha", index).leader for index in range(4)} == {1}
    assert {cluster.partition("alpha", index).isr for index in range(4)} == {(1,)}
    cluster.close()


def test_a_broker_that_has_stopped_gets_replicas_and_one_that_is_about_to_stop_gets_none() -> None:
    cluster = Cluster()
    for broker in (1, 2, 3):
        cluster.broker(broker)
    cluster.create("led", partitions=3, replication_factor=3)
    assert not cluster.heartbeat(3, want_shut_down=True).should_shut_down
    refused = cluster.create("alpha", replication_factor=3)
    assert refused.error_code == ErrorCode.INVALID_REPLICATION_FACTOR
    for broker in (1, 2):
        cluster.heartbeat(broker)
    assert cluster.heartbeat(3, want_shut_down=True).should_shut_down
    assert cluster.create("alpha", replication_factor=3).error_code == ErrorCode.NONE
    assert set(cluster.partition("alpha").replicas) == {1, 2, 3}
    assert set(cluster.partition("alpha").isr) == {1, 2}
    cluster.close()


def test_with_several_directories_the_broker_chooses_later() -> None:
    cluster = Cluster()
    cluster.broker(1, directories=[b"x" * 16, b"y" * 16])
    cluster.create("alpha")
    assert cluster.partition("alpha").directories == (UNASSIGNED_DIRECTORY,)
    cluster.close()


def manual(*assignments: tuple[int, list[int]], partitions: int = -1) -> CreateTopicsRequest:
    topic = CreatableTopic(
        name="alpha",
        num_partitions=partitions,
        replication_factor=-1,
        assignments=[
            CreatableReplicaAssignment(partition_index=index, broker_ids=brokers)
            for index, brokers in assignments
        ],
    )
    return CreateTopicsRequest(topics=[topic])


@pytest.mark.parametrize(
    ("ask", "code"),
    [
        (manual((0, [1]), (1, [1])), ErrorCode.NONE),
        (manual((0, [1]), partitions=1), ErrorCode.INVALID_REQUEST),
        (manual((0, [1]), (0, [1])), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (manual((0, [1]), (2, [1])), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (manual((0, [1, 1])), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (manual((0, [7])), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (manual((0, [])), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ],
)
def test_an_assignment_by_hand(cluster: Cluster, ask: CreateTopicsRequest, code: int) -> None:
    assert cluster.wait(cluster.controller.create_topics(ask)).topics[0].error_code == code


@pytest.mark.parametrize(
    ("count", "assignments", "code"),
    [
        (3, None, ErrorCode.NONE),
        (2, None, ErrorCode.INVALID_PARTITIONS),
        (1, None, ErrorCode.INVALID_PARTITIONS),
        (3, [[1]], ErrorCode.NONE),
        (3, [[1], [1]], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (3, [[1, 2]], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ],
)
def test_partitions_are_added(
    cluster: Cluster, count: int, assignments: list[list[int]] | None, code: int
) -> None:
    cluster.create("alpha", partitions=2)
    given = None
    if assignments is not None:
        given = [CreatePartitionsAssignment(broker_ids=brokers) for brokers in assignments]
    topic = CreatePartitionsTopic(name="alpha", count=count, assignments=given)
    ask = CreatePartitionsRequest(topics=[topic])
    result = cluster.wait(cluster.controller.create_partitions(ask)).results[0]
    assert result.error_code == code
    expected = count if code == 0 else 2
    assert len(cluster.image.topics_by_name["alpha"].partitions) == expected


def test_topics_are_deleted_by_name_and_by_id(cluster: Cluster) -> None:
    first, second = cluster.create("alpha"), cluster.create("beta")
    cluster.create("gamma")
    ask = DeleteTopicsRequest(
        topics=[
            DeleteTopicState(name="alpha"),
            DeleteTopicState(topic_id=second.topic_id),
            DeleteTopicState(name="missing"),
            DeleteTopicState(topic_id=bytes(15) + b"\x09"),
        ]
    )
    responses = cluster.wait(cluster.controller.delete_topics(ask)).responses
    assert [(one.name, one.error_code) for one in responses] == [
        ("alpha", 0),
        ("beta", 0),
        ("missing", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (None, ErrorCode.UNKNOWN_TOPIC_ID),
    ]
    assert responses[0].topic_id == first.topic_id
    assert list(cluster.image.topics_by_name) == ["gamma"]


def test_requests_in_flight_see_each_other(cluster: Cluster) -> None:
    cluster.log.hold = True

    async def both() -> list[int]:
        ask = CreateTopicsRequest(
            topics=[CreatableTopic(name="alpha", num_partitions=1, replication_factor=1)]
        )
        first = asyncio.ensure_future(cluster.controller.create_topics(ask))
        second = asyncio.ensure_future(cluster.controller.create_topics(ask))
        await asyncio.sleep(0)
        assert not first.done()
        assert not second.done()  # the refusal waits for what it rests on
        for commit in cluster.log.held:
            commit()
        return [(await one).topics[0].error_code for one in (first, second)]

    assert cluster.wait(both()) == [0, ErrorCode.TOPIC_ALREADY_EXISTS]


def test_a_thousand_partitions_are_created_quickly(cluster: Cluster) -> None:
    ask = CreateTopicsRequest(
        topics=[
            CreatableTopic(name=f"topic-{n}", num_partitions=2, replication_factor=1)
            for n in range(500)
        ]
    )
    create_topics(cluster.image, Settings({}), ask, Random(1))  # what is compiled once
    began = time.process_time()
    response = cluster.wait(cluster.controller.create_topics(ask))
    encode(response, 7)
    spent = time.process_time() - began
    assert len(cluster.image.topics_by_name) == 500
    assert spent < 0.5  # 0.1 s on the reference machine, alone


def test_a_broker_whose_directories_are_all_cordoned_gets_nothing_new(cluster: Cluster) -> None:
    here, there = b"a" * 16, b"b" * 16
    cluster.broker(2, directories=[here, there])
    cluster.heartbeat(2, cordoned_log_dirs=[here])
    assert cluster.create("some", replication_factor=2).error_code == 0
    cluster.heartbeat(2, cordoned_log_dirs=[here, there])
    refused = cluster.create("more", replication_factor=2)
    assert refused.error_code == ErrorCode.INVALID_REPLICATION_FACTOR
    assert cluster.create("fewer", partitions=4).error_code == 0
    assert {cluster.partition("fewer", index).replicas for index in range(4)} == {(1,)}
    cluster.heartbeat(2, cordoned_log_dirs=[])
    assert cluster.create("more", replication_factor=2).error_code == 0
