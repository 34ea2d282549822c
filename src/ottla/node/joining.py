"""Which cluster a new broker joins: its controllers are asked, so that nobody has to copy an id."""

import asyncio
import logging
from collections.abc import Sequence

from ottla.errors import ErrorCode, OttlaError
from ottla.ports.network import LinkLost, Network
from ottla.wire.client import Client
from ottla.wire.codec import MalformedMessage
from ottla.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse

log = logging.getLogger(__name__)

CONTROLLERS = 2
VERSION = 1
RETRY_S = 0.1
ANSWER_S_MAX = 5.0


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
