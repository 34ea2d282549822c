"""GSSAPI (RFC 4752): Kerberos says who somebody is; the messages of both sides, as a machine.

First both sides exchange tokens of the security context, until it is established; then the server
offers security layers, of which Kafka has none but "none", and the client takes one and may name
whom it acts for: only itself. The context (`Acceptor`) is libkrb5's; asking it is work for a
thread, since it reads a keytab and writes down what it has seen, against replays.
"""

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple, Protocol

from ottla.security.exchange import Computation
from ottla.security.failures import AuthenticationFailed, InvalidCredentials

MECHANISM = "GSSAPI"
NO_LAYER = 1
OFFER = bytes((NO_LAYER, 0, 0, 0))
"""No layer, so no size of what a layer would wrap."""


class ContextFailed(Exception):
    """libkrb5 does not take what came: the reason is for the log."""


class Acceptor(Protocol):
    """A security context in the making; every call may raise `ContextFailed`."""

    @property
    def is_established(self) -> bool: ...

    @property
    def initiator(self) -> str:
        """The principal of the other side, once established."""

    def step(self, token: bytes) -> bytes: ...

    def wrap(self, message: bytes) -> bytes: ...

    def unwrap(self, message: bytes) -> bytes: ...


class Stage(Enum):
    TOKENS = "tokens"  # the context is not established yet
    OFFER = "offer"  # it is; an empty message asks for the layers
    CHOICE = "choice"  # they were offered


class GssStep(NamedTuple):
    message: bytes
    then: Stage


class GssServer:
    """One exchange."""

    is_by_token = False
    expires_ms: int | None = None  # Kafka lets a session outlive its ticket, too

    def __init__(self, accept: Callable[[], Acceptor], user_of: Callable[[str], str]) -> None:
        """`user_of` makes a user of a principal, or raises AuthenticationFailed."""
        self._accept = accept
        self._user_of = user_of
        self._context: Acceptor | None = None
        self._stage = Stage.TOKENS
        self.user = self.claimed = ""
        self.is_complete = False

    def is_good(self) -> bool:
        return True  # what a ticket proves, nobody here can take back

    def step(self, message: bytes) -> bytes | Computation:
        if self.is_complete:
            raise AuthenticationFailed("The exchange is over.")
        return Computation(lambda: self._asked(message), self._answer)

    def _asked(self, message: bytes) -> GssStep | ContextFailed:
        try:
            if self._context is None:
                self._context = self._accept()
            context = self._context
            if self._stage is Stage.CHOICE:
                return GssStep(context.unwrap(message), Stage.CHOICE)
            token = b""
            if self._stage is Stage.TOKENS:
                token = context.step(message)
                if not context.is_established:
                    return GssStep(token, Stage.TOKENS)
            elif message:
                raise ContextFailed("a token after the context was established")
            if token:  # the last one is answered by an empty message
                return GssStep(token, Stage.OFFER)
            return GssStep(context.wrap(OFFER), Stage.CHOICE)
        except ContextFailed as failed:
            return failed

    def _answer(self, outcome: GssStep | ContextFailed) -> bytes:
        if isinstance(outcome, ContextFailed):
            raise InvalidCredentials(str(outcome))
        assert self._context is not None
        if self._stage is Stage.CHOICE:
            self._choose(outcome.message, self._context.initiator)
            return b""
        self._stage = outcome.then
        if self._stage is not Stage.TOKENS:
            self.claimed = self._context.initiator
        return outcome.message

    def _choose(self, choice: bytes, principal: str) -> None:
        if len(choice) < len(OFFER) or choice[0] != NO_LAYER:
            raise InvalidCredentials("a security layer is chosen, and none was offered")
        try:
            wanted = choice[len(OFFER) :].decode()
        except UnicodeDecodeError:
            raise InvalidCredentials("the name to act for is not text") from None
        if wanted.lower() not in ("", principal.lower()):
            raise AuthenticationFailed(
                "Authentication failed: nobody may act in the name of another user."
            )
        self.user, self.is_complete = self._user_of(principal), True


def choose_no_layer(offer: bytes) -> bytes:
    """The client's answer to what a server offers; the principal itself is whom it acts for."""
    if len(offer) != len(OFFER) or not offer[0] & NO_LAYER:
        raise AuthenticationFailed("the other side insists on a security layer")
    return OFFER
