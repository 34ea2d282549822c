"""What one mechanism's side of the server is to the machine around it."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol


class Computation(NamedTuple):
    """Work for a thread; `then` takes what it gives and has the answer, or raises."""

    run: Callable[[], Any]
    then: Callable[[Any], bytes]


class Exchange(Protocol):
    """From the handshake to a user, or to an `AuthenticationFailed`."""

    @property
    def user(self) -> str: ...

    @property
    def claimed(self) -> str:
        """Who it says it is, once it has said so, proven or not."""

    @property
    def is_complete(self) -> bool: ...

    @property
    def is_by_token(self) -> bool:
        """A delegation token's bearer may not ask for more tokens."""

    @property
    def expires_ms(self) -> int | None:
        """When what it proved itself with ends."""

    def is_good(self) -> bool:
        """Whether what was proven, once complete, would still do."""

    def step(self, message: bytes) -> bytes | Computation: ...
