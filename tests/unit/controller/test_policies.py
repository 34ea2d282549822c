"""Policies of the file's owner: asked for each topic and each change, before it is written."""

from pathlib import Path

import pytest

from ottla.config import Settings
from ottla.controller.policies import ConfigChange, NewTopic, Policies
from ottla.controller.settings import incremental_alter_configs
from ottla.controller.topics import create_topics
from ottla.errors import ErrorCode, OttlaError
from ottla.node.policies import policies_of
from ottla.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from ottla.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from support.metadata import Cluster

TOPIC = 2


class Recording:
    def __init__(self) -> None:
        self.heard: list[NewTopic | ConfigChange] = []

    def validate(self, asked: NewTopic | ConfigChange) -> None:
        self.heard.append(asked)
        if "temp" in asked.name:
            raise ValueError("Names with temp are not wanted here.")
        if "broken" in asked.name:
            raise RuntimeError("a bug in the policy")


@pytest.fixture
def policy() -> Recording:
    return Recording()


def create(policy: Recording, *topics: CreatableTopic) -> dict[str, tuple[int, str | None]]:
    from random import Random

    cluster = Cluster()
    cluster.broker(1)
    result = create_topics(
        cluster.image,
        Settings({}),
        CreateTopicsRequest(topics=list(topics)),
        Random(1),
        None,
        Policies(create_topic=policy),
    )
    return {one.name: (one.error_code, one.error_message) for one in result.reply.topics}


def test_a_policy_hears_of_each_topic_and_refuses_with_its_own_words(policy: Recording) -> None:
    config = CreatableTopicConfig(name="retention.ms", value="1")
    told = create(
        policy,
        CreatableTopic(name="good", num_partitions=3, replication_factor=1, configs=[config]),
        CreatableTopic(name="temp", num_partitions=-1, replication_factor=-1),
        CreatableTopic(name="broken", num_partitions=1, replication_factor=1),
    )
    assert policy.heard[0] == NewTopic("good", 3, 1, None, {"retention.ms": "1"})
    assert told["good"] == (0, None)
    assert told["temp"] == (ErrorCode.POLICY_VIOLATION, "Names with temp are not wanted here.")
    assert told["broken"][0] == ErrorCode.UNKNOWN_SERVER_ERROR


def test_of_an_assignment_by_hand_the_policy_hears_the_replicas(policy: Recording) -> None:
    by_hand = CreatableReplicaAssignment(partition_index=0, broker_ids=[1])
    topic = CreatableTopic(
        name="placed", num_partitions=-1, replication_factor=-1, assignments=[by_hand]
    )
    create(policy, topic)
    assert policy.heard == [NewTopic("placed", None, None, {0: [1]}, {})]


def test_a_policy_hears_of_changed_settings(policy: Recording) -> None:
    cluster = Cluster()
    cluster.broker(1)
    change = AlterableConfig(name="retention.ms", config_operation=0, value="7")
    resource = AlterConfigsResource(resource_type=4, resource_name="", configs=[change])
    asked = IncrementalAlterConfigsRequest(resources=[resource])
    policies = Policies(alter_config=policy)
    incremental_alter_configs(cluster.image, Settings({}), asked, policies)
    assert policy.heard == [ConfigChange("broker", "", {"retention.ms": "7"})]


def test_a_class_is_found_by_module_and_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "house_rules.py").write_text(
        "class Small:\n    def validate(self, topic):\n        pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    made = policies_of(Settings({"create.topic.policy.class.name": "house_rules:Small"}))
    assert type(made.create_topic).__name__ == "Small"
    assert made.alter_config is None


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("com.example.Policy", "Java"),
        ("no_such_module:Policy", "no_such_module"),
        ("json:JSONDecoder", "validate"),
    ],
)
def test_what_cannot_be_honoured_stops_the_node(name: str, said: str) -> None:
    with pytest.raises(OttlaError, match=said):
        policies_of(Settings({"alter.config.policy.class.name": name}))
