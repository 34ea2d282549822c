"""Settings changed at run time, one by one or as a whole."""

from collections.abc import Iterator

import pytest

from ottla.errors import ErrorCode
from ottla.metadata.image import CLUSTER_DEFAULTS, ConfigResourceType
from ottla.wire.messages import alter_configs, incremental_alter_configs
from ottla.wire.records.metadata import ClearElrRecord, ConfigRecord
from support.metadata import Cluster

SET, DELETE, APPEND, SUBTRACT = range(4)
TOPIC, BROKER, METRICS, GROUP = 2, 4, 16, 32


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    cluster = Cluster()
    cluster.broker(1)
    cluster.create("alpha")
    yield cluster
    cluster.close()


def alter(
    cluster: Cluster, kind: int, name: str, *changes: tuple[str, int, str | None]
) -> ErrorCode:
    resource = incremental_alter_configs.AlterConfigsResource(
        resource_type=kind,
        resource_name=name,
        configs=[
            incremental_alter_configs.AlterableConfig(
                name=key, config_operation=operation, value=value
            )
            for key, operation, value in changes
        ],
    )
    ask = incremental_alter_configs.IncrementalAlterConfigsRequest(resources=[resource])
    response = cluster.wait(cluster.controller.incremental_alter_configs(ask))
    return ErrorCode(response.responses[0].error_code)


def test_lists_grow_and_shrink_from_their_default(cluster: Cluster) -> None:
    assert alter(cluster, TOPIC, "alpha", ("cleanup.policy", APPEND, "compact")) == 0
    assert cluster.image.config(TOPIC, "alpha") == {"cleanup.policy": "delete,compact"}
    assert alter(cluster, TOPIC, "alpha", ("cleanup.policy", SUBTRACT, "delete")) == 0
    assert cluster.image.config(TOPIC, "alpha") == {"cleanup.policy": "compact"}
    assert alter(cluster, TOPIC, "alpha", ("cleanup.policy", DELETE, None)) == 0
    assert cluster.image.config(TOPIC, "alpha") == {}


def test_a_change_of_the_least_in_sync_number_forgets_who_was_eligible(cluster: Cluster) -> None:
    alter(cluster, TOPIC, "alpha", ("min.insync.replicas", SET, "2"))
    assert cluster.last == [
        ConfigRecord(
            resource_type=TOPIC, resource_name="alpha", name="min.insync.replicas", value="2"
        ),
        ClearElrRecord(topic_name="alpha"),
    ]
    alter(cluster, BROKER, "", ("min.insync.replicas", SET, "2"))
    assert cluster.last[-1] == ClearElrRecord(topic_name="")


def test_what_is_so_already_writes_nothing(cluster: Cluster) -> None:
    alter(cluster, TOPIC, "alpha", ("retention.ms", SET, "5"))
    batches = len(cluster.log.batches)
    assert alter(cluster, TOPIC, "alpha", ("retention.ms", SET, "5")) == 0
    assert len(cluster.log.batches) == batches


@pytest.mark.parametrize(
    ("kind", "name", "change", "code"),
    [
        (TOPIC, "missing", ("retention.ms", SET, "5"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TOPIC, "alpha", ("retention.ms", SET, "soon"), ErrorCode.INVALID_CONFIG),
        (TOPIC, "alpha", ("no.such", SET, "1"), ErrorCode.INVALID_CONFIG),
        (TOPIC, "alpha", ("retention.ms", APPEND, "5"), ErrorCode.INVALID_CONFIG),
        (TOPIC, "alpha", ("retention.ms", SET, None), ErrorCode.INVALID_REQUEST),
        (BROKER, "9", ("log.cleaner.threads", SET, "2"), ErrorCode.INVALID_REQUEST),
        (BROKER, "one", ("log.cleaner.threads", SET, "2"), ErrorCode.INVALID_REQUEST),
        (BROKER, "", ("broker.id", SET, "2"), ErrorCode.INVALID_REQUEST),
        (BROKER, "", ("message.max.bytes", SET, "many"), ErrorCode.INVALID_REQUEST),
        (BROKER, "", ("min.insync.replicas", DELETE, None), ErrorCode.INVALID_CONFIG),
        (BROKER, "1", ("min.insync.replicas", SET, "1"), ErrorCode.INVALID_CONFIG),
        (BROKER, "", ("a.plugins.own", SET, "x"), ErrorCode.NONE),
        (BROKER, "1", ("log.cleaner.threads", SET, "2"), ErrorCode.NONE),
        (GROUP, "", ("consumer.session.timeout.ms", SET, "50000"), ErrorCode.INVALID_REQUEST),
        (GROUP, "g", ("consumer.session.timeout.ms", SET, "1"), ErrorCode.INVALID_CONFIG),
        (GROUP, "g", ("consumer.session.timeout.ms", SET, "50000"), ErrorCode.NONE),
        (GROUP, "", ("share.isolation.level", APPEND, "odd"), ErrorCode.INVALID_CONFIG),
        (METRICS, "m", ("match", SET, "client_id=a.*"), ErrorCode.NONE),
        (METRICS, "m", ("match", SET, "client_id=("), ErrorCode.INVALID_CONFIG),
        (METRICS, "m", ("match", APPEND, "client_id=a.*"), ErrorCode.INVALID_CONFIG),
        (3, "x", ("a", SET, "b"), ErrorCode.INVALID_REQUEST),
    ],
)
def test_who_may_be_given_what(
    cluster: Cluster, kind: int, name: str, change: tuple[str, int, str], code: ErrorCode
) -> None:
    assert alter(cluster, kind, name, change) == code


def test_the_old_way_resets_what_is_not_named(cluster: Cluster) -> None:
    alter(cluster, TOPIC, "alpha", ("retention.ms", SET, "5"), ("flush.ms", SET, "7"))
    resource = alter_configs.AlterConfigsResource(
        resource_type=TOPIC,
        resource_name="alpha",
        configs=[alter_configs.AlterableConfig(name="retention.ms", value="6")],
    )
    ask = alter_configs.AlterConfigsRequest(resources=[resource])
    response = cluster.wait(cluster.controller.alter_configs(ask))
    assert response.responses[0].error_code == 0
    assert cluster.image.config(ConfigResourceType.TOPIC, "alpha") == {"retention.ms": "6"}
    assert "min.insync.replicas" in cluster.image.config(*CLUSTER_DEFAULTS)
