"""A reply that comes later, for the hot path: what a long poll or `acks=all` returns.

Lighter than a Future: no loop, no task, one receiver, who is called in the turn that delivers.
"""

from collections.abc import Callable

Buffer = bytes | bytearray | memoryview
Body = list[Buffer]
"""A reply in pieces that are written one after the other."""


class Later:
    __slots__ = ("_body", "_receiver", "abandoned", "delivered", "wrap")

    def __init__(self) -> None:
        self._body: Body = []
        self._receiver: Callable[[Body], None] | None = None
        self.wrap: Callable[[Body], Body] | None = None  # dispatch puts the header in front
        self.delivered = False
        self.abandoned = False  # the client is gone: whoever was to deliver may forget it

    def deliver(self, body: Body) -> None:
        """The first delivery counts."""
        if self.delivered:
            return
        self.delivered = True
        self._body = body
        if self._receiver is not None:
            self._receiver(self.take())

    def then(self, receiver: Callable[[Body], None]) -> None:
        if self.delivered:
            receiver(self.take())
        else:
            self._receiver = receiver

    def abandon(self) -> None:
        self.abandoned = True
        self._receiver = None

    def take(self) -> Body:
        return self._body if self.wrap is None else self.wrap(self._body)
