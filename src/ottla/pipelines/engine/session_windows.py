"""Sessions of one group: which there are, and what a record does to them.

Pure. A session reaches from its first record to a gap after its last. A record that is at most a
gap away from one, or from several, makes one session of them all. What a session holds is anything
that can be joined with what another holds.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

Held = TypeVar("Held")


@dataclass(frozen=True, slots=True)
class Session(Generic[Held]):
    start_ms: int  # of its first record
    last_ms: int  # of its last record
    held: Held

    def end_ms(self, gap_ms: int) -> int:
        return self.last_ms + gap_ms


@dataclass
class Sessions(Generic[Held]):
    """The open sessions of a group; no two of them are as near as a gap."""

    gap_ms: int
    join: Callable[[Held, Held], Held]  # what the earlier session holds, and the later
    open: list[Session[Held]]

    def add(self, at_ms: int, into: Callable[[Held | None], Held]) -> Session[Held]:
        """Take a record; `into` gives what its session holds from what it held before."""
        near = sorted(
            (one for one in self.open if self._is_near(one, at_ms)), key=lambda one: one.start_ms
        )
        held: Held | None = None
        for one in near:
            held = one.held if held is None else self.join(held, one.held)
        start = min([at_ms, *(one.start_ms for one in near)])
        last = max([at_ms, *(one.last_ms for one in near)])
        made = Session(start, last, into(held))
        self.open = [one for one in self.open if one not in near] + [made]
        return made

    def close(self, watermark_ms: int) -> Iterable[Session[Held]]:
        """Take out the sessions that no record in time can reach any more, oldest first."""
        over = [one for one in self.open if one.end_ms(self.gap_ms) <= watermark_ms]
        self.open = [one for one in self.open if one not in over]
        return sorted(over, key=lambda one: one.start_ms)

    def _is_near(self, one: Session[Held], at_ms: int) -> bool:
        return one.start_ms - self.gap_ms <= at_ms <= one.last_ms + self.gap_ms
