"""A running application as a value: it runs in a thread, whoever holds the handle decides when."""

import contextlib
import io
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import Any

from ottla.pipelines.api.definitions import Application
from ottla.pipelines.engine.options import RunOptions
from ottla.pipelines.lifecycle.running import Runner
from ottla.pipelines.lifecycle.status import Status
from ottla.pipelines.planning.plan import make_plan
from ottla.pipelines.runtime import sessions
from ottla.pipelines.runtime.settings import LOCAL_MASTER

LOOK_S = 0.2
STOP_S = 60.0
INTERRUPTED = 130  # what a shell shows for a program that Ctrl-C has ended


def start(application: Application, *, quiet: bool = False, **options: Any) -> "Running":
    """Run an application in a thread of this process, with a picture where one can be shown."""
    from ottla.pipelines.lifecycle.pictures import notebook_view
    from ottla.pipelines.lifecycle.views import Lines

    options["master"] = options["master"] or os.environ.get("OTTLA_MASTER") or LOCAL_MASTER
    view = (None if quiet else notebook_view()) or Lines(io.StringIO() if quiet else None)
    return Running(Runner(make_plan(application), RunOptions(**options), view))


class Running:
    """An application under way. A `with` block stops it at its end."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._failed: BaseException | None = None
        self._signals = 0
        # A script lives as long as its application; a notebook's kernel must be able to end.
        self._thread = threading.Thread(target=self._run, daemon=interactive())
        self._thread.start()

    @property
    def status(self) -> Status:
        return self._runner.status

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    def ready(self, timeout_s: float | None = None) -> bool:
        """Wait until every query runs; False when the time is over first."""
        until = None if timeout_s is None else time.monotonic() + timeout_s
        while not self._runner.ready.wait(LOOK_S):
            if not self._thread.is_alive():
                self._raise()
                return self._runner.ready.is_set()
            if until is not None and time.monotonic() > until:
                return False
        return True

    def stop(self, timeout_s: float = STOP_S) -> None:
        """Stop cleanly, at the end of a batch, and wait for it."""
        self._runner.stop()
        self._thread.join(timeout_s)
        self._raise()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for the end; False when the time is over first. Raises what made it fail.

        Meanwhile Ctrl-C and SIGTERM stop the application cleanly, a second time at once.
        """
        until = None if timeout_s is None else time.monotonic() + timeout_s
        with self._obeying_signals():
            while self._thread.is_alive():
                self._thread.join(LOOK_S)
                if until is not None and time.monotonic() > until:
                    return False
        self._raise()
        return True

    def __enter__(self) -> "Running":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.stop()
        else:
            with contextlib.suppress(Exception):
                self.stop()

    def _repr_html_(self) -> str:
        from ottla.pipelines.lifecycle.pictures import status_html

        return status_html(self.status)

    def _run(self) -> None:
        try:
            self._runner.run()
        except BaseException as error:
            self._failed = error

    def _raise(self) -> None:
        if self._failed is not None and not self._thread.is_alive():
            failed, self._failed = self._failed, None
            raise failed

    @contextlib.contextmanager
    def _obeying_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        numbers = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.getsignal(number) for number in numbers}
        for number in numbers:
            signal.signal(number, self._signalled)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _signalled(self, number: int, frame: FrameType | None) -> None:
        self._signals += 1
        if self._signals > 1:
            sessions.kill()
            os._exit(INTERRUPTED)
        self._runner.stop()
        self._runner.view.say(
            f"Stopping: waiting for {self._runner.waits_for()}. Ctrl-C once more ends it at once."
        )


def interactive() -> bool:
    """Whether a person types into this process: then it must be able to end at any time."""
    from ottla.pipelines.lifecycle.pictures import in_notebook

    return hasattr(sys, "ps1") or in_notebook()
