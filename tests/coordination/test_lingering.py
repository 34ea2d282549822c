"""Batches of several shards that wait for a quiet turn of the loop together."""

import asyncio
from typing import Any

from ottla.coordination.lingering import Lingering
from ottla.ports.clock import SYSTEM_CLOCK


def test_all_are_flushed_in_the_first_turn_that_brings_nothing() -> None:
    async def body() -> None:
        lingering, flushed = Lingering(SYSTEM_CLOCK.monotonic), []
        loop = asyncio.get_running_loop()
        lingering.begin(loop, lambda: flushed.append("one"))
        await asyncio.sleep(0)
        lingering.begin(loop, lambda: flushed.append("two"))
        await asyncio.sleep(0)
        assert flushed == []
        await asyncio.sleep(0)
        assert flushed == ["one", "two"]

    asyncio.run(body())


def test_one_that_breaks_does_not_keep_the_others() -> None:
    async def body() -> None:
        lingering, flushed, told = Lingering(SYSTEM_CLOCK.monotonic), asyncio.Event(), []
        loop = asyncio.get_running_loop()

        def note(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
            told.append(context["exception"])

        def break_down() -> None:
            raise OSError("the disk is gone")

        loop.set_exception_handler(note)
        lingering.begin(loop, break_down)
        lingering.begin(loop, flushed.set)
        await asyncio.wait_for(flushed.wait(), 10)
        assert [str(error) for error in told] == ["the disk is gone"]

    asyncio.run(body())
