"""Requests that librdkafka's admin client lacks, asked over the wire of any broker of a cluster.

Versions are those that Apache Kafka 4.0 and later, and Ottla, all speak; share groups are asked
for as of 4.2.
"""

import asyncio
from collections.abc import Iterable
from types import TracebackType
from typing import TypeVar

from ottla.config.topology import host_and_port
from ottla.errors import OttlaError
from ottla.ports.network import Link, LinkLost, TcpNetwork
from ottla.wire.client import Client
from ottla.wire.codec import MalformedMessage
from ottla.wire.message import Message
from ottla.wire.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from ottla.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from ottla.wire.messages.describe_cluster import DescribeClusterRequest
from ottla.wire.messages.describe_groups import DescribeGroupsRequest
from ottla.wire.messages.describe_log_dirs import DescribeLogDirsRequest
from ottla.wire.messages.describe_quorum import DescribeQuorumRequest
from ottla.wire.messages.describe_share_group_offsets import DescribeShareGroupOffsetsRequest
from ottla.wire.messages.elect_leaders import ElectLeadersRequest
from ottla.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from ottla.wire.messages.list_groups import ListGroupsRequest
from ottla.wire.messages.list_offsets import ListOffsetsRequest
from ottla.wire.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from ottla.wire.messages.metadata import MetadataRequest
from ottla.wire.messages.share_group_describe import ShareGroupDescribeRequest
from ottla.wire.messages.streams_group_describe import StreamsGroupDescribeRequest
from ottla.wire.messages.unregister_broker import UnregisterBrokerRequest

M = TypeVar("M", bound=Message)
Address = tuple[str, int]

ANSWER_S_MAX = 15.0
VERSIONS: dict[type[Message], int] = {
    AlterPartitionReassignmentsRequest: 0,
    ConsumerGroupDescribeRequest: 1,
    DescribeClusterRequest: 2,
    DescribeGroupsRequest: 6,
    DescribeLogDirsRequest: 4,
    DescribeQuorumRequest: 1,
    DescribeShareGroupOffsetsRequest: 1,
    ElectLeadersRequest: 2,
    FindCoordinatorRequest: 4,
    ListGroupsRequest: 5,
    ListOffsetsRequest: 7,
    ListPartitionReassignmentsRequest: 0,
    MetadataRequest: 12,
    ShareGroupDescribeRequest: 1,
    StreamsGroupDescribeRequest: 0,
    UnregisterBrokerRequest: 0,
}


class WireClient:
    """Connections to a cluster, opened when they are needed, closed together."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._places = [host_and_port("--bootstrap", one) for one in bootstrap.split(",") if one]
        self._network = TcpNetwork()
        self._links: dict[Address, tuple[Link, Client]] = {}

    async def __aenter__(self) -> "WireClient":
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for link, _ in self._links.values():
            link.close()

    def also_at(self, places: Iterable[Address]) -> None:
        """Brokers that were heard of: they are asked when those that were named are gone."""
        self._places += [place for place in places if place not in self._places]

    async def ask_any(self, request: Message, response: type[M]) -> M:
        """The answer of the first broker that gives one; OttlaError when none does."""
        for place in self._places:
            answer = await self.ask(place, request, response)
            if answer is not None:
                return answer
        raise OttlaError(
            f"No broker answers at {self._bootstrap}. Start one with `ottla start`, "
            "or name another with --bootstrap."
        )

    async def ask(self, place: Address, request: Message, response: type[M]) -> M | None:
        """None where nobody answers there."""
        try:
            async with asyncio.timeout(ANSWER_S_MAX):
                client = await self._client(place)
                return await client.ask(request, VERSIONS[type(request)], response)
        except (LinkLost, MalformedMessage, TimeoutError):
            return None

    async def coordinator(self, group: str) -> Address:
        """Of a group; OttlaError while there is none."""
        find = FindCoordinatorRequest(coordinator_keys=[group])
        (found,) = (await self.ask_any(find, FindCoordinatorResponse)).coordinators
        if found.error_code:
            raise OttlaError(f"Nobody coordinates {group} at the moment.")
        return found.host, found.port

    async def _client(self, place: Address) -> Client:
        known = self._links.get(place)
        if known is None or not known[0].is_open:
            link = await self._network.connect(*place, lambda: None)
            known = self._links[place] = link, Client(link, "ottla")
        return known[1]
