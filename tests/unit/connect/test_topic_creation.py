"""topic.creation.* as rules."""

import re

from ottla.connect.runs.topic_creation import topic_rules

CONFIG = {
    "topic.creation.groups": "logs, compacted",
    "topic.creation.default.partitions": "3",
    "topic.creation.default.replication.factor": "-1",
    "topic.creation.logs.include": "log\\..*, trace",
    "topic.creation.logs.exclude": "log\\.old",
    "topic.creation.logs.partitions": "9",
    "topic.creation.compacted.include": "state",
    "topic.creation.compacted.cleanup.policy": "compact",
}


def test_groups_go_before_the_default_and_take_its_numbers() -> None:
    logs, compacted, default = topic_rules(CONFIG, {})
    assert re.fullmatch(logs.include, "log.a")
    assert re.fullmatch(logs.include, "trace")
    assert re.fullmatch(logs.exclude, "log.old")
    assert not re.fullmatch(logs.exclude, "log.a")
    assert (logs.partitions, logs.replicas) == (9, -1)
    assert (compacted.partitions, compacted.config) == (3, {"cleanup.policy": "compact"})
    assert re.fullmatch(default.include, "any")
    assert not re.fullmatch(default.exclude, "any")


def test_without_a_default_topics_are_the_brokers_affair() -> None:
    assert topic_rules({"topic.creation.groups": "a"}, {}) == []
    assert topic_rules(CONFIG, {"topic.creation.enable": "false"}) == []
