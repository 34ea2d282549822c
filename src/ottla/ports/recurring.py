"""What a node does again and again for as long as it lives."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

log = logging.getLogger(__name__)


async def every(interval_s: float, step: Callable[[], Awaitable[None] | None], what: str) -> None:
    """Until cancelled. A step that fails is told of, once for each reason, and tried again: what
    nobody does any more nobody notices."""
    told = ""
    while True:
        await asyncio.sleep(interval_s)
        try:
            under_way = step()
            if under_way is not None:
                await under_way
            told = ""
        except Exception as error:
            if told != repr(error):
                log.exception("%s failed, and is tried again", what)
            told = repr(error)
