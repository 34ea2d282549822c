"""Nothing hangs for ever: a run that is stuck shows all its stacks, and ends.

A test's own time-out (pytest-timeout) is a signal: who waits in a library's C code never hears it,
and who distributes tests (xdist) may wait for ever for a worker that died. So there is a second,
harder one behind it, which needs neither the interpreter nor the test: a while after a test's time
is over, and a while after that of the whole run (`--session-timeout`), if it has one.
"""

import faulthandler
import os
import sys
from collections.abc import Generator
from time import monotonic

import pytest

GRACE_S = 60.0  # for the gentler ways to end
TRIES = 2  # what fails may be tried again within the same test


class HangGuard:
    def __init__(self, config: pytest.Config) -> None:
        assert sys.__stderr__ is not None
        self._stderr = os.dup(sys.__stderr__.fileno())  # tests' output is captured, this is not
        session_s = config.getoption("session_timeout", None)
        self._session_end = monotonic() + session_s + GRACE_S if session_s else None
        self._test_end: float | None = None
        self._arm()

    def _arm(self) -> None:
        ends = [end for end in (self._session_end, self._test_end) if end is not None]
        faulthandler.cancel_dump_traceback_later()
        if ends:
            left = max(min(ends) - monotonic(), 0.1)
            faulthandler.dump_traceback_later(left, file=self._stderr, exit=True)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        limit_s = _limit_s(item)
        if limit_s:
            self._test_end = monotonic() + TRIES * limit_s + GRACE_S
            self._arm()
        try:
            return (yield)
        finally:
            self._test_end = None
            self._arm()

    @pytest.hookimpl(trylast=True)
    def pytest_exception_interact(self) -> None:
        """pytest has just disarmed it, for those who look at a failure in a debugger."""
        self._arm()

    def pytest_unconfigure(self) -> None:
        faulthandler.cancel_dump_traceback_later()
        os.close(self._stderr)


def _limit_s(item: pytest.Item) -> float:
    marker = item.get_closest_marker("timeout")
    if marker is not None and marker.args:
        return float(marker.args[0])
    chosen = item.config.getoption("timeout", None)
    return float(item.config.getini("timeout") or 0) if chosen is None else float(chosen)
