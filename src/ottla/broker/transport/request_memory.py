"""Memory for requests that cannot be taken up yet, over all connections (queued.max.request.bytes).

A request may announce 100 MB, and a client may send all but its last byte, on as many connections
as it likes. So large requests are counted from their first bytes until they are taken up; while
there is no room, a connection is not read from. One that keeps others waiting with a request that
does not come to its end is closed. Those who have not said yet who they are have a little room of
their own, for all of them together, and are closed where there is none.
"""

import os
from collections.abc import Callable
from pathlib import Path

from ottla.wire.framing import FrameTooLong

UNFINISHED_S_MAX = 30.0
"""So long a request may take from its first byte to its last while others wait for room."""
STRANGERS_BYTES_MAX = 16 * 1024 * 1024
STRANGERS_COUNTED_BYTES_MIN = 1024
"""What tells who somebody is mostly comes whole, or is less."""
_SHARE_OF_MEMORY = 4
_BYTES_MIN = 64 * 1024 * 1024
_MEMORY_OF_CONTAINER = Path("/sys/fs/cgroup/memory.max")


def room_for(queued_max_request_bytes: int) -> int:
    """What the option says; Kafka's -1, no limit, means a quarter of the memory here."""
    if queued_max_request_bytes > 0:
        return queued_max_request_bytes
    return max(_BYTES_MIN, _memory() // _SHARE_OF_MEMORY)


def _memory() -> int:
    """The machine's, or what a container may use of it."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        return min(memory, int(_MEMORY_OF_CONTAINER.read_text()))
    except (OSError, ValueError):  # no such file, or no limit
        return memory


class RequestMemory:
    def __init__(self, limit: int, now: Callable[[], float]) -> None:
        self.limit = limit
        self.used = 0
        self._now = now
        self._waiting: dict[RequestMemoryShare, int] = {}  # in the order in which they came
        self._unfinished: dict[RequestMemoryShare, float] = {}  # since when

    def share(self, trusted: "RequestMemory | None" = None) -> "RequestMemoryShare":
        """`trusted` is where it belongs once it is known whose it is."""
        return RequestMemoryShare(self, trusted)

    def begin(self, share: "RequestMemoryShare", size: int) -> bool:
        """A request begins: True if there is room. One at a time always gets in."""
        if self._waiting or not self.has_room(size):
            self._waiting[share] = size
            return False
        self._admit(share, size)
        return True

    def ended(self, share: "RequestMemoryShare") -> None:
        """Whole, or never to be."""
        self._unfinished.pop(share, None)
        self._waiting.pop(share, None)

    def give_back(self, size: int) -> None:
        self.used -= size
        while self._waiting:
            share, wanted = next(iter(self._waiting.items()))
            if not self.has_room(wanted):
                return
            del self._waiting[share]
            self._admit(share, wanted)
            share.let_in()

    def sweep(self) -> None:
        """Close who keeps others waiting; called from time to time."""
        if not self._waiting:
            return
        late = self._now() - UNFINISHED_S_MAX
        for share in [share for share, since in self._unfinished.items() if since < late]:
            share.give_up()

    def has_room(self, size: int) -> bool:
        return not self.used or self.used + size <= self.limit

    def _admit(self, share: "RequestMemoryShare", size: int) -> None:
        self.used += size
        share.held += size
        self._unfinished[share] = self._now()


class RequestMemoryShare:
    """What one connection holds of the room; told by it when to go on and when to give up."""

    __slots__ = ("_memory", "_trusted", "give_up", "held", "let_in")

    def __init__(self, request_memory: RequestMemory, trusted: RequestMemory | None) -> None:
        self._memory = request_memory
        self._trusted = trusted
        self.held = 0
        self.let_in: Callable[[], None] = _nothing
        self.give_up: Callable[[], None] = _nothing

    def begin(self, size: int) -> bool:
        """FrameTooLong for a stranger's that there is no room for: to wait it would be kept."""
        self._check(size)
        return self._memory.begin(self, size)

    def _check(self, size: int) -> None:
        if self.is_strangers and not self._memory.has_room(size):
            raise FrameTooLong("no room is left for frames of those who did not say who they are")

    @property
    def is_strangers(self) -> bool:
        """It is not known yet whose it is."""
        return self._trusted is not None

    def completed(self) -> None:
        """The request is whole; what it holds is held until it is taken up."""
        self._memory.ended(self)

    def hold(self, size: int) -> None:
        """A request that came whole has to wait for its turn: it counts, but is kept out only if it
        is a stranger's."""
        self._check(size)
        self._memory.used += size
        self.held += size

    def give_back(self, size: int) -> None:
        self.held -= size
        self._memory.give_back(size)

    def trust(self) -> None:
        if self._trusted is None:
            return
        before, self._memory, self._trusted = self._memory, self._trusted, None
        before.ended(self)
        before.give_back(self.held)
        self._memory.used += self.held

    def close(self) -> None:
        self._memory.ended(self)
        self.give_back(self.held)
        self.let_in = self.give_up = _nothing  # no cycle: the connection goes when it is over


def _nothing() -> None:
    """Before a connection says what to do."""
