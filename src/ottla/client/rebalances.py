"""Why a group rebalanced last: asked of the coordinator directly, as no client library can.

Brokers of Apache Kafka do not tell; then there is nothing to show, and that is no error.
"""

import asyncio
from typing import Any

from msgspec.json import decode as decode_json

from ottla.client.connection import Connection
from ottla.errors import OttlaError
from ottla.wire.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from ottla.wire.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse


def last_rebalance(connection: Connection, group: str) -> dict[str, Any] | None:
    try:
        return asyncio.run(_asked(connection, group))
    except OttlaError:
        return None


async def _asked(connection: Connection, group: str) -> dict[str, Any] | None:
    modern = ConsumerGroupDescribeRequest(group_ids=[group], include_rebalance=True)
    classic = DescribeGroupsRequest(groups=[group], include_rebalance=True)
    async with connection.wire() as wire:
        place = await wire.coordinator(group)
        told = await wire.ask(place, modern, ConsumerGroupDescribeResponse)
        if told is not None and told.groups[0].rebalance is not None:
            return read_story(told.groups[0].rebalance)
        known = await wire.ask(place, classic, DescribeGroupsResponse)
    return None if known is None else read_story(known.groups[0].rebalance)


def read_story(story: str | None) -> dict[str, Any] | None:
    if story is None:
        return None
    read: dict[str, Any] = decode_json(story)
    return read
