"""Groups of every kind: which there are, who is in one, and how far it has read.

Groups of consumers are asked for through librdkafka, which reaches any listener; the other kinds it
does not know, so those are asked for over the wire.
"""

import asyncio
from collections.abc import Mapping
from typing import NamedTuple

from confluent_kafka.admin import ConsumerGroupDescription, OffsetSpec

from ottla.client import share_groups, streams_groups
from ottla.client.admin import TIMEOUT_S, Admin, Place
from ottla.client.connection import Connection
from ottla.client.members import GroupMember
from ottla.client.share_groups import ShareGroup
from ottla.errors import OttlaError
from ottla.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from ottla.wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from ottla.wire.messages.streams_group_describe import DescribedGroup as StreamsGroup


class ListedGroup(NamedTuple):
    group: str
    state: str
    type: str


class Progress(NamedTuple):
    """Of a group in one partition; None where it never committed, or nobody knows the end."""

    topic: str
    partition: int
    committed: int | None
    end: int | None
    lag: int | None
    reader: str | None


def list_groups(admin: Admin) -> list[ListedGroup]:
    known = _of_all_kinds(admin.connection)
    known |= {
        group.group_id: (group.state.name.lower(), group.type.name.lower() if group.type else "")
        for group in admin.client.list_consumer_groups().result(TIMEOUT_S).valid
    }
    return sorted(ListedGroup(name, *row) for name, row in known.items())


def _of_all_kinds(connection: Connection) -> dict[str, tuple[str, str]]:
    """State and type, as coordinators call them; nothing where they cannot be asked directly."""
    try:
        return asyncio.run(_asked_for(connection))
    except OttlaError:
        return {}


async def _asked_for(connection: Connection) -> dict[str, tuple[str, str]]:
    found: dict[str, tuple[str, str]] = {}
    async with connection.wire() as wire:
        brokers = (await wire.ask_any(DescribeClusterRequest(), DescribeClusterResponse)).brokers
        for broker in brokers:
            place = broker.host, broker.port
            answer = await wire.ask(place, ListGroupsRequest(), ListGroupsResponse)
            for group in () if answer is None else answer.groups:
                found[group.group_id] = group.group_state.lower(), group.group_type.lower()
    return found


def find_group(admin: Admin, name: str) -> ConsumerGroupDescription | StreamsGroup | ShareGroup:
    """A group that must exist, of whatever kind."""
    of_consumers = admin.group(name)
    if of_consumers is not None:
        return of_consumers
    streams = streams_groups.described(admin.connection, name)
    if streams is not None:
        return streams
    shared = share_groups.described(admin.connection, name)
    if shared is not None:
        return shared
    raise OttlaError(f"There is no group {name}. `ottla group list` shows those there are.")


def consumers(described: ConsumerGroupDescription) -> list[GroupMember]:
    return [
        GroupMember(
            member.member_id,
            member.client_id,
            member.host,
            tuple((part.topic, part.partition) for part in member.assignment.topic_partitions),
        )
        for member in described.members
    ]


def read_progress(admin: Admin, group: str, read_by: Mapping[Place, str]) -> list[Progress]:
    """Of each partition that was read or has a reader."""
    committed = admin.committed(group)
    places = sorted({*committed, *read_by})
    ends = admin.offsets(places, OffsetSpec.latest())
    return [
        Progress(
            *place,
            committed.get(place),
            ends.get(place),
            ends[place] - committed[place] if place in committed and place in ends else None,
            read_by.get(place),
        )
        for place in places
    ]
