"""What an application says about itself: its subtopologies and the topics between them. Pure."""

from collections.abc import Iterable, Iterator
from functools import cached_property

from ottla.errors import ErrorCode, KafkaError
from ottla.wire.messages import streams_group_heartbeat as asked
from ottla.wire.records import streams_groups as wire

Subtopology = wire.Subtopology
TopicInfo = wire.StreamsGroupTopologyValueTopicInfo


class StreamsTopology:
    """A topology as it is written down; never changed."""

    def __init__(self, written: wire.StreamsGroupTopologyValue) -> None:
        self.written = written
        self.epoch = written.epoch
        self.subtopologies = {one.subtopology_id: one for one in written.subtopologies}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StreamsTopology) and (self.epoch, self.subtopologies) == (
            other.epoch,
            other.subtopologies,
        )

    __hash__ = None  # type: ignore[assignment]  # it is compared, never looked up

    @cached_property
    def _readers(self) -> dict[str, str]:
        return {
            topic: one.subtopology_id
            for one in self.subtopologies.values()
            for topic in inputs(one)
        }

    def reader_of(self, topic: str) -> str | None:
        """The subtopology that reads a topic."""
        return self._readers.get(topic)

    def internal_topics(self) -> Iterator[TopicInfo]:
        for one in self.subtopologies.values():
            yield from one.repartition_source_topics
            yield from one.state_changelog_topics

    def required_topics(self) -> set[str]:
        """All that must exist before tasks can be given out."""
        return {*self._readers, *(topic.name for topic in self.internal_topics())}


def inputs(subtopology: Subtopology) -> Iterator[str]:
    yield from subtopology.source_topics
    for topic in subtopology.repartition_source_topics:
        yield topic.name


def copartitioned(subtopology: Subtopology) -> Iterator[set[str]]:
    """Topics that must have equally many partitions; the groups hold places in the lists."""
    for group in subtopology.copartition_groups:
        yield {
            *(subtopology.source_topics[index] for index in group.source_topics),
            *(
                subtopology.repartition_source_topics[index].name
                for index in group.repartition_source_topics
            ),
        }


def from_request(topology: asked.Topology) -> StreamsTopology:
    return StreamsTopology(
        wire.StreamsGroupTopologyValue(
            epoch=topology.epoch,
            subtopologies=[
                Subtopology(
                    subtopology_id=one.subtopology_id,
                    source_topics=one.source_topics,
                    source_topic_regex=one.source_topic_regex,
                    state_changelog_topics=_topics(one.state_changelog_topics),
                    repartition_sink_topics=one.repartition_sink_topics,
                    repartition_source_topics=_topics(one.repartition_source_topics),
                    copartition_groups=[
                        wire.CopartitionGroup(
                            source_topics=group.source_topics,
                            source_topic_regex=group.source_topic_regex,
                            repartition_source_topics=group.repartition_source_topics,
                        )
                        for group in one.copartition_groups
                    ],
                )
                for one in topology.subtopologies
            ],
        )
    )


def _topics(topics: Iterable[asked.TopicInfo]) -> list[TopicInfo]:
    return [
        TopicInfo(
            name=topic.name,
            partitions=topic.partitions,
            replication_factor=topic.replication_factor,
            topic_configs=[
                wire.TopicConfig(key=one.key, value=one.value) for one in topic.topic_configs
            ],
        )
        for topic in topics
    ]


def check(topology: asked.Topology) -> None:
    """What is wrong with it whatever topics there are."""
    for one in topology.subtopologies:
        for topic in one.state_changelog_topics:
            if topic.partitions != 0:
                raise invalid(
                    f"Changelog topic {topic.name} asks for {topic.partitions} partitions: it has "
                    "as many as its subtopology has tasks."
                )
        sizes = len(one.source_topics), len(one.repartition_source_topics)
        for group in one.copartition_groups:
            places = group.source_topics, group.repartition_source_topics
            for size, indexes in zip(sizes, places, strict=True):
                if any(not 0 <= index < size for index in indexes):
                    raise invalid(
                        f"A copartition group of subtopology {one.subtopology_id} names a topic "
                        "that is not there."
                    )


def invalid(reason: str) -> KafkaError:
    return KafkaError(ErrorCode.STREAMS_INVALID_TOPOLOGY, reason)
