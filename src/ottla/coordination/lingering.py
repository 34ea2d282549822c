"""When shards append what was decided: as soon as a turn of the event loop brings nothing new.

A commit costs a fraction of what an append costs. Under load requests come in every turn, for many
shards; all of them wait for the first turn without any, or for a moment at most, and then write
one batch each. Where nothing else comes, that is the next turn: nobody waits for anything.
"""

import asyncio
from collections.abc import Callable

LINGER_S = 0.002


class Lingering:
    """Shared by the shards of one loop."""

    __slots__ = ("_came", "_flushes", "_loop", "_now", "_since")

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._flushes: list[Callable[[], None]] = []
        self._came = False  # something, since the last look
        self._since = 0.0
        self._loop: asyncio.AbstractEventLoop

    def begin(self, loop: asyncio.AbstractEventLoop, flush: Callable[[], None]) -> None:
        """A shard has begun a batch: `flush` is called once, when it is time to append it."""
        self._came = True
        if not self._flushes:
            self._loop, self._since = loop, self._now()
            loop.call_soon(self._look)
        self._flushes.append(flush)

    def came(self) -> None:
        """More for a batch that has begun."""
        self._came = True

    def _look(self) -> None:
        if self._came and self._now() - self._since < LINGER_S:
            self._came = False
            self._loop.call_soon(self._look)
            return
        flushes, self._flushes = self._flushes, []
        for flush in flushes:
            try:
                flush()
            except Exception as error:  # the other shards' batches are none of its business
                context = {"message": "a batch could not be appended", "exception": error}
                self._loop.call_exception_handler(context)
