"""Where an application keeps its checkpoints, and which generation of its outputs is current.

A generation is one pass over the history: a replay opens the next, with checkpoints and output
topics of its own. Checkpoints belong to one cluster, so that a new cluster starts afresh.
"""

import os
from pathlib import Path


def state_folder() -> Path:
    """`$OTTLA_STATE`, else the user's folder for state."""
    if chosen := os.environ.get("OTTLA_STATE"):
        return Path(chosen)
    home = os.environ.get("XDG_STATE_HOME")
    return (Path(home) if home else Path.home() / ".local" / "state") / "ottla"


class Generations:
    """The generations of one application on one cluster."""

    def __init__(self, root: Path, application: str, cluster: str) -> None:
        self.folder = root / application / cluster
        self._file = self.folder / "generation"

    def current(self) -> int:
        return int(self._file.read_text()) if self._file.exists() else 1

    def open_next(self) -> int:
        """The generation of a replay: the first one if nothing has run yet."""
        fresh = not any(self.folder.glob("[0-9]*"))
        number = 1 if fresh else self.current() + 1
        self.folder.mkdir(parents=True, exist_ok=True)
        self._file.write_text(str(number))
        return number

    def checkpoints(self, generation: int) -> Path:
        return self.folder / str(generation)
