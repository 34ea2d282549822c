"""DescribeGroups, ConsumerGroupDescribe and ListGroups: what a group looks like from outside."""

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from ottla.errors import ErrorCode
from ottla.groups.classic.group import ClassicGroup, ClassicGroupState
from ottla.groups.consumer.group import ConsumerGroup, ConsumerGroupMember
from ottla.groups.consumer.targets import preferred_assignor
from ottla.groups.kinds import kind_of
from ottla.groups.share.group import ShareGroup
from ottla.ids import Uuid
from ottla.metadata.image import Image
from ottla.wire.messages import share_group_describe as share
from ottla.wire.messages.consumer_group_describe import (
    Assignment,
    TopicPartitions,
)
from ottla.wire.messages.consumer_group_describe import (
    DescribedGroup as DescribedConsumers,
)
from ottla.wire.messages.consumer_group_describe import (
    Member as ConsumerMember,
)
from ottla.wire.messages.describe_groups import DescribedGroup, DescribedGroupMember
from ottla.wire.messages.list_groups import ListedGroup

if TYPE_CHECKING:
    from ottla.groups.machine import Groups

NOT_FOUND_SINCE = 6
CLASSIC_MEMBER, CONSUMER_MEMBER = 0, 1


def describe(groups: "Groups", group_id: str, api_version: int) -> DescribedGroup:
    group = groups.shown(group_id)
    if not isinstance(group, ClassicGroup):
        reason = "not found" if group is None else "is not a classic group"
        return dead(group_id, api_version, f"Group {group_id} {reason}.")
    settled = group.state is ClassicGroupState.STABLE
    return DescribedGroup(
        group_id=group_id,
        group_state=group.state.value,
        protocol_type=group.protocol_type or "",
        protocol_data=(group.protocol or "") if settled else "",
        members=[
            DescribedGroupMember(
                member_id=member.id,
                group_instance_id=member.instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                member_metadata=member.metadata(group.protocol) if settled else b"",
                member_assignment=member.assignment,  # of the last generation, while it rebalances
            )
            for member in group.members.values()
        ],
    )


def dead(group_id: str, api_version: int, reason: str) -> DescribedGroup:
    described = DescribedGroup(group_id=group_id, group_state="Dead")
    if api_version >= NOT_FOUND_SINCE:
        described.error_code = ErrorCode.GROUP_ID_NOT_FOUND
        described.error_message = reason
    return described


def listed(groups: "Groups", states: Collection[str], types: Collection[str]) -> list[ListedGroup]:
    """Filters are lower case; an empty one lets everything through."""
    return [
        shown
        for shown in (kind_of(group).listed(group) for group in groups.all_shown())
        if (not states or shown.group_state.lower() in states)
        and (not types or shown.group_type in types)
    ]


# -- consumer groups --------------------------------------------------------------------------


def describe_consumer(groups: "Groups", group_id: str) -> DescribedConsumers:
    group = groups.shown(group_id)
    if not isinstance(group, ConsumerGroup):
        reason = "not found" if group is None else "is not a consumer group"
        return DescribedConsumers(
            group_id=group_id,
            error_code=ErrorCode.GROUP_ID_NOT_FOUND,
            error_message=f"Group {group_id} {reason}.",
        )
    image = groups.image()
    return DescribedConsumers(
        group_id=group_id,
        group_state=group.state,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=preferred_assignor(groups, group),
        members=[
            ConsumerMember(
                member_id=member.id,
                instance_id=member.instance_id,
                rack_id=member.rack,
                member_epoch=member.epoch,
                client_id=member.client_id,
                client_host=member.client_host,
                subscribed_topic_names=list(member.topics),
                subscribed_topic_regex=member.regex,
                assignment=_assignment(_all_it_has(member), image),
                target_assignment=_assignment(group.targets.get(member.id, {}), image),
                member_type=CLASSIC_MEMBER if member.classic is not None else CONSUMER_MEMBER,
            )
            for member in group.members.values()
        ],
    )


def _all_it_has(member: ConsumerGroupMember) -> dict[Uuid, set[int]]:
    """What it is to give up is its own until it has."""
    return {
        topic_id: {*member.held.get(topic_id, ()), *member.revoking.get(topic_id, ())}
        for topic_id in {**member.held, **member.revoking}
    }


def describe_share(groups: "Groups", group_id: str) -> share.DescribedGroup:
    group = groups.shown(group_id)
    if not isinstance(group, ShareGroup):
        reason = "not found" if group is None else "is not a share group"
        return share.DescribedGroup(
            group_id=group_id,
            error_code=ErrorCode.GROUP_ID_NOT_FOUND,
            error_message=f"Group {group_id} {reason}.",
        )
    topics = groups.image().topics_by_id
    return share.DescribedGroup(
        group_id=group_id,
        group_state=group.state,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name="simple",
        members=[
            share.Member(
                member_id=member.id,
                rack_id=member.rack,
                member_epoch=member.epoch,
                client_id=member.client_id,
                client_host=member.client_host,
                subscribed_topic_names=list(member.topics),
                assignment=share.Assignment(
                    topic_partitions=[
                        share.TopicPartitions(
                            topic_id=topic_id,
                            topic_name=topics[topic_id].name,
                            partitions=sorted(indexes),
                        )
                        for topic_id, indexes in member.partitions.items()
                        if topic_id in topics
                    ]
                ),
            )
            for member in group.members.values()
        ],
    )


def _assignment(partitions: Mapping[Uuid, Iterable[int]], image: Image) -> Assignment:
    """Topics that are gone are left out: nobody could name them."""
    return Assignment(
        topic_partitions=[
            TopicPartitions(
                topic_id=topic_id,
                topic_name=image.topics_by_id[topic_id].name,
                partitions=sorted(indexes),
            )
            for topic_id, indexes in partitions.items()
            if topic_id in image.topics_by_id
        ]
    )
