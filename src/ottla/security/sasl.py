"""The server's side of SASL on one connection (Kafka: SaslServerAuthenticator), as a pure machine.

A client may ask for the versions once, then names a mechanism (SaslHandshake), then exchanges that
mechanism's messages: in SaslAuthenticate requests, or bare after a handshake of version 0. Whatever
comes out of order fails. Where sessions end, a client may authenticate again on the same
connection, as the same user, by the same mechanism, at most once a second.
"""

from collections.abc import Callable, Mapping
from enum import Enum
from typing import NamedTuple

from ottla.errors import ErrorCode
from ottla.security.exchange import Computation, Exchange
from ottla.security.failures import AuthenticationFailed, InvalidCredentials

REAUTHENTICATION_S_MIN = 1.0


class SaslState(Enum):
    INITIAL = "initial"  # ApiVersions or SaslHandshake
    HANDSHAKE = "handshake"  # ApiVersions was asked: SaslHandshake has to come
    AUTHENTICATE = "authenticate"
    COMPLETE = "complete"
    FAILED = "failed"


class Handshake(NamedTuple):
    error: ErrorCode
    mechanisms: list[str]


class SaslAnswer(NamedTuple):
    """To one message of an exchange."""

    error: ErrorCode
    message: str | None = None
    token: bytes = b""
    session_ms: int = 0
    is_told: bool = True  # else the connection is closed without a word, as Kafka does


class SaslListener(NamedTuple):
    """What one listener offers, by mechanism: how an exchange begins, how long sessions last."""

    mechanisms: Mapping[str, Callable[[], Exchange]]
    session_ms_max: Mapping[str, int]


class SaslServer:
    """`fault` says, for the log, why it failed; it may not be told to the client."""

    def __init__(
        self, listener: SaslListener, now: Callable[[], float], now_ms: Callable[[], int]
    ) -> None:
        self._listener = listener
        self._now = now
        self._now_ms = now_ms
        self.state = SaslState.INITIAL
        self.mechanism = ""
        self.takes_bare_tokens = False
        self.fault = ""
        self.claimed = ""  # by one that failed
        self.user = ""
        self.is_by_token = False
        self.session_ends: float | None = None  # on the monotonic clock
        self._exchange: Exchange | None = None
        self._proof: Exchange | None = None  # the exchange that was completed
        self._before: tuple[str, str] | None = None  # mechanism and user, while it is done again
        self._began_again = float("-inf")

    @property
    def is_complete(self) -> bool:
        return self.state is SaslState.COMPLETE

    @property
    def is_expired(self) -> bool:
        return self.session_ends is not None and self._now() >= self.session_ends

    def is_good(self) -> bool:
        """Whether what the client proved would still do."""
        return self._proof is None or self._proof.is_good()

    def ask_versions(self, *, is_understood: bool = True) -> bool:
        """Whether ApiVersions may be asked now. Who asked in a version that nobody knows here may
        ask again, in one that it is told of."""
        if self.state is not SaslState.INITIAL:
            return self.is_complete
        if is_understood:
            self.state = SaslState.HANDSHAKE
        return True

    def handshake(self, mechanism: str, version: int) -> Handshake:
        offered = sorted(self._listener.mechanisms)
        if self.is_complete:
            if not self._may_begin_again():
                return Handshake(ErrorCode.ILLEGAL_SASL_STATE, [])
            self._before = self.mechanism, self.user
        elif self.state not in (SaslState.INITIAL, SaslState.HANDSHAKE):
            self._fail("a handshake in the middle of an exchange")
            return Handshake(ErrorCode.ILLEGAL_SASL_STATE, [])
        make = self._listener.mechanisms.get(mechanism)
        if make is None:
            self._fail(f"mechanism {mechanism[:50]!r} is not enabled")
            return Handshake(ErrorCode.UNSUPPORTED_SASL_MECHANISM, offered)
        self.state = SaslState.AUTHENTICATE
        self.takes_bare_tokens = version == 0
        self.mechanism, self._exchange = mechanism, make()
        return Handshake(ErrorCode.NONE, offered)

    def _may_begin_again(self) -> bool:
        now = self._now()
        if self.session_ends is None or now - self._began_again < REAUTHENTICATION_S_MIN:
            return False
        self._began_again = now
        return True

    def authenticate(self, token: bytes) -> SaslAnswer | Computation:
        """A computation's `then` gives the token of the answer: hand it to `finish`."""
        if self.state is not SaslState.AUTHENTICATE:
            if self.is_complete:
                return SaslAnswer(
                    ErrorCode.ILLEGAL_SASL_STATE,
                    "SaslAuthenticate comes after SaslHandshake, before anything else.",
                )
            self._fail("a message of an exchange before the handshake")
            return SaslAnswer(ErrorCode.ILLEGAL_SASL_STATE, "SaslHandshake has to come first.")
        if self._before is not None and self._before[0] != self.mechanism:
            self._fail(f"mechanism {self.mechanism} in a session that {self._before[0]} began")
            return SaslAnswer(ErrorCode.SASL_AUTHENTICATION_FAILED, is_told=False)
        assert self._exchange is not None
        exchange = self._exchange
        try:
            answer = exchange.step(token)
        except AuthenticationFailed as error:
            return self._refuse(error)
        return answer if isinstance(answer, Computation) else self._answer(answer)

    def finish(self, computation: Computation, outcome: object) -> SaslAnswer:
        try:
            return self._answer(computation.then(outcome))
        except AuthenticationFailed as error:
            return self._refuse(error)

    def break_off(self, reason: str) -> SaslAnswer:
        """A computation failed: that is nobody's password."""
        return self._refuse(InvalidCredentials(reason))

    def _answer(self, token: bytes) -> SaslAnswer:
        assert self._exchange is not None
        if not self._exchange.is_complete:
            return SaslAnswer(ErrorCode.NONE, token=token)
        user = self._exchange.user
        if self._before is not None and self._before[1] != user:
            return self._refuse(AuthenticationFailed("A connection cannot become another user's."))
        self.user, self.is_by_token = user, self._exchange.is_by_token
        lifetime_ms = self._lifetime_ms(self._exchange.expires_ms)
        self.session_ends = None if lifetime_ms is None else self._now() + lifetime_ms / 1000
        self._proof, self._exchange = self._exchange, None
        self.state, self._before = SaslState.COMPLETE, None
        return SaslAnswer(ErrorCode.NONE, token=token, session_ms=lifetime_ms or 0)

    def _lifetime_ms(self, expires_ms: int | None) -> int | None:
        """Until the listener's limit or the end of what was shown, whichever comes first."""
        limits = [expires_ms - self._now_ms()] if expires_ms is not None else []
        most = self._listener.session_ms_max.get(self.mechanism, 0)
        if most > 0:
            limits.append(most)
        return max(0, min(limits)) if limits else None

    def _refuse(self, error: AuthenticationFailed) -> SaslAnswer:
        self._fail(str(error))
        if isinstance(error, InvalidCredentials):
            told = f"Authentication failed: invalid credentials for {self.mechanism}."
        else:
            told = str(error)
        return SaslAnswer(ErrorCode.SASL_AUTHENTICATION_FAILED, told)

    def _fail(self, fault: str) -> None:
        if self._exchange is not None:
            self.claimed = self._exchange.claimed
        self.state, self.fault, self._exchange = SaslState.FAILED, fault, None
