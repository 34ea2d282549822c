"""Which logs of a directory have changed, for those who look after them.

Of ten thousand logs few change in a second: nobody has to go through all of them to find out.
"""


class Changes:
    """Shared by a directory and the logs in it. Threads may add to it; one reader takes."""

    __slots__ = ("cuts", "damages", "logs")

    def __init__(self) -> None:
        self.logs: set[object] = set()  # new, appended to, committed, flushed, cut, reconfigured …
        self.cuts = 0  # truncations: what was written down before is too high
        self.damages = 0  # how often damage was found, or mended

    def take(self) -> set[object]:
        """One by one: what a thread adds meanwhile is taken now or the next time."""
        taken = set()
        while self.logs:
            taken.add(self.logs.pop())
        return taken
