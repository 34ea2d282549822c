"""How topics are made that a source writes to: `topic.creation.*`, as Connect has it. Pure."""

import re
from collections.abc import Mapping
from typing import NamedTuple

_PREFIX = "topic.creation."
_DEFAULT = "default"
_NOTHING = r"(?!)"


class TopicRule(NamedTuple):
    """The first one counts that fits a topic; -1 is the broker's own."""

    include: str  # of Java's kind
    exclude: str
    partitions: int
    replicas: int
    config: Mapping[str, str]


def topic_rules(config: Mapping[str, str], worker: Mapping[str, str]) -> list[TopicRule]:
    """None where a connector says nothing of it: its topics are the broker's affair then."""
    if worker.get("topic.creation.enable", "true").strip().lower() == "false":
        return []
    if not any(name.startswith(f"{_PREFIX}{_DEFAULT}.") for name in config):
        return []
    named = config.get(f"{_PREFIX}groups", "")
    groups = [one.strip() for one in named.split(",") if one.strip()]
    others = [one for one in groups if one != _DEFAULT]
    return [_rule(config, group) for group in (*others, _DEFAULT)]


def dead_letter_rules(config: Mapping[str, str]) -> list[TopicRule]:
    """A sink's topic of dead letters has one partition."""
    topic = config.get("errors.deadletterqueue.topic.name", "").strip()
    if not topic:
        return []
    replicas = int(config.get("errors.deadletterqueue.topic.replication.factor", "3"))
    return [TopicRule(re.escape(topic), _NOTHING, 1, replicas, {})]


def _rule(config: Mapping[str, str], group: str) -> TopicRule:
    own, general = _of(config, group), _of(config, _DEFAULT)
    known = ("include", "exclude", "partitions", "replication.factor")
    return TopicRule(
        ".*" if group == _DEFAULT else _either(own.get("include", "")),
        _NOTHING if group == _DEFAULT else _either(own.get("exclude", "")),
        int(own.get("partitions", general.get("partitions", "-1"))),
        int(own.get("replication.factor", general.get("replication.factor", "-1"))),
        {name: value for name, value in own.items() if name not in known},
    )


def _of(config: Mapping[str, str], group: str) -> dict[str, str]:
    prefix = f"{_PREFIX}{group}."
    return {
        name.removeprefix(prefix): value
        for name, value in config.items()
        if name.startswith(prefix)
    }


def _either(patterns: str) -> str:
    said = [one.strip() for one in patterns.split(",") if one.strip()]
    return "|".join(f"(?:{one})" for one in said) or _NOTHING
