"""A cluster that is looked at and changed, through librdkafka or over the wire.

The admin client is made when it is first needed: what only goes over the wire does without.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import cached_property
from typing import TypeVar

from ottla.client.admin import Admin
from ottla.client.cluster_state import ClusterState, read_cluster
from ottla.client.connection import Connection
from ottla.client.wire_client import WireClient

R = TypeVar("R")


class Cluster:
    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    @cached_property
    def admin(self) -> Admin:
        """OttlaError when no broker answers."""
        return Admin(self.connection)

    def state(self) -> ClusterState:
        """One look at everything; OttlaError when no broker answers."""
        return self.ask(read_cluster)

    def ask(self, work: Callable[[WireClient], Awaitable[R]]) -> R:
        """What `work` finds out or does over the wire, in an event loop of its own."""

        async def with_wire() -> R:
            async with self.connection.wire() as wire:
                return await work(wire)

        return asyncio.run(with_wire())
