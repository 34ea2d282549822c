"""StreamsGroupDescribe: what a streams group looks like from outside."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ottla.errors import ErrorCode
from ottla.groups.streams import targets
from ottla.groups.streams.group import NOTHING, StreamsGroup, StreamsGroupMember, Tasks, TaskSet
from ottla.groups.streams.records import by_subtopology
from ottla.groups.streams.topics import Configured
from ottla.groups.streams.topology import Subtopology, TopicInfo
from ottla.wire.messages import streams_group_describe as wire

if TYPE_CHECKING:
    from ottla.groups.machine import Groups


def describe(groups: "Groups", group_id: str) -> wire.DescribedGroup:
    group = groups.shown(group_id)
    if not isinstance(group, StreamsGroup):
        reason = "not found" if group is None else "is not a streams group"
        return wire.DescribedGroup(
            group_id=group_id,
            error_code=ErrorCode.GROUP_ID_NOT_FOUND,
            error_message=f"Group {group_id} {reason}.",
        )
    return wire.DescribedGroup(
        group_id=group_id,
        group_state=group.state,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        topology=_topology(groups, group),
        members=[
            _member(member, group.targets.get(member.id, NOTHING))
            for member in group.members.values()
        ],
    )


def _topology(groups: "Groups", group: StreamsGroup) -> wire.Topology | None:
    if group.topology is None:
        return None
    outcome = targets.configured(groups, group, group.topology)
    ordered = sorted(group.topology.subtopologies.items())
    return wire.Topology(
        epoch=group.topology.epoch,
        subtopologies=[_subtopology(name, one, outcome) for name, one in ordered],
    )


def _subtopology(name: str, one: Subtopology, outcome: Configured) -> wire.Subtopology:
    return wire.Subtopology(
        subtopology_id=name,
        source_topics=sorted(one.source_topics),
        repartition_sink_topics=sorted(one.repartition_sink_topics),
        state_changelog_topics=_topics(one.state_changelog_topics, outcome),
        repartition_source_topics=_topics(one.repartition_source_topics, outcome),
    )


def _topics(topics: Iterable[TopicInfo], outcome: Configured) -> list[wire.TopicInfo]:
    """With the partitions that were decided, once all is in order."""
    decided = outcome.partitions if outcome.is_ready else {}
    return [
        wire.TopicInfo(
            name=topic.name,
            partitions=decided.get(topic.name, topic.partitions),
            replication_factor=topic.replication_factor,
            topic_configs=[
                wire.KeyValue(key=one.key, value=one.value) for one in topic.topic_configs
            ],
        )
        for topic in sorted(topics, key=lambda topic: topic.name)
    ]


def _member(member: StreamsGroupMember, target: Tasks) -> wire.Member:
    return wire.Member(
        member_id=member.id,
        member_epoch=member.epoch,
        instance_id=member.instance_id,
        rack_id=member.rack,
        client_id=member.client_id,
        client_host=member.client_host,
        topology_epoch=member.topology_epoch,
        process_id=member.process_id,
        user_endpoint=None
        if member.endpoint is None
        else wire.Endpoint(host=member.endpoint[0], port=member.endpoint[1]),
        client_tags=[wire.KeyValue(key=key, value=value) for key, value in member.tags.items()],
        assignment=_assignment(member.held),
        target_assignment=_assignment(target),
    )


def _assignment(tasks: Tasks) -> wire.Assignment:
    return wire.Assignment(
        active_tasks=_task_ids(tasks.active),
        standby_tasks=_task_ids(tasks.standby),
        warmup_tasks=_task_ids(tasks.warmup),
    )


def _task_ids(tasks: TaskSet) -> list[wire.TaskIds]:
    return [
        wire.TaskIds(subtopology_id=name, partitions=indexes)
        for name, indexes in by_subtopology(tasks).items()
    ]
