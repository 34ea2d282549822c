"""A pause that another thread may end: what connectors wait with when there is nothing to read."""

import threading


class Pause:
    def __init__(self) -> None:
        self._ended = threading.Event()

    def ended(self, timeout_s: float) -> bool:
        """Wait that long; True at once when it was ended."""
        return self._ended.wait(timeout_s)

    def end(self) -> None:
        self._ended.set()
