"""Which cluster a new node joins: its controllers are asked, so that nobody has to copy an id.

A new broker waits until one of them answers. A new voter asks the others once: they may be as new
as it is. Who finds itself among voters of another cluster ends, rather than wait for ever.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ottla.errors import ErrorCode, OttlaError
from ottla.ports.network import LinkLost, Network
from ottla.wire.client import Client
from ottla.wire.codec import MalformedMessage

log = logging.getLogger(__name__)

CONTROLLERS = 2
VERSION = 1
RETRY_S = 0.1
ANSWER_S_MAX = 5.0
FIRST_ANSWER_S_MAX = 1.0
WATCH_S = 1.0

Endpoint = tuple[str, int]


async def ask_cluster_id(network: Network, controllers: Sequence[tuple[str, int]]) -> str:
    """Returns when one of them answers; they may still be starting."""
    if not controllers:
        raise OttlaError(
            "A broker needs controllers: name them in controller.quorum.bootstrap.servers "
            "or controller.quorum.voters."
        )
    is_told = False
    while True:
        for host, port in controllers:
            try:
                async with asyncio.timeout(ANSWER_S_MAX):
                    return await _ask(network, host, port)
            except (LinkLost, MalformedMessage, TimeoutError) as error:
                if not is_told:
                    log.info("no controller answers at %s:%d yet: %s", host, port, error)
        is_told = True
        await asyncio.sleep(RETRY_S)


async def _ask(network: Network, host: str, port: int) -> str:
    from ottla.wire.messages.describe_cluster import (
        DescribeClusterRequest,
        DescribeClusterResponse,
    )

    link = await network.connect(host, port, lambda: None)
    try:
        request = DescribeClusterRequest(endpoint_type=CONTROLLERS)
        answer = await Client(link, "ottla").ask(request, VERSION, DescribeClusterResponse)
    finally:
        link.close()
    if answer.error_code:
        code = ErrorCode(answer.error_code).name
        raise OttlaError(f"The controller at {host}:{port} does not tell its cluster: {code}.")
    return answer.cluster_id


async def ask_voters(network: Network, voters: Sequence[Endpoint]) -> dict[Endpoint, str]:
    """What those of them say who answer at once."""

    async def ask(host: str, port: int) -> str | None:
        try:
            async with asyncio.timeout(FIRST_ANSWER_S_MAX):
                return await _ask(network, host, port)
        except (LinkLost, MalformedMessage, TimeoutError, OttlaError):
            return None

    said = await asyncio.gather(*(ask(host, port) for host, port in voters))
    return {voter: id for voter, id in zip(voters, said, strict=True) if id is not None}


async def watch_voters(
    network: Network,
    voters: Sequence[Endpoint],
    own: str,
    directories: Sequence[Path],
    is_settled: Callable[[], bool],
) -> OttlaError | None:
    """Until this node knows a leader; why it never will, where that shows."""
    while not is_settled():
        said = await ask_voters(network, voters)
        if not is_settled() and (strangers := in_another_cluster(own, voters, said)) is not None:
            return strange(own, directories, strangers)
        await asyncio.sleep(WATCH_S)
    return None


def in_another_cluster(
    own: str, voters: Sequence[Endpoint], said: Mapping[Endpoint, str]
) -> dict[Endpoint, str] | None:
    """Voters of other clusters, where those that are left cannot be a majority without them."""
    others = {voter: id for voter, id in said.items() if id != own}
    majority = len(voters) // 2 + 1
    return others if others and len(voters) - len(others) < majority else None


def strange(own: str, directories: Sequence[Path], strangers: Mapping[Endpoint, str]) -> OttlaError:
    mine = ", ".join(map(str, directories))
    theirs = ", ".join(f"{host}:{port} of {id}" for (host, port), id in strangers.items())
    return OttlaError(
        f"{mine} belong{'s' if len(directories) == 1 else ''} to cluster {own}, but the voters are "
        f"{theirs}. Name other voters; or, if nothing that lies there is needed, empty it: the "
        "node then joins that cluster."
    )
