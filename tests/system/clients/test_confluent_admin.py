"""librdkafka's admin client: topics, configs, partitions, offsets, records, groups."""

from concurrent.futures import Future
from typing import Any

import pytest
from confluent_kafka import (
    Consumer,
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from support.confluent import SECONDS_MAX, poll_until, produce, take, wait_until
from system.clients.conftest import MakeTopic


def code_of(future: Future[Any]) -> int:
    with pytest.raises(KafkaException) as refused:
        future.result(SECONDS_MAX)
    return int(refused.value.args[0].code())


def topic_config(admin: AdminClient, topic: str) -> dict[str, ConfigEntry]:
    resource = ConfigResource(ResourceType.TOPIC, topic)
    return dict(admin.describe_configs([resource])[resource].result(SECONDS_MAX))


def test_a_topic_is_created_described_and_deleted(admin: AdminClient, group: str) -> None:
    name = f"made-{group}"
    admin.create_topics([NewTopic(name, 3, 1)])[name].result(SECONDS_MAX)
    described = admin.describe_topics(TopicCollection([name]))[name].result(SECONDS_MAX)
    assert described.name == name
    assert not described.is_internal
    assert [p.id for p in described.partitions] == [0, 1, 2]
    assert all([n.id for n in p.isr] == [1] and p.leader.id == 1 for p in described.partitions)
    admin.delete_topics([name])[name].result(SECONDS_MAX)
    wait_until(lambda: name not in admin.list_topics(timeout=SECONDS_MAX).topics)


@pytest.mark.parametrize(
    ("topic", "code"),
    [
        (NewTopic("bad name", 1, 1), KafkaError.TOPIC_EXCEPTION),
        (NewTopic("..", 1, 1), KafkaError.TOPIC_EXCEPTION),
        (NewTopic("x" * 250, 1, 1), KafkaError.TOPIC_EXCEPTION),
        (NewTopic("no-partitions", 0, 1), KafkaError.INVALID_PARTITIONS),
        (NewTopic("too-many-replicas", 1, 2), KafkaError.INVALID_REPLICATION_FACTOR),
        (NewTopic("bad-value", 1, 1, config={"retention.ms": "soon"}), KafkaError.INVALID_CONFIG),
        (NewTopic("bad-config", 1, 1, config={"no.such": "x"}), KafkaError.INVALID_CONFIG),
        (
            NewTopic("bad-policy", 1, 1, config={"cleanup.policy": "burn"}),
            KafkaError.INVALID_CONFIG,
        ),
        (
            NewTopic("bad-replica", 1, replica_assignment=[[9]]),
            KafkaError.INVALID_REPLICA_ASSIGNMENT,
        ),
    ],
    ids=lambda value: getattr(value, "topic", None),
)
def test_a_bad_topic_is_refused_with_kafkas_error(
    admin: AdminClient, topic: NewTopic, code: int
) -> None:
    assert code_of(admin.create_topics([topic])[topic.topic]) == code


def test_a_topic_that_exists_is_not_created_again(admin: AdminClient, topic: str) -> None:
    future = admin.create_topics([NewTopic(topic, 1, 1)])[topic]
    assert code_of(future) == KafkaError.TOPIC_ALREADY_EXISTS


def test_names_that_differ_in_dot_and_underscore_collide(admin: AdminClient, group: str) -> None:
    dotted, scored = f"{group}.a_b", f"{group}.a.b"
    admin.create_topics([NewTopic(dotted, 1, 1)])[dotted].result(SECONDS_MAX)
    assert code_of(admin.create_topics([NewTopic(scored, 1, 1)])[scored]) == (
        KafkaError.TOPIC_EXCEPTION
    )


def test_validate_only_creates_nothing(admin: AdminClient, group: str) -> None:
    name = f"maybe-{group}"
    topics = [NewTopic(name, 1, 1)]
    admin.create_topics(topics, validate_only=True)[name].result(SECONDS_MAX)
    assert name not in admin.list_topics(timeout=SECONDS_MAX).topics


def test_a_topic_that_is_not_there_cannot_be_deleted(admin: AdminClient) -> None:
    future = admin.delete_topics(["never-made"])["never-made"]
    assert code_of(future) == KafkaError.UNKNOWN_TOPIC_OR_PART


def test_a_deleted_topic_can_be_made_anew_and_is_empty(
    bootstrap: str, admin: AdminClient, topic: str
) -> None:
    produce(bootstrap, topic, [b"old"] * 5)
    admin.delete_topics([topic])[topic].result(SECONDS_MAX)

    def created() -> bool:
        error = admin.create_topics([NewTopic(topic, 1, 1)])[topic].exception(SECONDS_MAX)
        return error is None

    wait_until(created)
    assert produce(bootstrap, topic, [b"new"]) == [0]


def test_partitions_grow_but_never_shrink(admin: AdminClient, topic: str) -> None:
    admin.create_partitions([NewPartitions(topic, 4)])[topic].result(SECONDS_MAX)
    wait_until(lambda: len(admin.list_topics(topic, timeout=5).topics[topic].partitions) == 4)
    fewer = admin.create_partitions([NewPartitions(topic, 2)])[topic]
    assert code_of(fewer) == KafkaError.INVALID_PARTITIONS
    same = admin.create_partitions([NewPartitions(topic, 4)])[topic]
    assert code_of(same) == KafkaError.INVALID_PARTITIONS


def test_configs_are_set_and_reset_one_by_one(admin: AdminClient, make_topic: MakeTopic) -> None:
    topic = make_topic(config={"retention.ms": "1000", "cleanup.policy": "delete"})
    entry = topic_config(admin, topic)["retention.ms"]
    assert (entry.value, entry.is_default) == ("1000", False)
    assert ConfigSource(entry.source) is ConfigSource.DYNAMIC_TOPIC_CONFIG

    def alter(name: str, value: str | None, operation: AlterConfigOpType) -> None:
        change = ConfigEntry(name, value, incremental_operation=operation)
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[change])
        admin.incremental_alter_configs([resource])[resource].result(SECONDS_MAX)

    alter("retention.ms", None, AlterConfigOpType.DELETE)
    alter("cleanup.policy", "compact", AlterConfigOpType.APPEND)
    alter("max.message.bytes", "5000", AlterConfigOpType.SET)
    wait_until(lambda: topic_config(admin, topic)["max.message.bytes"].value == "5000")
    config = topic_config(admin, topic)
    assert config["retention.ms"].value == "604800000"
    assert ConfigSource(config["retention.ms"].source) is ConfigSource.DEFAULT_CONFIG
    assert config["cleanup.policy"].value == "delete,compact"
    alter("cleanup.policy", "delete", AlterConfigOpType.SUBTRACT)
    wait_until(lambda: topic_config(admin, topic)["cleanup.policy"].value == "compact")


@pytest.mark.parametrize(
    ("name", "value"),
    [("retention.ms", "soon"), ("no.such.config", "1"), ("min.insync.replicas", "0")],
)
def test_a_bad_config_is_refused(admin: AdminClient, topic: str, name: str, value: str) -> None:
    change = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[change])
    future = admin.incremental_alter_configs([resource])[resource]
    assert code_of(future) == KafkaError.INVALID_CONFIG


def test_a_topics_configs_come_with_kafkas_defaults(admin: AdminClient, topic: str) -> None:
    values = {name: entry.value for name, entry in topic_config(admin, topic).items()}
    assert values == {
        "cleanup.policy": "delete",
        "compression.gzip.level": "-1",
        "compression.lz4.level": "9",
        "compression.type": "producer",
        "compression.zstd.level": "3",
        "delete.retention.ms": "86400000",
        "file.delete.delay.ms": "60000",
        "flush.messages": "9223372036854775807",
        "flush.ms": "9223372036854775807",
        "follower.replication.throttled.replicas": "",
        "index.interval.bytes": "4096",
        "leader.replication.throttled.replicas": "",
        "local.retention.bytes": "-2",
        "local.retention.ms": "-2",
        "max.compaction.lag.ms": "9223372036854775807",
        "max.message.bytes": "1048588",
        "message.timestamp.after.max.ms": "3600000",
        "message.timestamp.before.max.ms": "9223372036854775807",
        "message.timestamp.type": "CreateTime",
        "min.cleanable.dirty.ratio": "0.5",
        "min.compaction.lag.ms": "0",
        "min.insync.replicas": "1",
        "preallocate": "false",
        "remote.log.copy.disable": "false",
        "remote.log.delete.on.disable": "false",
        "remote.storage.enable": "false",
        "retention.bytes": "-1",
        "retention.ms": "604800000",
        "segment.bytes": "1073741824",
        "segment.index.bytes": "10485760",
        "segment.jitter.ms": "0",
        "segment.ms": "604800000",
        "unclean.leader.election.enable": "false",
    }


def test_offsets_are_listed_by_kind(bootstrap: str, admin: AdminClient, topic: str) -> None:
    produce(bootstrap, topic, [b"v"] * 5)
    place = TopicPartition(topic, 0)

    def offset(spec: OffsetSpec) -> int:
        return int(admin.list_offsets({place: spec})[place].result(SECONDS_MAX).offset)

    assert offset(OffsetSpec.earliest()) == 0
    assert offset(OffsetSpec.latest()) == 5
    assert offset(OffsetSpec.for_timestamp(0)) == 0
    assert 0 <= offset(OffsetSpec.max_timestamp()) < 5


def test_deleted_records_are_gone_from_the_start(
    bootstrap: str, admin: AdminClient, topic: str
) -> None:
    produce(bootstrap, topic, [b"%d" % n for n in range(10)])
    place = TopicPartition(topic, 0, 4)
    deleted = admin.delete_records([place])[place].result(SECONDS_MAX)
    assert deleted.low_watermark == 4
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": topic})
    assert consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=10) == (4, 10)
    consumer.close()
    beyond = TopicPartition(topic, 0, 11)
    assert code_of(admin.delete_records([beyond])[beyond]) == KafkaError.OFFSET_OUT_OF_RANGE


def test_the_cluster_names_its_node_and_controller(bootstrap: str, admin: AdminClient) -> None:
    cluster = admin.describe_cluster().result(SECONDS_MAX)
    assert [f"{node.host}:{node.port}" for node in cluster.nodes] == [bootstrap]
    assert cluster.controller.id == 1
    assert len(cluster.cluster_id) == 22


def test_a_group_is_listed_described_altered_and_deleted(
    bootstrap: str, admin: AdminClient, topic: str, group: str
) -> None:
    produce(bootstrap, topic, [b"v"] * 10)
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "client.id": "the-client",
            "auto.offset.reset": "earliest",
            "partition.assignment.strategy": "range",
        }
    )
    consumer.subscribe([topic])
    consumer.commit(message=take(consumer, 3)[-1], asynchronous=False)

    described = admin.describe_consumer_groups([group])[group].result(SECONDS_MAX)
    assert described.state == ConsumerGroupState.STABLE
    assert described.partition_assignor == "range"
    [member] = described.members
    assert member.client_id == "the-client"
    assert member.assignment.topic_partitions == [TopicPartition(topic, 0)]
    assert code_of(admin.delete_consumer_groups([group])[group]) == KafkaError.NON_EMPTY_GROUP

    consumer.close()
    wait_until(
        lambda: (
            admin.describe_consumer_groups([group])[group].result(SECONDS_MAX).state
            == ConsumerGroupState.EMPTY
        )
    )
    listed = admin.list_consumer_groups().result(SECONDS_MAX).valid
    assert group in {entry.group_id for entry in listed}

    new_offsets = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0, 7)])
    admin.alter_consumer_group_offsets([new_offsets])[group].result(SECONDS_MAX)
    asked = [ConsumerGroupTopicPartitions(group)]
    found = admin.list_consumer_group_offsets(asked)[group].result(SECONDS_MAX)
    assert [(p.topic, p.partition, p.offset) for p in found.topic_partitions] == [(topic, 0, 7)]

    admin.delete_consumer_groups([group])[group].result(SECONDS_MAX)
    assert code_of(admin.delete_consumer_groups([group])[group]) == KafkaError.GROUP_ID_NOT_FOUND


def test_a_group_that_was_never_there_is_dead(admin: AdminClient, group: str) -> None:
    """Below version 6 of DescribeGroups such a group is called dead, not missing."""
    described = admin.describe_consumer_groups([group])[group].result(SECONDS_MAX)
    assert described.state == ConsumerGroupState.DEAD
    assert described.members == []


def test_offsets_of_a_running_group_cannot_be_altered(
    bootstrap: str, admin: AdminClient, topic: str, group: str
) -> None:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    consumer.subscribe([topic])
    poll_until(lambda: bool(consumer.assignment()), consumer)
    change = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0, 0)])
    altered = admin.alter_consumer_group_offsets([change])[group].result(SECONDS_MAX)
    [place] = altered.topic_partitions
    assert place.error.code() == KafkaError.UNKNOWN_MEMBER_ID
    consumer.close()


def test_the_brokers_configs_are_described(admin: AdminClient) -> None:
    resource = ConfigResource(ResourceType.BROKER, "1")
    config = admin.describe_configs([resource])[resource].result(SECONDS_MAX)
    assert config["node.id"].value == "1"
    assert config["node.id"].is_read_only
    assert config["group.initial.rebalance.delay.ms"].value == "0"
    assert config["num.partitions"].value == "1"
    assert config["log.retention.hours"].value == "168"


def test_a_brokers_config_changes_while_it_runs(admin: AdminClient) -> None:
    def alter(value: str | None, operation: AlterConfigOpType) -> None:
        change = ConfigEntry("log.cleaner.threads", value, incremental_operation=operation)
        resource = ConfigResource(ResourceType.BROKER, "1", incremental_configs=[change])
        admin.incremental_alter_configs([resource])[resource].result(SECONDS_MAX)

    def threads() -> str:
        resource = ConfigResource(ResourceType.BROKER, "1")
        config = admin.describe_configs([resource])[resource].result(SECONDS_MAX)
        return str(config["log.cleaner.threads"].value)

    alter("2", AlterConfigOpType.SET)
    wait_until(lambda: threads() == "2")
    alter(None, AlterConfigOpType.DELETE)
    wait_until(lambda: threads() == "1")
