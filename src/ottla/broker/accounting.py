"""What requests cost, and who has had more than its share: asked when an answer is ready.

As Apache Kafka does since KIP-219, the answer goes out at once and says for how long its client is
throttled, and the connection is muted for as long: nothing of it is taken up or read. A fetch is
answered without records. Whose quota it is, and what is left of it, is `broker.quotas`' to know.
"""

from collections.abc import Awaitable, Callable, Generator
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from ottla.broker.api import Api
    from ottla.broker.transport.pending_reply import Body
    from ottla.wire.message import Message


class Usage(NamedTuple):
    """What one request took. The API's row says for which quota it counts."""

    api: "Api"
    principal: str
    client_id: str | None
    bytes_in: int
    bytes_out: int
    seconds: float  # of the event loop's time, without what was waited for
    is_answered: bool = True  # a Produce with acks=0 is not
    is_withheld: bool = False  # whoever is throttled gets nothing of it, now


class Accountant(Protocol):
    @property
    def is_counting(self) -> bool:
        """Whether there is any quota at all: if not, requests pass without being measured."""

    def account(self, usage: Usage) -> int:
        """For how many milliseconds the client is throttled; 0: not at all."""

    def fetch_bytes_max(self, principal: str, client_id: str | None) -> int | None:
        """More would be throttled whatever was fetched before. None: there is no limit."""


class Unlimited:
    """Everybody may have everything."""

    is_counting = False

    def account(self, usage: Usage) -> int:
        return 0

    def fetch_bytes_max(self, principal: str, client_id: str | None) -> int | None:
        return None


class Cost:
    """One request as it is measured, while quotas are counted."""

    __slots__ = ("_now", "bytes_in", "fetch_bytes_max", "is_exempt", "seconds", "throttled")

    def __init__(self, bytes_in: int, now: Callable[[], float]) -> None:
        self._now = now
        self.bytes_in = bytes_in
        self.seconds = 0.0
        self.fetch_bytes_max: int | None = None  # None: as many as are asked for
        self.is_exempt = False  # other brokers are, whose requests are those of clients otherwise
        self.throttled: Callable[[int], Body] | None = None
        """For the hot APIs, which answer in bytes: the answer of one who is throttled that long."""

    def timed(self, answer: "Awaitable[Message]") -> "TimedAnswer":
        return TimedAnswer(answer, self)


class TimedAnswer:
    """An answer that is awaited; what it takes between its pauses is counted."""

    def __init__(self, answer: "Awaitable[Message]", cost: Cost) -> None:
        self._answer = answer
        self._cost = cost

    def __await__(self) -> "Generator[Any, Any, Message]":
        steps, cost = self._answer.__await__(), self._cost
        while True:
            began = cost._now()
            try:
                waits_for = next(steps)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            finally:
                cost.seconds += cost._now() - began
            yield waits_for
