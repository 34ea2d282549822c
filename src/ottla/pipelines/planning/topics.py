"""Which topics an application needs, and how those are made that are not there. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ottla.pipelines.api.connectors import offsets_topic
from ottla.pipelines.api.definitions import Application, Sink
from ottla.pipelines.planning.plan import Plan, renamed, written_topics
from ottla.pipelines.runtime.where import DefinitionError

FOREVER = {"retention.ms": "-1"}


@dataclass(frozen=True, slots=True)
class NewTopic:
    name: str
    partitions: int
    config: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Cluster:
    """What the brokers say about themselves: the cluster's id, and partitions by topic."""

    id: str
    partitions: Mapping[str, int]


def topic_names(plan: Plan, generation: int) -> dict[str, str]:
    """What each topic the plan writes is really called in this generation."""
    names = {}
    for stage in plan.stages:
        for source in stage.letters:
            assert source.dead_letters is not None
            names[source.dead_letters] = renamed(source.dead_letters, generation)
        names[stage.sink.topic] = renamed(stage.sink.topic, generation)
    return names


def wanted(
    plan: Plan, cluster: Cluster, generation: int, *, names: Mapping[str, str] | None = None
) -> list[NewTopic]:
    """The topics to make. Pure. A topic that is read and not there is an error with its line.

    `names`: what topics are really called, where it is not their name in this generation.
    """
    brought = [one for one in of_connectors(plan.application) if one.name not in cluster.partitions]
    there = {*cluster.partitions, *written_topics(plan), *(one.name for one in brought)}
    for source in plan.read_topics():
        if not source.is_pattern and source.topic not in there:
            raise DefinitionError(source.where, f"the topic {source.topic} does not exist.")
    names = topic_names(plan, generation) | dict(names or {})
    made: dict[str, NewTopic] = {one.name: one for one in brought}
    known = {**cluster.partitions, **{one.name: one.partitions for one in brought}}
    for stage in plan.stages:
        read = [
            width
            for source in stage.sources
            for topic, width in known.items()
            if source.reads(topic) or topic == names.get(source.topic)
        ]
        widest = max(read, default=0) or plan.application.parallelism
        for letters in {names[source.dead_letters or ""] for source in stage.letters}:
            if letters not in known:
                made[letters] = NewTopic(letters, 1, FOREVER)
        name = names[stage.sink.topic]
        if stage.only_dead or stage.sink.route is not None or name in known:
            continue
        made[name] = NewTopic(name, stage.sink.partitions or widest, topic_config(stage.sink))
        known[name] = made[name].partitions
    return list(made.values())


def of_connectors(application: Application) -> list[NewTopic]:
    """What sources bring their records to, and where they keep how far they are."""
    sources = [one for one in application.connectors if one.kind == "source"]
    made = [
        NewTopic(one.topic, one.partitions or application.parallelism, FOREVER) for one in sources
    ]
    compacted = {"cleanup.policy": "compact"}
    return [*made, NewTopic(offsets_topic(application.name), 1, compacted)] if made else []


def topic_config(sink: Sink) -> dict[str, str]:
    """Records bear event times, and a broker's retention would delete those of last month."""
    config = dict(FOREVER)
    if sink.retention_ms is not None:
        config["retention.ms"] = str(sink.retention_ms)
    if sink.compacted:
        config["cleanup.policy"] = "compact" if sink.retention_ms is None else "compact,delete"
    return config
