"""Long polls: whoever waits for partitions to move, or for time to pass.

Partitions that moved are gathered, and those who watch them are looked at once per turn of the
event loop, not once per append. One timer serves all deadlines.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable

from ottla.broker.transport.pending_reply import PendingReply
from ottla.replication.leader import Watched

log = logging.getLogger(__name__)

TICK_S = 0.002


class Waiter:
    """Waits for `leaders` until `try_now` is content, or until its time is up.

    `try_now(False)` says whether it is done; `try_now(True)` is the last call, and must be.
    """

    __slots__ = ("_later", "_leaders", "_slot", "_try_now", "_waiting", "done")

    def __init__(
        self,
        waiting: "Waiting",
        leaders: Iterable[Watched],
        try_now: Callable[[bool], bool],
        later: PendingReply | None,
    ) -> None:
        self._waiting = waiting
        self._later = later
        self._leaders = list(leaders)
        self._try_now = try_now
        self._slot = -1
        self.done = False

    def look(self) -> None:
        if not self.done and self._tried(False):
            self.finish()

    def expire(self) -> None:
        if not self.done:
            self.finish()
            self._tried(True)

    def _tried(self, is_last: bool) -> bool:
        """A fault in one must not keep others waiting."""
        later = self._later
        try:
            return (later is not None and later.abandoned) or self._try_now(is_last)
        except Exception:
            log.exception("a request that waited failed")
            if later is not None:
                later.break_off()
            return True

    def finish(self) -> None:
        """Forget it; also when the client has gone."""
        self.done = True
        for leader in self._leaders:
            leader.watchers.pop(self, None)
        self._leaders = []
        self._waiting.forget(self)


class Waiting:
    def __init__(self, now: Callable[[], float]) -> None:
        self._loop = asyncio.get_running_loop()
        self._now = now
        self._moved: dict[Watched, None] = {}
        self._wheel: dict[int, dict[Waiter, None]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._timer_slot = 0

    def moved(self, leader: Watched) -> None:
        """A partition that someone watches has grown, was committed further, or was lost."""
        if not self._moved:
            self._loop.call_soon(self._wake)
        self._moved[leader] = None

    def wait(
        self,
        leaders: Iterable[Watched],
        timeout_s: float,
        try_now: Callable[[bool], bool],
        later: PendingReply | None = None,
    ) -> Waiter:
        """`later` is what `try_now` delivers, if so: nobody tries for a client that left."""
        waiter = Waiter(self, leaders, try_now, later)
        for leader in waiter._leaders:
            leader.watchers[waiter] = None
        slot = int((self._now() + timeout_s) / TICK_S) + 1
        waiter._slot = slot
        self._wheel.setdefault(slot, {})[waiter] = None
        if self._timer is None or slot < self._timer_slot:
            self._arm(slot)
        return waiter

    async def movement(self, leaders: Iterable[Watched], timeout_s: float) -> None:
        """Until one of them moves, or the time is up."""
        moved = asyncio.Event()

        def look(last: bool) -> bool:
            moved.set()
            return True

        waiter = self.wait(leaders, timeout_s, look)
        try:
            await moved.wait()
        finally:
            waiter.finish()

    def forget(self, waiter: Waiter) -> None:
        slot = self._wheel.get(waiter._slot)
        if slot is not None:
            slot.pop(waiter, None)
            if not slot:
                del self._wheel[waiter._slot]

    def _wake(self) -> None:
        moved, self._moved = self._moved, {}
        for waiter in {waiter: None for leader in moved for waiter in leader.watchers}:
            waiter.look()

    def _arm(self, slot: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer_slot = slot
        self._timer = self._loop.call_at(slot * TICK_S, self._turn)

    def _turn(self) -> None:
        self._timer = None
        now = int(self._now() / TICK_S)
        for slot in sorted(slot for slot in self._wheel if slot <= now):
            for waiter in list(self._wheel.get(slot, ())):
                waiter.expire()
        if self._wheel:
            self._arm(max(min(self._wheel), now + 1))
