"""Whether another broker is still there, asked before a client is sent to it.

A client that loses a broker asks another one within a millisecond, before that one has noticed
anything, and believes the answer for half a second or a whole one. So whoever is about to name
another broker asks it for a sign of life first. One that lives answers in well under a
millisecond; one that is dead becomes a suspect, and the answer waits for the controller's word.
"""

import asyncio
from collections.abc import Callable, Iterable

from ottla.membership.suspects import Suspects
from ottla.ports.network import LinkLost
from ottla.replication.peers import Peers
from ottla.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse

PATIENCE_S = 0.05
"""One that says nothing for so long may be slow, or stopped: its session decides."""
FRESH_S = 0.02
"""A sign of life serves those who ask right after: clients ask several things at once."""
LINK_S_MAX = 1.0
VERSION = 0
ASKED_MAX = 8
"""In a large cluster a question may be about many brokers; then the answer is given as it is."""


class Presence:
    def __init__(self, peers: Peers, suspects: Suspects, now: Callable[[], float]) -> None:
        self._peers = peers
        self._suspects = suspects
        self._now = now
        self._asking: dict[int, asyncio.Task[None]] = {}
        self._seen: dict[int, float] = {}

    async def look_for(self, brokers: Iterable[int]) -> None:
        """Returns when all have answered, or the controller has said what became of them."""
        wanted = set(brokers)
        if len(wanted) > ASKED_MAX:
            return
        lately = self._now() - FRESH_S
        asking = [self._ask_once(one) for one in wanted if self._seen.get(one, 0.0) < lately]
        if asking:
            await asyncio.wait(asking)
        if self._suspects.exist:
            await self._suspects.settled()

    def close(self) -> None:
        self._peers.close()

    def _ask_once(self, broker_id: int) -> "asyncio.Task[None]":
        """All who want to know at the same time share one question."""
        asking = self._asking.get(broker_id)
        if asking is None:
            asking = asyncio.get_running_loop().create_task(self._ask(broker_id))
            self._asking[broker_id] = asking
            asking.add_done_callback(lambda _: self._asking.pop(broker_id, None))
        return asking

    async def _ask(self, broker_id: int) -> None:
        try:
            async with asyncio.timeout(PATIENCE_S):
                if await self._answers(broker_id) or await self._answers(broker_id):
                    self._suspects.found(broker_id)
                    self._seen[broker_id] = self._now()
                else:
                    self._suspects.lost(broker_id)
        except TimeoutError:
            pass

    async def _answers(self, broker_id: int) -> bool:
        """A link may have ended for other reasons: only a new one that breaks is a sign."""
        try:
            ask = ApiVersionsRequest()
            await self._peers.ask(broker_id, ask, VERSION, ApiVersionsResponse, LINK_S_MAX)
        except LinkLost:
            return False
        return True
