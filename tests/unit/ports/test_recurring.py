"""What recurs goes on after a failure."""

import asyncio

import pytest

from ottla.ports.recurring import every


def test_a_step_that_fails_is_told_of_once_and_tried_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    tried = 0

    async def run() -> None:
        done = asyncio.Event()

        def step() -> None:
            nonlocal tried
            tried += 1
            if tried == 5:
                done.set()
            raise ValueError("the same" if tried < 4 else "another")

        task = asyncio.create_task(every(0.0, step, "counting"))
        async with asyncio.timeout(5):
            await done.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(run())
    assert tried == 5
    assert [each.getMessage() for each in caplog.records] == [
        "counting failed, and is tried again"
    ] * 2


def test_a_step_may_take_time() -> None:
    async def run() -> int:
        tried = 0
        done = asyncio.Event()

        async def step() -> None:
            nonlocal tried
            await asyncio.sleep(0)
            tried += 1
            if tried == 3:
                done.set()

        task = asyncio.create_task(every(0.0, step, "counting"))
        async with asyncio.timeout(5):
            await done.wait()
        task.cancel()
        return tried

    assert asyncio.run(run()) == 3
