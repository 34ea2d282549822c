"""The clock of a node, which the event loop has to share."""

import asyncio
from collections.abc import Callable

import pytest
import uvloop

from ottla.ports.clock import SYSTEM_CLOCK


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_the_event_loop_counts_from_the_same_moment(
    new_loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    """Else what is to be done at a moment of the clock would be done at once, or in a year."""

    async def called_at(moment: float) -> float:
        called: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        loop = asyncio.get_running_loop()
        loop.call_at(moment, lambda: called.set_result(SYSTEM_CLOCK.monotonic()))
        return await called

    with asyncio.Runner(loop_factory=new_loop) as runner:
        moment = SYSTEM_CLOCK.monotonic() + 0.1
        assert runner.run(called_at(moment)) > moment - 0.002  # uvloop counts in milliseconds


def test_the_wall_clock_is_in_milliseconds() -> None:
    assert SYSTEM_CLOCK.wall_ms() // 10**12 == 1
