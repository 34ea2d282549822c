"""The Java client 4.3.1: what it sees of the broker, scenario by scenario."""

import pytest

from support.confluent import create_topic, produce
from support.toolbox import Toolbox

pytestmark = pytest.mark.java


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_the_idempotent_producer_and_the_consumer_agree(
    toolbox: Toolbox, bootstrap: str, name: str, codec: str
) -> None:
    create_topic(bootstrap, name)
    config = {"compression.type": codec, "linger.ms": "5"}
    sent = toolbox.scenario("produce", bootstrap, config, topic=name, count=100)
    assert sent["offsets"] == list(range(100))
    config = {"group.id": name, "auto.offset.reset": "earliest", "enable.auto.commit": "false"}
    seen = toolbox.scenario("consume", bootstrap, config, topic=name, count=100)
    assert seen == {
        "values": [f"value{n}" for n in range(100)],
        "timestamps": [1_700_000_000_000 + n for n in range(100)],
        "headers": list(range(100)),
        "rest": list(range(50, 100)),
        "committed": "half",
        "sought": 3,
        "end": 100,
        "beginning": 0,
        "byTime": 5,
    }


def test_the_admin_client_does_its_work(toolbox: Toolbox, bootstrap: str, name: str) -> None:
    seen = toolbox.scenario("admin", bootstrap, topic=name)
    assert seen == {
        "again": "TopicExistsException",
        "partitions": 2,
        "configs": {
            "cleanup.policy": "compact,delete",
            "min.insync.replicas": "1",  # the cluster's default, which every new cluster sets
            "retention.ms": "123456",
        },
        "producers": 1,
        "latest": 10,
        "lowWatermark": 4,
        "earliest": 4,
        "nodes": 1,
        "replicaSizeIsPositive": True,
        "features": {
            "eligible.leader.replicas.version": 1,
            "group.version": 1,
            "metadata.version": 30,
            "share.version": 1,
            "streams.version": 1,
            "transaction.version": 2,
        },
        "quorumLeader": 1,
        "configResources": True,
    }


def test_the_transactional_producer_commits_and_aborts(
    toolbox: Toolbox, bootstrap: str, name: str
) -> None:
    create_topic(bootstrap, name)
    seen = toolbox.scenario("transactions", bootstrap, {"transactional.id": name}, topic=name)
    assert seen == {
        "read_committed": ["committed", "after"],
        "read_uncommitted": ["committed", "aborted", "after"],
    }


def test_a_group_of_the_consumer_protocol_reads_and_commits(
    toolbox: Toolbox, bootstrap: str, name: str
) -> None:
    create_topic(bootstrap, name)
    toolbox.scenario("produce", bootstrap, topic=name, count=20)
    config = {
        "group.id": name,
        "group.protocol": "consumer",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": "false",
    }
    seen = toolbox.scenario("consume", bootstrap, config, topic=name, count=20)
    assert seen["values"] == [f"value{n}" for n in range(20)]
    assert seen["rest"] == list(range(10, 20))


def test_a_share_group_redelivers_what_was_released(
    toolbox: Toolbox, bootstrap: str, name: str
) -> None:
    create_topic(bootstrap, name)
    produce(bootstrap, name, [b"%d" % n for n in range(20)], config={"linger.ms": 0})
    seen = toolbox.scenario("share", bootstrap, {"group.id": name}, topic=name, count=20)
    assert seen == {"accepted": 20, "twice": 10, "more": 0}
