"""One timer of the event loop for all the deadlines of a machine."""

import asyncio
from collections.abc import Callable


class Alarm:
    """Rings by the earliest deadline it was set to since it rang last; too early does no harm."""

    __slots__ = ("_due", "_ring", "_timer")

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0

    def set(self, deadline: float) -> None:
        if self._timer is not None:
            if self._due <= deadline:
                return
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_at(deadline, self._fire)
        self._due = deadline

    def cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _fire(self) -> None:
        self._timer = None
        self._ring()
