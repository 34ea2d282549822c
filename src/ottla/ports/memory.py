"""Memory that was freed, and the system that could use it."""

import ctypes
from contextlib import suppress


def give_back_memory() -> None:
    """Pages that were freed here and there: glibc gives back by itself only what lies on top."""
    with suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)
