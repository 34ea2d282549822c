"""The composition root: parts put together, started and stopped in order. Nothing is decided here.

`serve` runs one node in the foreground; it is all that the command line knows.
"""

import gc
import sys

from ottla.config import Settings


def serve(settings: Settings) -> None:
    """Run a node until SIGTERM or SIGINT; OttlaError where it cannot start."""
    gc.disable()  # nothing of what a start makes is garbage; `process.freeze` ends it
    _load_msgspec()
    from ottla.node.lifecycle import run  # the server is imported only when it is to run

    run(settings)


def _load_msgspec() -> None:
    """Without `typing_extensions`, which it asks first for what Python 3.11 has in `typing`: that
    takes longer to load than any part of a node, and its memory would stay."""
    name = "typing_extensions"
    if name in sys.modules:
        return
    sys.modules[name] = None  # type: ignore[assignment]  # so that to import it fails
    try:
        import msgspec  # noqa: F401
    finally:
        del sys.modules[name]
