"""Share groups as people are shown them: librdkafka does not know this kind of group yet.

Brokers are asked directly; where that cannot be done (TLS, passwords) there is nothing to show."""

import asyncio
from collections import Counter
from typing import NamedTuple

from rich.markup import escape

from ottla.cli.members import Member, as_json, print_members
from ottla.cli.output import out, print_json, print_table
from ottla.client.wire_client import Asking
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

COLUMNS = ("topic", "partition", "start", "lag", "readers")


class ShareGroup(NamedTuple):
    group: DescribedGroup
    offsets: DescribeShareGroupOffsetsResponseGroup


def described(bootstrap: str, group: str) -> ShareGroup | None:
    """None where it is no share group."""
    try:
        return asyncio.run(_described(bootstrap, group))
    except OttlaError:
        return None


async def _described(bootstrap: str, group: str) -> ShareGroup | None:
    describe = ShareGroupDescribeRequest(group_ids=[group])
    everything = DescribeShareGroupOffsetsRequestGroup(group_id=group, topics=None)
    offsets = DescribeShareGroupOffsetsRequest(groups=[everything])
    async with Asking(bootstrap) as asking:
        place = await asking.coordinator(group)
        told = await asking.one(place, describe, ShareGroupDescribeResponse)
        if told is None or told.groups[0].error_code:
            return None
        reached = await asking.one(place, offsets, DescribeShareGroupOffsetsResponse)
    return None if reached is None else ShareGroup(told.groups[0], reached.groups[0])


def show(described: ShareGroup, json: bool) -> None:
    group, members = described.group, _members(described.group)
    rows = _rows(described, members)
    if json:
        print_json(
            {
                "group": group.group_id,
                "type": "share",
                "state": group.group_state.lower(),
                "epoch": group.group_epoch,
                "partitions": [dict(zip(COLUMNS, row, strict=True)) for row in rows],
                "members": [
                    {**shown, "epoch": member.member_epoch}
                    for shown, member in zip(as_json(members), group.members, strict=True)
                ],
            }
        )
        return
    lag = sum(row[3] or 0 for row in rows)
    counts = f"{len(group.members)} members  {lag:,} records behind"
    state = f"share group, {group.group_state.lower()}"
    out.print(f"[bold]{escape(group.group_id)}[/]  {state}  {counts}", soft_wrap=True)
    print_members(members)
    print_table([name.upper() for name in COLUMNS], rows)


def _members(group: DescribedGroup) -> list[Member]:
    return [
        Member(
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


def _rows(
    described: ShareGroup, members: list[Member]
) -> list[tuple[str, int, int | None, int | None, int]]:
    """Several members read a partition at once; an offset below zero is not known yet."""
    readers = Counter(place for member in members for place in member.places)
    reached = {
        (topic.topic_name, one.partition_index): (one.start_offset, one.lag)
        for topic in described.offsets.topics
        for one in topic.partitions
        if not one.error_code
    }
    rows = []
    for place in sorted({*readers, *reached}):
        start, lag = reached.get(place, (-1, -1))
        known = (start if start >= 0 else None, lag if lag >= 0 else None)
        rows.append((*place, *known, readers[place]))
    return rows
