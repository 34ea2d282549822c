"""What a process knows of who leads its group, and its own way into leading.

What members say of each other in the group, and who is chosen, is the service's affair; the group
itself is `election`.
"""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Mapping

from ottla.errors import ErrorCode
from ottla.ports.clock import SYSTEM_CLOCK
from ottla.serving.producing import Fenced, Unwritten

_RETRY_S = 0.5
_log = logging.getLogger(__name__)


class Leadership(ABC):
    """A candidate of `election`."""

    def __init__(self) -> None:
        self._leader: str | None = None  # URL
        self._mine = False  # chosen, but not yet ready to write
        self._ready = False
        self._changed = asyncio.Condition()
        self._again: asyncio.Task[None] | None = None
        self._certain_until = 0.0

    @property
    def is_certain(self) -> bool:
        """Whether the group cannot have given this process up yet. From any thread: whoever was
        frozen sees it before anybody can tell."""
        return SYSTEM_CLOCK.monotonic() < self._certain_until

    @property
    def leads(self) -> bool:
        return self._ready

    async def settled(self, timeout_s: float) -> str | None:
        """The URL of the leader once it is known, "" for this process itself; None if nobody
        leads for that long."""
        try:
            async with asyncio.timeout(timeout_s), self._changed:
                await self._changed.wait_for(lambda: self._ready or self._leader is not None)
        except TimeoutError:
            return None
        return "" if self._ready else self._leader

    async def moved_from(self, leader: str) -> None:
        """Returns when another than the one at this URL leads."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._ready or self._leader not in (None, leader))

    # --- called by the election

    def heard(self, until: float) -> None:
        self._certain_until = until

    @abstractmethod
    def metadata(self) -> bytes: ...

    @abstractmethod
    def assign(self, members: Mapping[str, bytes]) -> Mapping[str, bytes]: ...

    @abstractmethod
    async def assigned(self, assignment: bytes, generation: int) -> None: ...

    @abstractmethod
    def refused(self, why: ErrorCode) -> None: ...

    def lost(self) -> None:
        """Whoever led says so as it joins anew, and stays; the writer of another ends it."""
        self._ready, self._leader = False, None
        if self._again is not None:
            self._again.cancel()
            self._again = None

    # --- leading and following

    @abstractmethod
    async def _begin_to_write(self) -> None:
        """Unwritten and Fenced are tried again."""

    @abstractmethod
    def _write_no_more(self) -> None: ...

    async def _lead(self) -> None:
        while True:
            try:
                await self._begin_to_write()
                break
            except (Unwritten, Fenced) as error:
                _log.warning("cannot begin to write: %s", error)
                await asyncio.sleep(_RETRY_S)
        self._ready = True
        await self._tell()

    async def _follow(self, leader: str) -> None:
        self._write_no_more()
        self._leader = leader
        await self._tell()

    def stumbled(self) -> None:
        """A write failed: read to the end behind a new record before the next one."""
        if self._ready:
            self._ready = False
            self._again = asyncio.create_task(self._lead())

    async def _tell(self) -> None:
        async with self._changed:
            self._changed.notify_all()
