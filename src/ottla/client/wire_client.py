"""Requests that librdkafka's admin client lacks, asked over the wire of any broker of a cluster.

Versions are agreed upon with each broker as its connection is opened: the newest that both know.
"""

import asyncio
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import NamedTuple, TypeVar

from ottla.config.topology import host_and_port
from ottla.errors import OttlaError
from ottla.ports.network import Link, LinkLost, LinkUntrusted, Network, TcpNetwork
from ottla.version import VERSION
from ottla.wire.client import Client
from ottla.wire.codec import MalformedMessage
from ottla.wire.message import Message
from ottla.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from ottla.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse

M = TypeVar("M", bound=Message)
Address = tuple[str, int]

ANSWER_S_MAX = 15.0
HELLO_VERSION = 3  # of ApiVersions itself; every broker since 2.4 knows it


class Agreed(NamedTuple):
    """An open connection, and what the broker at its other end understands."""

    link: Link
    client: Client
    versions: Mapping[int, range]  # by API key

    def version(self, request: Message) -> int | None:
        """The newest that both know; None where the broker does not know the API."""
        theirs = self.versions.get(request.API_KEY, range(0))
        return max(set(theirs) & set(request.VERSIONS), default=None)


class WireClient:
    """Connections to a cluster, opened when they are needed, closed together."""

    def __init__(
        self, bootstrap: str, client_id: str = "ottla", network: Network | None = None
    ) -> None:
        self._bootstrap = bootstrap
        self._client_id = client_id
        self._places = [host_and_port("--bootstrap", one) for one in bootstrap.split(",") if one]
        self._network = network or TcpNetwork()
        self._open: dict[Address, Agreed] = {}

    async def __aenter__(self) -> "WireClient":
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for agreed in self._open.values():
            agreed.link.close()

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
        """None where nobody answers there, or nobody who knows the API."""
        try:
            async with asyncio.timeout(ANSWER_S_MAX):
                agreed = await self._agreed(place)
                version = agreed.version(request)
                if version is None:
                    return None
                return await agreed.client.ask(request, version, response)
        except LinkUntrusted as error:  # whoever asked can do something about it
            raise OttlaError(f"{error}.") from None
        except (LinkLost, MalformedMessage, TimeoutError):
            return None

    async def coordinator(self, group: str) -> Address:
        """Of a group; OttlaError while there is none."""
        find = FindCoordinatorRequest(coordinator_keys=[group])
        (found,) = (await self.ask_any(find, FindCoordinatorResponse)).coordinators
        if found.error_code:
            raise OttlaError(f"Nobody coordinates {group} at the moment.")
        return found.host, found.port

    async def _agreed(self, place: Address) -> Agreed:
        known = self._open.get(place)
        if known is None or not known.link.is_open:
            link = await self._network.connect(*place, lambda: None)
            client = Client(link, self._client_id)
            try:
                known = self._open[place] = Agreed(link, client, await _versions(client))
            except BaseException:
                link.close()
                raise
        return known


async def _versions(client: Client) -> dict[int, range]:
    """What a broker understands, by API key."""
    hello = ApiVersionsRequest(client_software_name="ottla", client_software_version=VERSION)
    told = await client.ask(hello, HELLO_VERSION, ApiVersionsResponse)
    return {one.api_key: range(one.min_version, one.max_version + 1) for one in told.api_keys}
