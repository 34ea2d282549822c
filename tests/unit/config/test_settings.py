"""Which value holds, where it came from, and what may be changed."""

import pytest

from ottla.config import (
    BROKER_OPTIONS,
    GROUP_OPTIONS,
    TOPIC_OPTIONS,
    ConfigSource,
    Settings,
    Synonym,
)
from ottla.config.settings import (
    validate_broker_config,
    validate_group_config,
    validate_topic_config,
    validate_topic_configs,
)
from ottla.errors import ErrorCode, KafkaError

NODE = Settings({"node.id": "1", "log.retention.hours": "2", "num.partitions": "4"})


def test_getters_give_typed_values() -> None:
    assert NODE.int("num.partitions") == 4
    assert NODE.flag("auto.create.topics.enable") is True
    assert NODE.real("log.cleaner.min.cleanable.ratio") == 0.5
    assert NODE.names("group.consumer.assignors") == ("uniform", "range")
    assert NODE.text("broker.rack") == ""


def test_hours_answer_for_milliseconds() -> None:
    assert NODE.int("log.retention.ms") == 2 * 3_600_000
    assert NODE.int("log.roll.ms") == 168 * 3_600_000
    assert NODE.for_topic({}).int("retention.ms") == 2 * 3_600_000


def test_no_limit_in_hours_is_no_limit_in_milliseconds() -> None:
    settings = Settings({"log.retention.hours": "-1"})
    assert settings.int("log.retention.ms") == -1
    assert settings.for_topic({}).describe("retention.ms").value == "-1"


def test_the_finer_unit_wins() -> None:
    settings = Settings({"log.retention.hours": "2", "log.retention.minutes": "5"})
    assert settings.int("log.retention.ms") == 300_000


def test_a_topic_s_own_setting_wins_over_the_broker_s() -> None:
    topic = NODE.for_topic({"retention.ms": "-1", "cleanup.policy": "compact,delete"})
    assert topic.int("retention.ms") == -1
    assert topic.names("cleanup.policy") == ("compact", "delete")
    assert topic.int("segment.bytes") == 1 << 30
    assert topic.int("num.partitions") == 4


def test_what_is_set_for_the_broker_wins_over_the_cluster_and_the_file() -> None:
    dynamic = NODE.with_dynamic(
        cluster={"log.retention.ms": "11", "message.max.bytes": "5"},
        broker={"log.retention.ms": "7"},
    )
    assert dynamic.int("log.retention.ms") == 7
    assert dynamic.for_topic({}).int("retention.ms") == 7
    assert dynamic.for_topic({}).int("max.message.bytes") == 5
    assert NODE.int("log.retention.ms") == 7_200_000


def test_a_group_s_setting_falls_back_to_the_broker_s() -> None:
    group = Settings({"group.consumer.session.timeout.ms": "50000"}).for_group({})
    assert group.int("consumer.session.timeout.ms") == 50_000
    assert group.text("share.auto.offset.reset") == "latest"


def test_describing_shows_the_source_and_all_that_lies_beneath() -> None:
    described = (
        NODE.with_dynamic(cluster={"message.max.bytes": "5"}, broker={})
        .for_topic({"max.message.bytes": "9"})
        .describe("max.message.bytes")
    )
    assert described.value == "9"
    assert described.source is ConfigSource.DYNAMIC_TOPIC_CONFIG
    assert described.synonyms == (
        Synonym("max.message.bytes", "9", ConfigSource.DYNAMIC_TOPIC_CONFIG),
        Synonym("message.max.bytes", "5", ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
        Synonym("message.max.bytes", "1048588", ConfigSource.DEFAULT_CONFIG),
    )


def test_secrets_are_never_described() -> None:
    described = Settings({"ssl.key.password": "x"}).describe("ssl.key.password")
    assert described.value is None
    assert described.sensitive
    assert all(synonym.value is None for synonym in described.synonyms)


@pytest.mark.parametrize("options", [BROKER_OPTIONS, TOPIC_OPTIONS, GROUP_OPTIONS])
def test_every_default_is_a_value_the_option_accepts(options: dict[str, object]) -> None:
    settings = Settings()
    scoped = {id(TOPIC_OPTIONS): settings.for_topic({}), id(GROUP_OPTIONS): settings.for_group({})}
    for name in options:
        described = scoped.get(id(options), settings).describe(name)
        option = scoped.get(id(options), settings).options[name]
        if described.value not in ("", None):
            option.parse(described.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("retention.ms", "abc"),
        ("retention.ms", "-2"),
        ("segment.bytes", "10"),
        ("segment.bytes", str(1 << 31)),
        ("cleanup.policy", "purge"),
        ("compression.type", "brotli"),
        ("compression.gzip.level", "0"),
        ("min.cleanable.dirty.ratio", "1.5"),
        ("preallocate", "yes"),
        ("leader.replication.throttled.replicas", "all"),
        ("no.such.option", "1"),
    ],
)
def test_a_topic_is_not_given_what_makes_no_sense(name: str, value: str) -> None:
    with pytest.raises(KafkaError) as error:
        validate_topic_config(name, value)
    assert error.value.code is ErrorCode.INVALID_CONFIG
    assert name in str(error.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cleanup.policy", "delete, compact"),
        ("compression.gzip.level", "-1"),
        ("leader.replication.throttled.replicas", "0:1,1:2"),
        ("follower.replication.throttled.replicas", "*"),
        ("min.insync.replicas", "2"),
    ],
)
def test_a_topic_may_be_given(name: str, value: str) -> None:
    validate_topic_config(name, value)


def test_lags_of_compaction_must_not_cross() -> None:
    with pytest.raises(KafkaError, match="must not be greater"):
        validate_topic_configs({"min.compaction.lag.ms": "5", "max.compaction.lag.ms": "4"})


def test_tiered_storage_is_refused_where_there_is_none() -> None:
    with pytest.raises(KafkaError, match="tiered storage"):
        validate_topic_configs({"remote.storage.enable": "true"})


def test_read_only_options_are_for_the_file() -> None:
    with pytest.raises(KafkaError, match="in the file only"):
        validate_broker_config("node.id", "3", cluster_wide=False)


def test_listeners_are_a_matter_of_each_broker() -> None:
    validate_broker_config("listeners", "PLAINTEXT://h:1", cluster_wide=False)
    with pytest.raises(KafkaError, match="each broker"):
        validate_broker_config("listeners", "PLAINTEXT://h:1", cluster_wide=True)


def test_a_group_may_say_where_its_share_consumers_begin() -> None:
    validate_group_config("share.auto.offset.reset", "by_duration:PT1H")
    with pytest.raises(KafkaError, match="by_duration"):
        validate_group_config("share.auto.offset.reset", "never")
