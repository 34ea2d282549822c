"""Threads beside the event loop: they copy much, and wait for disks and sockets."""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

NICENESS = 5


def threads_behind_the_loop(count: int, name: str) -> ThreadPoolExecutor:
    """Where there are not enough cores the loop comes first: everybody waits for it."""
    return ThreadPoolExecutor(count, name, initializer=_step_back)


def _step_back() -> None:
    if sys.platform == "linux":  # where a thread has a priority of its own
        thread = threading.get_native_id()
        os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + NICENESS)
