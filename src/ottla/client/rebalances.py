"""Why a group rebalanced last: asked of the coordinator directly, as no client library can.

Brokers of Apache Kafka do not tell; then there is nothing to show, and that is no error.
"""

import asyncio
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from msgspec.json import decode as decode_json

from ottla.client.wire_client import Asking
from ottla.errors import OttlaError
from ottla.wire.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from ottla.wire.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse

SLOW_S = 1.0


def last_rebalance(bootstrap: str, group: str) -> dict[str, Any] | None:
    try:
        return asyncio.run(_asked(bootstrap, group))
    except OttlaError:
        return None


async def _asked(bootstrap: str, group: str) -> dict[str, Any] | None:
    modern = ConsumerGroupDescribeRequest(group_ids=[group], include_rebalance=True)
    classic = DescribeGroupsRequest(groups=[group], include_rebalance=True)
    async with Asking(bootstrap) as asking:
        place = await asking.coordinator(group)
        told = await asking.one(place, modern, ConsumerGroupDescribeResponse)
        if told is not None and told.groups[0].rebalance is not None:
            return read_story(told.groups[0].rebalance)
        known = await asking.one(place, classic, DescribeGroupsResponse)
    return None if known is None else read_story(known.groups[0].rebalance)


def read_story(story: str | None) -> dict[str, Any] | None:
    if story is None:
        return None
    read: dict[str, Any] = decode_json(story)
    return read


def told(story: dict[str, Any] | None, names: Mapping[str, str]) -> Iterator[str]:
    """Lines for people; `names`: what clients call themselves, by member."""
    if story is None:
        return

    def shown(member_id: str) -> str:
        return f"{names[member_id]} ({member_id})" if member_id in names else member_id

    started = datetime.fromtimestamp(story["started_ms"] / 1000).strftime("%H:%M:%S")
    seconds = story["seconds"]
    if story["finished"]:
        yield f"last rebalance {started}, settled in {seconds:.1f} s: {story['reason']}"
    else:
        yield f"rebalances since {started} ({seconds:.1f} s): {story['reason']}"
    for member_id in story["waiting_for"]:
        yield f"  waits for {shown(member_id)}"
    slow = sorted(story["joined"].items(), key=lambda item: -item[1])
    for member_id, after in slow[:3]:
        if after >= SLOW_S:
            yield f"  slow: {shown(member_id)} took {after:.1f} s"
