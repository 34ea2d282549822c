"""Lines of the log that a stranger can cause at will: one for each kind in a while, with how many
there were."""

import logging
from collections.abc import Callable

INTERVAL_S = 30.0


class RareLog:
    def __init__(self, log: logging.Logger, now: Callable[[], float]) -> None:
        self._log = log
        self._now = now
        self._told: dict[str, float] = {}
        self._untold: dict[str, int] = {}

    def warn(self, kind: str, sentence: str) -> None:
        """Kinds are few, and ours: never what a peer sent."""
        now = self._now()
        if now < self._told.get(kind, float("-inf")) + INTERVAL_S:
            self._untold[kind] = self._untold.get(kind, 0) + 1
            return
        self._told[kind] = now
        more = self._untold.pop(kind, 0)
        self._log.warning("%s%s", sentence, f" ({more} more like it)" if more else "")
