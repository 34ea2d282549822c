"""Other nodes by their number: a link to each, opened when first needed, shared by all who ask."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from ottla.ports.network import Link, LinkLost, Network
from ottla.wire.client import Client
from ottla.wire.message import Message

M = TypeVar("M", bound=Message)
Address = Callable[[int], tuple[str, int] | None]
"""Host and port of a node, None where it is not known."""


class Peers:
    def __init__(self, network: Network, address: Address, client_id: str) -> None:
        self._network = network
        self._address = address
        self._client_id = client_id
        self._clients: dict[int, tuple[Link, Client]] = {}
        self._connecting: dict[int, asyncio.Lock] = {}

    async def ask(
        self, node_id: int, request: Message, version: int, response: type[M], timeout_s: float
    ) -> M:
        """The answer of a node; LinkLost if it cannot be had within the time."""
        try:
            async with asyncio.timeout(timeout_s):
                client = await self._client(node_id)
                return await client.ask(request, version, response)
        except TimeoutError:
            self._drop(node_id)
            raise LinkLost(f"node {node_id} does not answer") from None

    def close(self) -> None:
        for link, _ in self._clients.values():
            link.close()
        self._clients.clear()

    async def _client(self, node_id: int) -> Client:
        known = self._open_client(node_id)
        if known is not None:
            return known
        async with self._connecting.setdefault(node_id, asyncio.Lock()):
            known = self._open_client(node_id)
            if known is not None:  # somebody else has opened it meanwhile
                return known
            address = self._address(node_id)
            if address is None:
                raise LinkLost(f"no address of node {node_id} is known")
            link = await self._network.connect(*address, lambda: None)
            client = Client(link, self._client_id)
            self._clients[node_id] = link, client
            return client

    def _open_client(self, node_id: int) -> Client | None:
        link, client = self._clients.get(node_id, (None, None))
        return client if link is not None and link.is_open else None

    def _drop(self, node_id: int) -> None:
        """A link on which an answer is overdue would hold up everything behind it."""
        known = self._clients.pop(node_id, None)
        if known is not None:
            known[0].close()
