"""The answers of the admin APIs, code by code: topics, partitions, settings, elections, features.

Every expectation holds for Apache Kafka 4.3.1 as well (`--broker kafka`), whose brokers learn of a
change a moment after its reply.
"""

import uuid
from pathlib import Path
from typing import Any

import pytest
from kio.schema.errors import ErrorCode

from support.brokers import Kind, running
from support.confluent import wait_until
from support.homes import Home, Quorum
from support.wire import Connection

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = range(4)
TIMEOUT = 20_000


@pytest.fixture
def name() -> str:
    return f"admin-{uuid.uuid4().hex[:10]}"


def topic(name: str, partitions: int = 1, factor: int = 1, **more: Any) -> dict[str, Any]:
    return {"name": name, "num_partitions": partitions, "replication_factor": factor, **more}


def by_hand(name: str, *assignments: tuple[int, list[int]], partitions: int = -1) -> dict[str, Any]:
    listed = [{"partition_index": index, "broker_ids": ids} for index, ids in assignments]
    return topic(name, partitions, -1, assignments=listed)


def configured(name: str, key: str, value: str | None) -> dict[str, Any]:
    return topic(name, configs=[{"name": key, "value": value}])


def create(connection: Connection, *topics: dict[str, Any]) -> list[tuple[str, ErrorCode]]:
    reply = connection.ask("create_topics", 7, topics=list(topics), timeout=TIMEOUT)
    return [(one.name, one.error_code) for one in reply.topics]


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        (topic("zero", 0), ErrorCode.invalid_partitions),
        (topic("negative", -2), ErrorCode.invalid_partitions),
        (topic("no-replicas", 1, 0), ErrorCode.invalid_replication_factor),
        (topic("more-than-brokers", 1, 2), ErrorCode.invalid_replication_factor),
        (topic("a b"), ErrorCode.invalid_topic_exception),
        (topic(""), ErrorCode.invalid_topic_exception),
        (topic("__cluster_metadata"), ErrorCode.invalid_request),
        (configured("unknown", "no.such.thing", "1"), ErrorCode.invalid_config),
        (configured("bad", "retention.ms", "soon"), ErrorCode.invalid_config),
        (configured("null", "retention.ms", None), ErrorCode.invalid_config),
        (configured("small", "segment.bytes", "10"), ErrorCode.invalid_config),
        (configured("tiered", "remote.storage.enable", "true"), ErrorCode.invalid_config),
        (by_hand("count", (0, [1]), partitions=1), ErrorCode.invalid_request),
        (by_hand("stranger", (0, [9])), ErrorCode.invalid_replica_assignment),
        (by_hand("gap", (1, [1])), ErrorCode.invalid_replica_assignment),
        (by_hand("empty", (0, [])), ErrorCode.invalid_replica_assignment),
    ],
    ids=lambda value: value["name"] if isinstance(value, dict) else "",
)
def test_a_topic_is_refused(connection: Connection, asked: dict[str, Any], code: ErrorCode) -> None:
    assert create(connection, asked) == [(asked["name"], code)]


def test_one_bad_topic_does_not_keep_the_others_from_being_made(
    connection: Connection, name: str
) -> None:
    made = create(connection, topic(name), topic(f"{name}-zero", 0), by_hand(f"{name}-2", (0, [1])))
    assert dict(made) == {
        name: ErrorCode.none,
        f"{name}-zero": ErrorCode.invalid_partitions,
        f"{name}-2": ErrorCode.none,
    }
    assert create(connection, topic(name)) == [(name, ErrorCode.topic_already_exists)]


def test_a_topic_named_twice_is_answered_once(connection: Connection, name: str) -> None:
    assert create(connection, topic(name), topic(name)) == [(name, ErrorCode.invalid_request)]


def test_too_many_partitions_refuse_the_whole_request(connection: Connection, name: str) -> None:
    answers = create(connection, topic(name, 20_000), topic(f"{name}-2"))
    assert {code for _, code in answers} == {ErrorCode.policy_violation}


def test_a_new_topic_is_described_in_the_reply(connection: Connection, name: str) -> None:
    asked = configured(name, "retention.ms", "1000")
    [made] = connection.ask("create_topics", 7, topics=[asked], timeout=TIMEOUT).topics
    assert (made.num_partitions, made.replication_factor) == (1, 1)
    settings = {one.name: (one.value, one.config_source) for one in made.configs}
    assert list(settings) == sorted(settings)
    assert len(settings) == 33
    assert settings["retention.ms"] == ("1000", 1)
    assert settings["cleanup.policy"] == ("delete", 5)


def test_partitions_are_added_or_refused(connection: Connection, name: str) -> None:
    def grow(count: int, assignments: list[list[int]] | None = None) -> ErrorCode:
        given = [{"broker_ids": ids} for ids in assignments] if assignments else assignments
        asked = [{"name": name, "count": count, "assignments": given}]
        reply = connection.ask("create_partitions", 3, topics=asked, timeout=TIMEOUT)
        return reply.results[0].error_code

    assert grow(2) == ErrorCode.unknown_topic_or_partition
    create(connection, topic(name, 2))
    assert grow(2) == ErrorCode.invalid_partitions
    assert grow(1) == ErrorCode.invalid_partitions
    assert grow(4, [[1]]) == ErrorCode.invalid_replica_assignment
    assert grow(3, [[1, 1]]) == ErrorCode.invalid_replica_assignment
    assert grow(3, [[1]]) == ErrorCode.none
    assert grow(5) == ErrorCode.none


def test_topics_are_deleted_by_name_and_id(connection: Connection, name: str) -> None:
    create(connection, topic(name), topic(f"{name}-2"))
    [known] = connection.ask("metadata", 12, topics=[{"name": name}]).topics
    asked = [
        {"name": None, "topic_id": known.topic_id},
        {"name": f"{name}-2"},
        {"name": f"{name}-missing"},
        {"name": None, "topic_id": uuid.uuid4()},
        {"name": None},
        {"name": None},
        {"name": "both", "topic_id": uuid.uuid4()},
    ]
    reply = connection.ask("delete_topics", 6, topics=asked, timeout=TIMEOUT)
    answers = sorted((one.name or "", one.error_code.name) for one in reply.responses)
    assert answers == sorted(
        [
            (name, "none"),
            (f"{name}-2", "none"),
            (f"{name}-missing", "unknown_topic_or_partition"),
            ("", "unknown_topic_id"),
            ("", "invalid_request"),
            ("", "invalid_request"),
            ("both", "invalid_request"),
        ]
    )


def alter(
    connection: Connection, kind: int, resource: str, *changes: tuple[str, int, str | None]
) -> ErrorCode:
    configs = [
        {"name": key, "config_operation": operation, "value": value}
        for key, operation, value in changes
    ]
    asked = [{"resource_type": kind, "resource_name": resource, "configs": configs}]
    reply = connection.ask("incremental_alter_configs", 1, resources=asked)
    return reply.responses[0].error_code


@pytest.mark.parametrize(
    ("kind", "resource", "change", "code"),
    [
        (TOPIC, "missing", ("retention.ms", SET, "5"), ErrorCode.unknown_topic_or_partition),
        (TOPIC, "missing", ("retention.ms", SET, "soon"), ErrorCode.invalid_config),
        (TOPIC, "missing", ("no.such.thing", SET, "5"), ErrorCode.invalid_config),
        (TOPIC, "missing", ("retention.ms", APPEND, "5"), ErrorCode.invalid_config),
        (TOPIC, "a b", ("retention.ms", SET, "5"), ErrorCode.invalid_topic_exception),
        (TOPIC, "", ("retention.ms", SET, "5"), ErrorCode.invalid_request),
        (TOPIC, "missing", ("retention.ms", SET, None), ErrorCode.invalid_request),
        (BROKER, "", ("background.threads", SET, "1000"), ErrorCode.invalid_request),
        (BROKER, "1", ("num.io.threads", SET, "3"), ErrorCode.invalid_request),
        (BROKER, "1", ("num.network.threads", SET, "7"), ErrorCode.invalid_request),
        (BROKER, "1", ("min.insync.replicas", SET, "none"), ErrorCode.invalid_request),
        (TOPIC, "missing", ("cleanup.policy", APPEND, ""), ErrorCode.invalid_config),
        (BROKER, "1", ("node.id", SUBTRACT, "1"), ErrorCode.invalid_config),
        (GROUP, "g", ("consumer.heartbeat.interval.ms", SET, "6000"), ErrorCode.invalid_config),
        (CLIENT_METRICS, "", ("interval.ms", SET, "1000"), ErrorCode.invalid_request),
        (CLIENT_METRICS, "m", ("no.such.thing", SET, "1000"), ErrorCode.invalid_request),
        (CLIENT_METRICS, "m", ("interval.ms", SET, "often"), ErrorCode.invalid_config),
        (CLIENT_METRICS, "m", ("interval.ms", SET, "99"), ErrorCode.invalid_request),
        (CLIENT_METRICS, "m", ("match", SET, "client_id"), ErrorCode.invalid_config),
        (CLIENT_METRICS, "m", ("match", SET, "colour=blue"), ErrorCode.invalid_config),
        (CLIENT_METRICS, "m", ("interval.ms", APPEND, "1"), ErrorCode.invalid_config),
        (BROKER, "9", ("log.cleaner.threads", SET, "2"), ErrorCode.invalid_request),
        (BROKER, "one", ("log.cleaner.threads", SET, "2"), ErrorCode.invalid_request),
        (BROKER, "", ("broker.id", SET, "2"), ErrorCode.invalid_request),
        (BROKER, "", ("message.max.bytes", SET, "many"), ErrorCode.invalid_request),
        (BROKER, "", ("min.insync.replicas", DELETE, None), ErrorCode.invalid_config),
        (BROKER, "1", ("min.insync.replicas", SET, "1"), ErrorCode.invalid_config),
        (GROUP, "", ("consumer.session.timeout.ms", SET, "50000"), ErrorCode.invalid_request),
        (GROUP, "a-group", ("consumer.session.timeout.ms", SET, "1"), ErrorCode.invalid_config),
        (GROUP, "a-group", ("no.such.thing", SET, "1"), ErrorCode.invalid_config),
        (3, "x", ("a", SET, "b"), ErrorCode.invalid_request),
    ],
)
def test_a_setting_is_refused(
    connection: Connection, kind: int, resource: str, change: tuple[str, int, str], code: ErrorCode
) -> None:
    assert alter(connection, kind, resource, change) == code


def described(connection: Connection, kind: int, resource: str, *names: str) -> Any:
    keys = list(names) or None
    asked = [{"resource_type": kind, "resource_name": resource, "configuration_keys": keys}]
    reply = connection.ask("describe_configs", 4, resources=asked, include_synonyms=True)
    return reply.results[0]


def test_a_list_grows_from_its_default_and_shrinks(connection: Connection, name: str) -> None:
    create(connection, topic(name))

    def policy() -> tuple[str | None, int]:
        [one] = described(connection, TOPIC, name, "cleanup.policy").configs
        return one.value, one.config_source

    assert policy() == ("delete", 5)
    assert alter(connection, TOPIC, name, ("cleanup.policy", APPEND, "compact")) == ErrorCode.none
    wait_until(lambda: policy() == ("delete,compact", 1))
    assert alter(connection, TOPIC, name, ("cleanup.policy", SUBTRACT, "delete")) == ErrorCode.none
    wait_until(lambda: policy() == ("compact", 1))
    assert alter(connection, TOPIC, name, ("retention.ms", APPEND, "5")) == ErrorCode.invalid_config
    assert alter(connection, TOPIC, name, ("cleanup.policy", DELETE, None)) == ErrorCode.none
    wait_until(lambda: policy() == ("delete", 5))


def test_a_resource_named_twice_is_refused(connection: Connection, name: str) -> None:
    create(connection, topic(name))
    change = [{"name": "retention.ms", "config_operation": SET, "value": "5"}]
    asked = {"resource_type": TOPIC, "resource_name": name, "configs": change}
    reply = connection.ask("incremental_alter_configs", 1, resources=[asked, asked])
    assert {one.error_code for one in reply.responses} == {ErrorCode.invalid_request}
    wrong = [{"name": "log.cleaner.threads", "config_operation": APPEND, "value": "2"}]
    broker = {"resource_type": BROKER, "resource_name": "1", "configs": wrong}
    reply = connection.ask("incremental_alter_configs", 1, resources=[broker, broker])
    assert [one.error_code for one in reply.responses] == [ErrorCode.invalid_request] * 2


def test_a_setting_that_is_no_list_is_told_before_an_operation_nobody_knows(
    connection: Connection, name: str
) -> None:
    create(connection, topic(name))
    unknown = ("segment.bytes", 5, "1")
    wrong = ("message.timestamp.type", SUBTRACT, "CreateTime")
    assert alter(connection, TOPIC, name, unknown, wrong) == ErrorCode.invalid_config


@pytest.mark.parametrize("validate_only", [False, True])
def test_a_broker_refuses_for_itself_and_the_rest_is_decided(
    connection: Connection, name: str, validate_only: bool
) -> None:
    create(connection, topic(name))

    def asked(kind: int, resource: str, key: str, value: str) -> dict[str, Any]:
        configs = [{"name": key, "config_operation": SET, "value": value}]
        return {"resource_type": kind, "resource_name": resource, "configs": configs}

    resources = [
        asked(BROKER, "1", "background.threads", "1000"),
        asked(TOPIC, name, "retention.ms", "5"),
        asked(BROKER, "2", "background.threads", "11"),
        asked(BROKER, "", "background.threads", "11"),
    ]
    fields = {"resources": resources, "validate_only": validate_only}
    reply = connection.ask("incremental_alter_configs", 1, **fields)
    refused, none = ErrorCode.invalid_request, ErrorCode.none
    assert [one.error_code for one in reply.responses] == [refused, none, refused, none]
    old_way = connection.ask("alter_configs", 2, resources=[old(one) for one in resources[:1]])
    assert [one.error_code for one in old_way.responses] == [refused]


def old(resource: dict[str, Any]) -> dict[str, Any]:
    configs = [{"name": one["name"], "value": one["value"]} for one in resource["configs"]]
    return {**resource, "configs": configs}


def test_client_metrics_are_kept_listed_and_forgotten(connection: Connection, name: str) -> None:
    assert alter(connection, CLIENT_METRICS, name, ("interval.ms", SET, "1000")) == ErrorCode.none

    def listed(version: int) -> set[str]:
        reply = connection.ask("list_config_resources", version)
        return {one.resource_name for one in reply.config_resources}

    wait_until(lambda: name in listed(0) and name in listed(1))
    [kept] = described(connection, CLIENT_METRICS, name, "interval.ms").configs
    assert (kept.value, kept.config_source) == ("1000", 7)
    assert alter(connection, CLIENT_METRICS, name, ("interval.ms", DELETE, None)) == ErrorCode.none
    wait_until(lambda: name not in listed(0))


def test_the_old_way_resets_what_is_not_named(connection: Connection, name: str) -> None:
    create(connection, configured(name, "flush.ms", "7"))
    configs = [{"name": "retention.ms", "value": "6"}]
    asked = [{"resource_type": TOPIC, "resource_name": name, "configs": configs}]
    [answer] = connection.ask("alter_configs", 2, resources=asked).responses
    assert answer.error_code == ErrorCode.none

    def sources() -> dict[str, int]:
        settings = described(connection, TOPIC, name, "flush.ms", "retention.ms").configs
        return {one.name: one.config_source for one in settings}

    wait_until(lambda: sources() == {"flush.ms": 5, "retention.ms": 1})


def test_a_setting_for_all_brokers_is_told_with_its_origin(connection: Connection) -> None:
    change = ("log.message.timestamp.after.max.ms", SET, "3600001")
    assert alter(connection, BROKER, "", change) == ErrorCode.none
    try:
        wait_until(lambda: len(described(connection, BROKER, "", change[0]).configs) == 1)
        [one] = described(connection, BROKER, "", change[0]).configs
        assert (one.value, one.config_source) == (change[2], 3)
        assert [(same.value, same.source) for same in one.synonyms] == [(change[2], 3)]
        [one] = described(connection, BROKER, "1", change[0]).configs
        sources = [same.source for same in one.synonyms]
        assert (one.value, one.config_source, sources) == (change[2], 3, [3, 5])
    finally:
        assert alter(connection, BROKER, "", (change[0], DELETE, None)) == ErrorCode.none


def test_a_name_that_nobody_knows_is_kept_like_a_secret(connection: Connection) -> None:
    change = ("a.plugins.own", SET, "x")
    assert alter(connection, BROKER, "", change) == ErrorCode.none
    try:
        wait_until(lambda: len(described(connection, BROKER, "", change[0]).configs) == 1)
        [one] = described(connection, BROKER, "", change[0]).configs
        assert (one.value, one.is_sensitive, one.read_only) == (None, True, True)
    finally:
        assert alter(connection, BROKER, "", (change[0], DELETE, None)) == ErrorCode.none


@pytest.mark.parametrize(
    ("kind", "resource", "code"),
    [
        (TOPIC, "missing", ErrorCode.unknown_topic_or_partition),
        (TOPIC, "a b", ErrorCode.invalid_topic_exception),
        (BROKER, "9", ErrorCode.invalid_request),
        (BROKER, "one", ErrorCode.invalid_request),
        (GROUP, "", ErrorCode.invalid_request),
        (3, "x", ErrorCode.invalid_request),
    ],
)
def test_settings_of_what_is_not_there(
    connection: Connection, kind: int, resource: str, code: ErrorCode
) -> None:
    assert described(connection, kind, resource).error_code == code


def test_resources_are_listed(connection: Connection, name: str) -> None:
    create(connection, topic(name))
    every = connection.ask("list_config_resources", 1, resource_types=[]).config_resources
    listed = {(one.resource_type, one.resource_name) for one in every}
    assert {(TOPIC, name), (BROKER, "1"), (BROKER_LOGGER, "1")} <= listed
    assert connection.ask("list_config_resources", 0).config_resources == ()
    refused = connection.ask("list_config_resources", 1, resource_types=[3])
    assert refused.error_code == ErrorCode.unsupported_version


def test_elections_that_are_not_needed_or_not_possible(connection: Connection, name: str) -> None:
    create(connection, topic(name))

    def elect(kind: int, topic: str, partition: int) -> ErrorCode:
        asked = [{"topic": topic, "partitions": [partition]}]
        reply = connection.ask(
            "elect_leaders", 2, election_type=kind, topic_partitions=asked, timeout=TIMEOUT
        )
        return reply.replica_election_results[0].partition_result[0].error_code

    assert elect(0, name, 0) == ErrorCode.election_not_needed
    assert elect(1, name, 0) == ErrorCode.election_not_needed
    assert elect(0, name, 9) == ErrorCode.unknown_topic_or_partition
    assert elect(0, f"{name}-missing", 0) == ErrorCode.unknown_topic_or_partition
    assert elect(9, name, 0) == ErrorCode.invalid_request


def test_moves_that_change_nothing_or_lead_nowhere(connection: Connection, name: str) -> None:
    create(connection, topic(name))

    def move(topic: str, partition: int, replicas: list[int] | None) -> ErrorCode:
        places = [{"partition_index": partition, "replicas": replicas}]
        asked = [{"name": topic, "partitions": places}]
        reply = connection.ask("alter_partition_reassignments", 1, topics=asked, timeout=TIMEOUT)
        return reply.responses[0].partitions[0].error_code

    assert move(name, 0, [1]) == ErrorCode.none
    assert move(name, 0, [1, 1]) == ErrorCode.invalid_replica_assignment
    assert move(name, 0, [9]) == ErrorCode.invalid_replica_assignment
    assert move(name, 0, []) == ErrorCode.invalid_replica_assignment
    assert move(name, 0, None) == ErrorCode.no_reassignment_in_progress
    assert move(name, 9, [1]) == ErrorCode.unknown_topic_or_partition
    reply = connection.ask("list_partition_reassignments", 0, topics=None, timeout=TIMEOUT)
    assert (reply.error_code, reply.topics) == (ErrorCode.none, ())


@pytest.mark.parametrize(
    ("feature", "level", "kind", "code"),
    [
        ("metadata.version", 30, 1, ErrorCode.none),
        ("metadata.version", 29, 1, ErrorCode.invalid_update_version),
        ("metadata.version", 29, 3, ErrorCode.invalid_update_version),
        ("metadata.version", 99, 1, ErrorCode.invalid_update_version),
        ("no.such.feature", 1, 1, ErrorCode.invalid_update_version),
        ("share.version", 0, 2, ErrorCode.none),
        ("transaction.version", 9, 1, ErrorCode.invalid_update_version),
        ("kraft.version", 0, 1, ErrorCode.none),
        ("kraft.version", 0, 3, ErrorCode.none),
        ("kraft.version", 1, 2, ErrorCode.invalid_update_version),
        ("kraft.version", 2, 1, ErrorCode.invalid_update_version),
        ("kraft.version", 0, 0, ErrorCode.invalid_update_version),
    ],
)
def test_feature_levels_that_can_be_had(
    connection: Connection, feature: str, level: int, kind: int, code: ErrorCode
) -> None:
    update = {"feature": feature, "max_version_level": level, "upgrade_type": kind}
    reply = connection.ask(
        "update_features", 2, feature_updates=[update], validate_only=True, timeout=TIMEOUT
    )
    assert reply.error_code == code


@pytest.mark.parametrize("quorum", list(Quorum))
def test_the_way_voters_are_known_is_a_finalized_feature(
    broker_kind: Kind, tmp_path: Path, quorum: Quorum
) -> None:
    home = Home(path=tmp_path / "node", quorum=quorum)
    with running(broker_kind, home), Connection(home.bootstrap) as connection:
        asked = {"client_software_name": "a", "client_software_version": "1"}
        features = connection.ask("api_versions", 4, **asked).finalized_features
    levels = {one.name: one.max_version_level for one in features}
    assert levels.get("kraft.version", 0) == (1 if quorum is Quorum.STANDALONE else 0)


def test_a_broker_that_was_never_there_cannot_be_forgotten(connection: Connection) -> None:
    reply = connection.ask("unregister_broker", 0, broker_id=77)
    assert reply.error_code == ErrorCode.broker_id_not_registered


def test_partitions_are_described_page_by_page(connection: Connection, name: str) -> None:
    first, second = f"{name}-a", f"{name}-b"
    create(connection, topic(first, 3), topic(second, 2))
    asked = {"topics": [{"name": second}, {"name": first}, {"name": f"{name}-missing"}]}
    seen: list[tuple[str, ErrorCode, list[int]]] = []
    cursor = None
    while True:
        page = connection.ask(
            "describe_topic_partitions", 0, **asked, response_partition_limit=2, cursor=cursor
        )
        for one in page.topics:
            indexes = [partition.partition_index for partition in one.partitions]
            seen.append((one.name, one.error_code, indexes))
        if page.next_cursor is None:
            break
        at = page.next_cursor
        cursor = {"topic_name": at.topic_name, "partition_index": at.partition_index}
    assert seen == [
        (first, ErrorCode.none, [0, 1]),
        (first, ErrorCode.none, [2]),
        (second, ErrorCode.none, [0]),
        (second, ErrorCode.none, [1]),
        (f"{name}-missing", ErrorCode.unknown_topic_or_partition, []),
    ]


def test_only_the_metadata_log_has_a_quorum(connection: Connection) -> None:
    asked = {"topic_name": "t", "partitions": [{"partition_index": 3}]}
    reply = connection.ask("describe_quorum", 2, topics=[asked])
    (topic,) = reply.topics
    (partition,) = topic.partitions
    assert (topic.topic_name, partition.partition_index) == ("t", 3)
    assert partition.error_code == ErrorCode.unknown_topic_or_partition
    assert reply.nodes == ()
