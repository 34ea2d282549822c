"""The composition root: parts put together, started and stopped in order. Nothing is decided here.

`serve` runs one node in the foreground; it is all that the command line knows.
"""

from ottla.config import Settings


def serve(settings: Settings) -> None:
    """Run a node until SIGTERM or SIGINT; OttlaError where it cannot start."""
    from ottla.node.lifecycle import run  # the server is imported only when it is to run

    run(settings)
