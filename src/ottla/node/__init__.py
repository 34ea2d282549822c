"""The composition root: parts put together, started and stopped in order. Nothing is decided here.

`serve` runs one node in the foreground; it is all that the command line knows.
"""

import gc

from ottla.config import Settings


def serve(settings: Settings) -> None:
    """Run a node until SIGTERM or SIGINT; OttlaError where it cannot start."""
    gc.disable()  # nothing of what a start makes is garbage; `process.freeze` ends it
    from ottla.node.lifecycle import run  # the server is imported only when it is to run

    run(settings)
