"""Where the state of which partitions can be queried: told to members for interactive queries."""

from ottla.groups.streams.group import StreamsGroup, TaskSet
from ottla.groups.streams.records import by_subtopology
from ottla.groups.streams.topology import inputs
from ottla.metadata.image import Image
from ottla.wire.messages.streams_group_heartbeat import (
    EndpointToPartitions,
    ResponseEndpoint,
    TopicPartition,
)


def partitions_by_endpoint(group: StreamsGroup, image: Image) -> list[EndpointToPartitions]:
    return [
        EndpointToPartitions(
            user_endpoint=ResponseEndpoint(host=member.endpoint[0], port=member.endpoint[1]),
            active_partitions=_partitions(group, member.held.active, image),
            standby_partitions=_partitions(group, member.held.standby, image),
        )
        for member in group.members.values()
        if member.endpoint is not None
    ]


def _partitions(group: StreamsGroup, tasks: TaskSet, image: Image) -> list[TopicPartition]:
    """A subtopology may read topics with fewer partitions than it has tasks."""
    found: list[TopicPartition] = []
    for name, indexes in by_subtopology(tasks).items():
        subtopology = group.topology and group.topology.subtopologies.get(name)
        if not subtopology:
            continue
        for topic in inputs(subtopology):
            if topic in image.topics_by_name:
                count = len(image.topics_by_name[topic].partitions)
                partitions = [index for index in indexes if index < count]
                found.append(TopicPartition(topic=topic, partitions=partitions))
    return found
