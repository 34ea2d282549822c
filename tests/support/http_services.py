"""A service behind HTTP as a process that a test starts, awaits, stops and kills."""

import subprocess
import time
from abc import ABC, abstractmethod
from types import TracebackType
from typing import TypeVar

from support.homes import free_port

S = TypeVar("S", bound="HttpService")


class HttpService(ABC):
    START_S_MAX = 60.0
    STOP_S_MAX = 30.0
    PAUSE_S = 0.01

    def __init__(self, port: int | None = None) -> None:
        self.port = port or free_port()
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @abstractmethod
    def launch(self) -> None:
        """Start it without waiting."""

    @abstractmethod
    def serves(self) -> bool:
        """OSError while nobody listens."""

    @property
    def log(self) -> str:
        """What it has said, if that is kept."""
        return f"{type(self).__name__} does not serve"

    def wait_until_serving(self) -> None:
        deadline = time.monotonic() + self.START_S_MAX
        while True:
            assert self.process is not None
            try:
                if self.serves():
                    return
            except OSError:
                pass
            assert self.process.poll() is None, self.log[-3000:]
            assert time.monotonic() < deadline, self.log[-3000:]
            time.sleep(self.PAUSE_S)

    def __enter__(self: S) -> S:
        self.launch()
        self.wait_until_serving()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(self.STOP_S_MAX)
            except subprocess.TimeoutExpired:
                self.kill()

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait(10)
