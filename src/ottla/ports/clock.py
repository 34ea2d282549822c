"""What time it is: one clock for a whole node, handed down from `Node` to whoever asks for it.

Its two functions are plain ones: whoever asks often keeps them, and pays for no look-up.
"""

import time
from collections.abc import Callable
from typing import NamedTuple


class Clock(NamedTuple):
    monotonic: Callable[[], float]
    """In seconds: leases, time-outs and lags go by it, for it never jumps. It counts as the event
    loop does, so a moment of it can be given to `call_at`."""
    wall_ms: Callable[[], int]
    """Milliseconds since 1970, as records carry them; whoever sets the host's clock moves it."""


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000


def own_cpu_s() -> float:
    """What this thread has used: unlike a clock it stands still while others have the processor."""
    return time.thread_time()


SYSTEM_CLOCK = Clock(time.monotonic, _wall_ms)
