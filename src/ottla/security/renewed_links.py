"""A link whose session ends: it authenticates again on the same connection (KIP-368).

The other side told for how long it believes us. Shortly before, the next request waits until we
have proven anew who we are; nothing else may be sent meanwhile. A link that nobody uses does
nothing: a session that is over ends with the next request, and authentication may still go before.
"""

import asyncio
from collections.abc import Awaitable, Callable

from ottla.ports.chance import Chance
from ottla.ports.network import Frame, Link

EARLIEST, LATEST = 0.85, 0.95
"""Of the session's time, drawn anew each time: not all links renew at once. As Kafka's clients."""
RENEWAL_S_MIN = 1.0
"""Brokers refuse who comes more often."""


class RenewedLink:
    def __init__(
        self,
        link: Link,
        renew: Callable[[Link], Awaitable[float | None]],
        session_s: float,
        chance: Chance,
    ) -> None:
        """`renew` has the length of the next session, None where that has no end; where it fails
        it has closed the link."""
        self._link = link
        self._renew = renew
        self._chance = chance
        self._due = float("inf")
        self._renewal: asyncio.Task[None] | None = None
        self._plan(session_s)

    @property
    def is_open(self) -> bool:
        return self._link.is_open

    async def exchange(self, frame: bytes) -> Frame:
        if self._renewal is None and asyncio.get_running_loop().time() >= self._due:
            self._renewal = asyncio.create_task(self._begin_again())
        if self._renewal is not None:
            await asyncio.shield(self._renewal)  # who gives up leaves the exchange whole
        return await self._link.exchange(frame)

    def close(self) -> None:
        self._link.close()

    async def _begin_again(self) -> None:
        try:
            self._plan(await self._renew(self._link))
        finally:
            self._renewal = None

    def _plan(self, session_s: float | None) -> None:
        if session_s is None:
            self._due = float("inf")
            return
        part = EARLIEST + (LATEST - EARLIEST) * self._chance.random()
        wait_s = max(RENEWAL_S_MIN, session_s * part)
        self._due = asyncio.get_running_loop().time() + wait_s
