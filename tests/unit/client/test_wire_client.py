"""The wire client: versions that both sides know, and brokers that do not answer."""

import asyncio

import pytest

from ottla.client.wire_client import Agreed, WireClient
from ottla.errors import OttlaError
from ottla.ports.network import free_ports
from ottla.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse


def agreed(versions: range) -> Agreed:
    by_key = {DescribeClusterRequest.API_KEY: versions}
    return Agreed(None, None, by_key)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("theirs", "chosen"),
    [(range(2), 1), (range(1, 99), 2), (range(50, 51), None), (range(0), None)],
)
def test_the_newest_version_that_both_know_is_used(theirs: range, chosen: int | None) -> None:
    assert agreed(theirs).version(DescribeClusterRequest()) == chosen


def test_an_api_that_a_broker_does_not_have_is_not_asked_for() -> None:
    assert Agreed(None, None, {}).version(DescribeClusterRequest()) is None  # type: ignore[arg-type]


def test_where_nobody_listens_it_says_what_to_do() -> None:
    [port] = free_ports(1)

    async def ask() -> None:
        async with WireClient(f"127.0.0.1:{port}") as wire:
            await wire.ask_any(DescribeClusterRequest(), DescribeClusterResponse)

    with pytest.raises(OttlaError, match="No broker answers at "):
        asyncio.run(ask())


def test_an_address_without_a_port_is_refused() -> None:
    with pytest.raises(OttlaError, match="write HOST:PORT"):
        WireClient("somewhere")
