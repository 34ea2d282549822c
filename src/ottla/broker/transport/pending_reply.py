"""A reply that comes later, for the hot path: what a long poll or `acks=all` returns.

Lighter than a Future: no loop, no task, one receiver, who is called in the turn that delivers.
"""

from collections.abc import Callable

Buffer = bytes | bytearray | memoryview
Body = list[Buffer]
"""A reply in pieces that are written one after the other."""
Receiver = Callable[["Body | ConnectionLost | None"], None]


class ConnectionLost(Exception):
    """There will be no reply: the connection has to go."""


class PendingReply:
    """Ends in a body, in None (the client wants no reply), or broken."""

    __slots__ = ("_body", "_receiver", "abandoned", "delivered", "is_first", "wrap")

    def __init__(self) -> None:
        self._body: Body | ConnectionLost | None = None
        self._receiver: Receiver | None = None
        self.wrap: Callable[[Body | None], Body | None] | None = None
        """Dispatch counts it and puts the header in front."""
        self.is_first = False  # no other request of the connection may be taken up before it ends
        self.delivered = False
        self.abandoned = False  # the client is gone: whoever was to deliver may forget it

    def deliver(self, body: Body | None) -> None:
        """The first delivery counts."""
        self._end(body)

    def break_off(self) -> None:
        """Nothing can be answered any more; why was logged."""
        self._end(ConnectionLost())

    def _end(self, body: Body | ConnectionLost | None) -> None:
        if self.delivered:
            return
        self.delivered = True
        self._body = body
        receiver, self._receiver = self._receiver, None  # who has us in its slot is let go
        if receiver is not None:
            receiver(self._wrapped())

    def then(self, receiver: Receiver) -> None:
        if self.delivered:
            receiver(self._wrapped())
        else:
            self._receiver = receiver

    def pass_on_to(self, other: "PendingReply") -> None:
        """However this one ends, so does the other."""
        self.then(other._end)

    def abandon(self) -> None:
        self.abandoned = True
        self._receiver = None

    def _wrapped(self) -> Body | ConnectionLost | None:
        body = self._body
        if isinstance(body, ConnectionLost) or self.wrap is None:
            return body
        return self.wrap(body)
