"""Which logs of a directory have changed, for those who look after them.

Of ten thousand logs few change in a second: nobody has to go through all of them to find out.
"""


class LogChanges:
    """Shared by a directory and the logs in it, in the order in which they changed."""

    __slots__ = ("cuts", "damages", "logs")

    def __init__(self) -> None:
        self.logs: dict[
            object, None
        ] = {}  # new, appended to, committed, flushed, cut, reconfigured …
        self.cuts = 0  # truncations: what was written down before is too high
        self.damages = 0  # how often damage was found, or mended

    def take(self) -> list[object]:
        taken, self.logs = self.logs, {}
        return list(taken)
