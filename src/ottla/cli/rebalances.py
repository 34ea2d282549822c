"""Why a group rebalanced last: asked of the coordinator directly, as no client library can.

Brokers of Apache Kafka do not tell; then there is nothing to show, and that is no error.
"""

import socket
from collections.abc import Iterator, Mapping
from datetime import datetime
from struct import pack, unpack
from typing import Any, TypeVar

from msgspec.json import decode as decode_json

from ottla.wire.codec import MalformedMessage, decode, encode
from ottla.wire.message import Message
from ottla.wire.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from ottla.wire.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from ottla.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse

R = TypeVar("R", bound=Message)
TIMEOUT_S = 5.0
CLIENT = b"ottla"
SLOW_S = 1.0


def last_rebalance(bootstrap: str, group: str) -> dict[str, Any] | None:
    for address in bootstrap.split(","):
        host, _, port = address.strip().rpartition(":")
        try:
            return _ask(host, int(port), group)
        except (OSError, ValueError, MalformedMessage):
            continue
    return None


def _ask(host: str, port: int, group: str) -> dict[str, Any] | None:
    find = FindCoordinatorRequest(coordinator_keys=[group])
    with socket.create_connection((host, port), TIMEOUT_S) as link:
        (coordinator,) = _exchange(link, find, FindCoordinatorResponse, 4).coordinators
    if coordinator.error_code:
        return None
    with socket.create_connection((coordinator.host, coordinator.port), TIMEOUT_S) as link:
        modern = ConsumerGroupDescribeRequest(group_ids=[group], include_rebalance=True)
        story = _exchange(link, modern, ConsumerGroupDescribeResponse, 1).groups[0].rebalance
        if story is None:
            classic = DescribeGroupsRequest(groups=[group], include_rebalance=True)
            story = _exchange(link, classic, DescribeGroupsResponse, 6).groups[0].rebalance
    return read_story(story)


def read_story(story: str | None) -> dict[str, Any] | None:
    if story is None:
        return None
    read: dict[str, Any] = decode_json(story)
    return read


def _exchange(link: socket.socket, request: Message, response: type[R], version: int) -> R:
    header = pack(">hhih", request.API_KEY, version, 0, len(CLIENT)) + CLIENT + b"\0"
    body = encode(request, version)
    link.sendall(pack(">i", len(header) + len(body)) + header + body)
    (size,) = unpack(">i", _read(link, 4))
    return decode(response, version, _read(link, size), 5)[0]


def _read(link: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        more = link.recv(size - len(data))
        if not more:
            raise OSError("the broker closed the connection")
        data += more
    return bytes(data)


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
