"""Share groups: librdkafka does not know this kind of group yet.

Brokers are asked directly; where that cannot be done (TLS, passwords) there is nothing to show."""

import asyncio
from typing import NamedTuple

from ottla.client.connection import Connection
from ottla.client.members import GroupMember
from ottla.errors import OttlaError
from ottla.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
)
from ottla.wire.messages.share_group_describe import (
    DescribedGroup,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
)


class ShareGroup(NamedTuple):
    group: DescribedGroup
    offsets: DescribeShareGroupOffsetsResponseGroup


def described(connection: Connection, group: str) -> ShareGroup | None:
    """None where it is no share group."""
    try:
        return asyncio.run(_described(connection, group))
    except OttlaError:
        return None


async def _described(connection: Connection, group: str) -> ShareGroup | None:
    describe = ShareGroupDescribeRequest(group_ids=[group])
    everything = DescribeShareGroupOffsetsRequestGroup(group_id=group, topics=None)
    offsets = DescribeShareGroupOffsetsRequest(groups=[everything])
    async with connection.wire() as wire:
        place = await wire.coordinator(group)
        told = await wire.ask(place, describe, ShareGroupDescribeResponse)
        if told is None or told.groups[0].error_code:
            return None
        reached = await wire.ask(place, offsets, DescribeShareGroupOffsetsResponse)
    return None if reached is None else ShareGroup(told.groups[0], reached.groups[0])


def members(group: DescribedGroup) -> list[GroupMember]:
    return [
        GroupMember(
            member.member_id,
            member.client_id,
            member.client_host,
            tuple(
                (topic.topic_name, index)
                for topic in member.assignment.topic_partitions
                for index in topic.partitions
            ),
        )
        for member in group.members
    ]
