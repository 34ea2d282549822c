"""Why a group rebalanced, how long it took, and for whom it waited.

Kept in memory for people (`ottla group describe`, the log); nothing is decided by it.
"""

import logging
from collections.abc import Iterable

from msgspec.json import encode

logger = logging.getLogger("ottla.groups")


class Rebalance:
    """The last rebalance of a group."""

    __slots__ = ("finished", "joined", "reason", "started", "started_wall_ms")

    def __init__(self) -> None:
        self.reason = ""
        self.started: float | None = None
        self.started_wall_ms = -1
        self.finished: float | None = None
        self.joined: dict[str, float] = {}  # member → seconds it took to take part

    def begin(self, group_id: str, reason: str, seconds: float, wall_ms: int) -> None:
        self.reason, self.started, self.started_wall_ms = reason, seconds, wall_ms
        self.finished, self.joined = None, {}
        logger.info("group %s rebalances: %s", group_id, reason)

    def member_joined(self, member_id: str, seconds: float) -> None:
        if self.started is not None and member_id not in self.joined:
            self.joined[member_id] = seconds - self.started

    def end(self, group_id: str, generation: int, seconds: float) -> None:
        if self.started is None or self.finished is not None:
            return
        self.finished = seconds
        slowest = self.slowest()
        waited = f"; slowest: {slowest[0]} ({slowest[1]:.3f} s)" if slowest else ""
        took = seconds - self.started
        logger.info(
            "group %s settled in generation %d after %.3f s%s", group_id, generation, took, waited
        )

    def told(self, now_s: float, waiting_for: Iterable[str]) -> str | None:
        """As JSON; None where the coordinator has not seen a rebalance since it started."""
        if self.started is None:
            return None
        seconds = (now_s if self.finished is None else self.finished) - self.started
        story = {
            "reason": self.reason,
            "started_ms": self.started_wall_ms,
            "seconds": round(seconds, 3),
            "finished": self.finished is not None,
            "joined": {member: round(after, 3) for member, after in self.joined.items()},
            "waiting_for": [] if self.finished is not None else sorted(waiting_for),
        }
        return encode(story).decode()

    def slowest(self) -> tuple[str, float] | None:
        return max(self.joined.items(), key=lambda item: item[1], default=None)
