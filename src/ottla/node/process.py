"""What the process as a whole is tuned to: memory, files, log lines."""

import ctypes
import gc
import logging
import resource
import sys
from contextlib import suppress

_M_ARENA_MAX = -8
ARENAS = 2
GC_THRESHOLDS = (50_000, 20, 100)
SWITCH_S = 0.001
"""How long a thread that computes keeps the interpreter from the loop: each system call of the loop
may cost it that once. By default it is 5 ms."""


def tune() -> None:
    gc.set_threshold(*GC_THRESHOLDS)
    sys.setswitchinterval(SWITCH_S)
    _cap_malloc_arenas()
    _raise_file_limit()


def freeze() -> None:
    """What is alive now stays alive: the collector need not look at it, now or later."""
    gc.freeze()
    gc.enable()


def log_to_stderr(node_id: int) -> None:
    """When, how grave, which node, which module: several nodes' lines may end up in one file."""
    line = f"%(asctime)s %(levelname)s [{node_id}] %(name)s: %(message)s"
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter(line))
    root = logging.getLogger("ottla")
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    root.propagate = False


def _cap_malloc_arenas() -> None:
    """glibc gives every thread an arena of its own; ours only wait for the disk."""
    with suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, ARENAS)


def _raise_file_limit() -> None:
    """Segments and connections need more descriptors than a shell usually grants."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
