"""Ids for producers, taken from blocks that the controller hands out: no two brokers share one."""

import asyncio
from collections.abc import Awaitable, Callable

from ottla.errors import ErrorCode, KafkaError

AskForBlock = Callable[[], Awaitable[tuple[int, int]]]
"""First id and length of a block that is ours alone."""


class ProducerIds:
    def __init__(self, ask: AskForBlock) -> None:
        self._ask = ask
        self._next = 0
        self._end = 0
        self._lock = asyncio.Lock()

    async def next(self) -> int:
        if self._next >= self._end:
            async with self._lock:
                if self._next >= self._end:
                    first, length = await self._ask()
                    if length <= 0:
                        raise KafkaError(
                            ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "No producer id is to be had."
                        )
                    self._next, self._end = first, first + length
        self._next += 1
        return self._next - 1
