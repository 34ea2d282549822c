"""The receiving thread of a connector: what arrives is put in pieces until a run takes them.

How a server is read and told is the connector's. Here is what both sides of the thread agree on:
who waits for whom, when there is too much, and that a thread's failure is the connector's.
"""

import logging
import threading
from abc import ABC, abstractmethod
from typing import Generic, Protocol, TypeVar

from ottla.connect.connector import ConnectError

WAIT_S = 0.25
_log = logging.getLogger(__name__)
P = TypeVar("P")
Q = TypeVar("Q")
PositionT = TypeVar("PositionT", covariant=True)


class Received(Protocol[P, PositionT]):
    """A stream in pieces, as far as it has been read."""

    @property
    def ready(self) -> bool: ...

    @property
    def events(self) -> int:
        """Changes that wait, those of an open transaction among them."""

    @property
    def idle(self) -> PositionT | None:
        """The end of what was received, if nothing of it was captured."""

    def take(self) -> list[P]: ...


class Receiver(ABC, Generic[P, Q]):
    def __init__(self, name: str, received: Received[P, Q], queue_size: int) -> None:
        self._received = received
        self._queue_size = queue_size
        self._changed = threading.Condition()
        self._stopping = False
        self._failure: ConnectError | None = None
        self._thread = threading.Thread(target=self._run, name=f"cdc-{name}", daemon=True)

    @abstractmethod
    def _receive(self) -> None:
        """Until `_stopping`; what was received changes under `_changed`, which hears of it."""

    def _interrupt(self) -> None:
        """End a read that waits for the server, where it would not end soon by itself."""

    def start(self) -> None:
        self._thread.start()

    def wait(self, timeout_s: float) -> None:
        """Until there is something to write, or a failure, or the end."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._received.ready or self._failure or self._stopping, timeout_s
            )

    def take(self) -> list[P]:
        with self._changed:
            pieces = self._received.take()
            if not pieces and self._failure is not None:
                raise self._failure
            self._changed.notify_all()
            return pieces

    def idle(self) -> Q | None:
        """The end of what was received, if nothing of it waits to be written."""
        with self._changed:
            return None if self._received.ready else self._received.idle

    def stop(self) -> None:
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        self._interrupt()
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join(10)

    def _has_room(self) -> bool:
        """Whether more may be read; False after a moment in which nobody took enough."""
        with self._changed:
            if self._received.events < self._queue_size or not self._received.ready:
                return True
            self._changed.wait(WAIT_S)
            return False

    def _run(self) -> None:
        try:
            self._receive()
        except ConnectError as error:
            self._fail(error)
        except Exception as error:
            _log.exception("The receiving thread failed")
            self._fail(ConnectError(f"The stream of changes cannot be read: {error}"))

    def _fail(self, error: ConnectError) -> None:
        with self._changed:
            if not self._stopping:
                self._failure = error
            self._changed.notify_all()
