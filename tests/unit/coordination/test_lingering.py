"""Batches of several shards that wait for a quiet turn of the loop together."""

import asyncio
from typing import Any

from ottla.coordination.lingering import LINGER_S, Lingering


def test_all_are_flushed_in_the_first_turn_that_brings_nothing() -> None:
    async def body() -> None:
        lingering, flushed = Lingering(lambda: 0.0), []
        loop = asyncio.get_running_loop()
        lingering.begin(loop, lambda: flushed.append("one"))
        await asyncio.sleep(0)
        lingering.begin(loop, lambda: flushed.append("two"))
        await asyncio.sleep(0)
        assert flushed == []
        await asyncio.sleep(0)
        assert flushed == ["one", "two"]

    asyncio.run(body())


def test_nobody_waits_longer_than_a_moment_however_much_comes() -> None:
    async def body() -> None:
        now, flushed = 0.0, []
        lingering = Lingering(lambda: now)
        lingering.begin(asyncio.get_running_loop(), lambda: flushed.append("one"))
        for _ in range(5):
            await asyncio.sleep(0)
            lingering.came()
        assert flushed == []
        now = LINGER_S
        await asyncio.sleep(0)
        assert flushed == ["one"]

    asyncio.run(body())


def test_one_that_breaks_does_not_keep_the_others() -> None:
    async def body() -> None:
        lingering, flushed, told = Lingering(lambda: 0.0), asyncio.Event(), []
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
