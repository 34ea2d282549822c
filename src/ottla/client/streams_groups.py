"""Streams groups: librdkafka does not know this kind of group yet.

Brokers are asked directly; where that cannot be done (TLS, passwords) there is nothing to show."""

import asyncio
from typing import Any

from ottla.client.connection import Connection
from ottla.client.members import GroupMember
from ottla.client.rebalances import read_story
from ottla.errors import OttlaError
from ottla.wire.messages.streams_group_describe import (
    DescribedGroup,
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
)


def described(connection: Connection, group: str) -> DescribedGroup | None:
    """None where it is no streams group."""
    try:
        return asyncio.run(_described(connection, group))
    except OttlaError:
        return None


async def _described(connection: Connection, group: str) -> DescribedGroup | None:
    describe = StreamsGroupDescribeRequest(group_ids=[group], include_rebalance=True)
    async with connection.wire() as wire:
        answer = await wire.ask(
            await wire.coordinator(group), describe, StreamsGroupDescribeResponse
        )
    shown = None if answer is None else answer.groups[0]
    return None if shown is None or shown.error_code else shown


def members(group: DescribedGroup) -> list[GroupMember]:
    """With the partitions of the sources that they read: those of their active tasks."""
    topics = {
        one.subtopology_id: [
            *one.source_topics,
            *(topic.name for topic in one.repartition_source_topics),
        ]
        for one in (group.topology.subtopologies if group.topology else None) or ()
    }
    return [
        GroupMember(
            member.member_id,
            member.client_id,
            member.client_host,
            tuple(
                (topic, index)
                for task in member.assignment.active_tasks
                for index in task.partitions
                for topic in topics.get(task.subtopology_id, ())
            ),
        )
        for member in group.members
    ]


def story(group: DescribedGroup) -> dict[str, Any] | None:
    return read_story(group.rebalance)
