"""A topology against the topics there are: how many tasks it has, what is wrong or missing. Pure.

Repartition topics are as large as what flows into them, topics that are joined are equally large,
and a changelog has a partition for each task of its subtopology.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum

from msgspec import Struct

from ottla.groups.consumer.topics import metadata_hash
from ottla.groups.streams.topology import (
    StreamsTopology,
    Subtopology,
    TopicInfo,
    copartitioned,
    inputs,
    invalid,
)
from ottla.metadata.image import Image

NAMES_SHOWN = 5


class Status(IntEnum):
    """What a heartbeat is told beside its tasks; the numbers are the protocol's."""

    STALE_TOPOLOGY = 0
    MISSING_SOURCE_TOPICS = 1
    INCORRECTLY_PARTITIONED_TOPICS = 2
    MISSING_INTERNAL_TOPICS = 3
    SHUTDOWN_APPLICATION = 4
    ASSIGNMENT_DELAYED = 5


class MissingTopic(Struct, frozen=True):
    """One that the broker makes for the application."""

    name: str
    partitions: int
    replication_factor: int  # -1: the cluster's default
    configs: Mapping[str, str]


class Configured(Struct, frozen=True, kw_only=True):
    """The outcome: ready if there is no problem."""

    task_counts: Mapping[str, int] = {}  # by subtopology
    stateful: frozenset[str] = frozenset()
    partitions: Mapping[str, int] = {}  # of internal topics
    missing: tuple[MissingTopic, ...] = ()
    problem: tuple[Status, str] | None = None
    metadata_hash: int = 0  # of the topics as they were looked at

    @property
    def is_ready(self) -> bool:
        return self.problem is None


class _Problem(Exception):
    def __init__(self, status: Status, detail: str) -> None:
        super().__init__(detail)
        self.status = status


def configure(topology: StreamsTopology, image: Image) -> Configured:
    required = topology.required_topics()
    existing = partitions_of(image, required)
    seen = metadata_hash(image, required)
    subtopologies = sorted(topology.subtopologies.values(), key=lambda one: one.subtopology_id)
    try:
        _check_sources(subtopologies, existing)
        decided = _decide(subtopologies, existing)
        counts = {**decided, **existing}
        missing = _missing(topology, decided, existing)
    except _Problem as problem:
        return Configured(problem=(problem.status, str(problem)), metadata_hash=seen)
    return Configured(
        task_counts={
            one.subtopology_id: max(counts[topic] for topic in inputs(one)) for one in subtopologies
        },
        stateful=frozenset(
            one.subtopology_id for one in subtopologies if one.state_changelog_topics
        ),
        partitions=decided,
        missing=missing,
        problem=(
            Status.MISSING_INTERNAL_TOPICS,
            f"Internal topics are missing: {_named(topic.name for topic in missing)}",
        )
        if missing
        else None,
        metadata_hash=seen,
    )


def partitions_of(image: Image, names: Iterable[str]) -> dict[str, int]:
    topics = image.topics_by_name
    return {name: len(topics[name].partitions) for name in names if name in topics}


def _check_sources(subtopologies: Iterable[Subtopology], existing: Mapping[str, int]) -> None:
    wanted = {topic for one in subtopologies for topic in one.source_topics}
    if absent := wanted - existing.keys():
        raise _Problem(
            Status.MISSING_SOURCE_TOPICS, f"Source topics {_named(sorted(absent))} are missing."
        )


def _decide(subtopologies: Sequence[Subtopology], existing: Mapping[str, int]) -> dict[str, int]:
    """Partitions of the internal topics."""
    decided = _repartition_counts(subtopologies, existing)
    fixed: set[str] = set()
    flexible: set[str] = set()
    for one in subtopologies:
        for topic in one.repartition_source_topics:
            (fixed if topic.partitions else flexible).add(topic.name)
    for one in subtopologies:
        for together in copartitioned(one):
            decided.update(_equalised(together, fixed, flexible, {**decided, **existing}))
    counts = {**decided, **existing}
    for one in subtopologies:
        sizes = [counts[topic] for topic in inputs(one)]
        if not sizes:
            raise invalid(f"Subtopology {one.subtopology_id} reads no topic.")
        for changelog in one.state_changelog_topics:
            decided[changelog.name] = max(sizes)
    return decided


def _repartition_counts(
    subtopologies: Sequence[Subtopology], existing: Mapping[str, int]
) -> dict[str, int]:
    """What is not said is as large as the largest topic that flows into it. Those may be
    repartition topics too: where they depend on each other, what is known must do."""
    counts = {
        topic.name: topic.partitions
        for one in subtopologies
        for topic in one.repartition_source_topics
        if topic.partitions
    }
    while waiting := [
        one for one in subtopologies if not counts.keys() >= set(one.repartition_sink_topics)
    ]:
        sizes = {
            one.subtopology_id: [counts.get(topic) or existing.get(topic) for topic in inputs(one)]
            for one in waiting
        }
        known = [one for one in waiting if all(sizes[one.subtopology_id])]
        some = [one for one in waiting if any(sizes[one.subtopology_id])]
        if not some:
            raise invalid("The repartition topics flow in a circle: their partitions are unknown.")
        first = (known or some)[0]
        size = max(count for count in sizes[first.subtopology_id] if count)
        for sink in first.repartition_sink_topics:
            counts.setdefault(sink, size)
    for one in subtopologies:
        for topic in one.repartition_source_topics:
            if topic.name not in counts:
                raise invalid(f"Nothing flows into repartition topic {topic.name}.")
    return counts


def _equalised(
    together: set[str], fixed: set[str], flexible: set[str], counts: Mapping[str, int]
) -> dict[str, int]:
    """Repartition topics follow the sources they are joined with; alone, one that says its
    number, or the largest."""
    internal = together & (fixed | flexible)
    sources = {topic: counts[topic] for topic in sorted(together - internal)}
    said = {topic: counts[topic] for topic in sorted(internal & fixed)}
    if not together:
        return {}
    if sources:
        wanted = _the_one_number(sources, "Topics not co-partitioned")
    elif said:
        wanted = _the_one_number(said, "Repartition topics that are joined differ in size")
    else:
        wanted = max(counts[topic] for topic in internal)
    for topic, count in said.items():
        if count != wanted:
            raise _Problem(
                Status.INCORRECTLY_PARTITIONED_TOPICS,
                f"Repartition topic {topic} has {count} partitions where {wanted} are needed.",
            )
    return dict.fromkeys(internal, wanted)


def _the_one_number(counts: Mapping[str, int], complaint: str) -> int:
    if len(set(counts.values())) > 1:
        shown = ", ".join(f"{topic}={count}" for topic, count in counts.items())
        raise _Problem(Status.INCORRECTLY_PARTITIONED_TOPICS, f"{complaint}: {shown}")
    return next(iter(counts.values()))


def _missing(
    topology: StreamsTopology, decided: Mapping[str, int], existing: Mapping[str, int]
) -> tuple[MissingTopic, ...]:
    missing: dict[str, MissingTopic] = {}
    for topic in topology.internal_topics():
        wanted = decided[topic.name]
        there = existing.get(topic.name)
        if there is None:
            missing[topic.name] = _missing_topic(topic, wanted)
        elif there != wanted:
            raise _Problem(
                Status.INCORRECTLY_PARTITIONED_TOPICS,
                f"Existing topic {topic.name} has {there} partitions, expected are {wanted}.",
            )
    return tuple(missing[name] for name in sorted(missing))


def _missing_topic(topic: TopicInfo, partitions: int) -> MissingTopic:
    return MissingTopic(
        name=topic.name,
        partitions=partitions,
        replication_factor=topic.replication_factor or -1,
        configs={one.key: one.value for one in topic.topic_configs},
    )


def _named(topics: Iterable[str]) -> str:
    names = list(topics)
    more = len(names) - NAMES_SHOWN
    shown = ", ".join(names[:NAMES_SHOWN])
    return f"{shown} and {more} more" if more > 0 else shown
