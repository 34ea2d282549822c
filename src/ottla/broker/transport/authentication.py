"""Before a connection of a SASL listener is served: who is it? (Kafka: SaslServerAuthenticator.)

The driver around `security.sasl`: frames in, replies out. Until it is over nothing is looked at but
ApiVersions, SaslHandshake and SaslAuthenticate, or bare tokens after an old handshake. What takes
time (stretching a password) a thread does. A refusal comes late (`connection.failed.
authentication.delay.ms`), and the connection is closed behind it.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from ottla.broker.transport.pending_reply import Body, PendingReply
from ottla.security.exchange import Computation
from ottla.security.principals import user
from ottla.security.sasl import Handshake, SaslAnswer, SaslListener, SaslServer, SaslState
from ottla.wire.codec import decode, encode
from ottla.wire.framing import (
    SIZE,
    RequestHeader,
    read_request_header,
    reply_header,
    skip_header_tags,
)
from ottla.wire.message import Message
from ottla.wire.messages.api_versions import ApiVersionsRequest
from ottla.wire.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from ottla.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

if TYPE_CHECKING:
    from ottla.broker.audit import Audit
    from ottla.broker.transport.context import Peer

log = logging.getLogger(__name__)

HANDSHAKE, API_VERSIONS, AUTHENTICATE = 17, 18, 36
Reply = Body | PendingReply | None
M = TypeVar("M", bound=Message)
InThread = Callable[[Callable[[], object], Callable[[object], None]], None]


class Refused(Exception):
    """What came may not come now: the connection is closed without a word."""


class Authentication:
    """One connection's."""

    def __init__(
        self,
        listener: SaslListener,
        now: Callable[[], float],
        now_ms: Callable[[], int],
        in_thread: InThread,
        *,
        refusal_delay_s: float,
        frame_bytes_max: int,
        audit: "Audit | None" = None,
    ) -> None:
        self._audit = audit
        self.sasl = SaslServer(listener, now, now_ms)
        self.frame_bytes_max = frame_bytes_max
        self._in_thread = in_thread
        self._refusal_delay_s = refusal_delay_s
        self.completed: Callable[[], None] = lambda: None

    @property
    def is_expired(self) -> bool:
        return self.sasl.is_expired

    @property
    def is_revoked(self) -> bool:
        """What it proved itself with is no longer what it was."""
        return self.sasl.is_complete and not self.sasl.is_good()

    def take(self, frame: memoryview, peer: "Peer", ask_versions: Callable[[], Reply]) -> Reply:
        """The reply to a frame of one who has not said yet who it is."""
        if self.sasl.state is SaslState.AUTHENTICATE and self.sasl.takes_bare_tokens:
            return self._exchange(bytes(frame), peer, _bare)
        header = read_request_header(frame)
        if header.api_key == API_VERSIONS:
            is_understood = header.api_version in ApiVersionsRequest.VERSIONS
            if not self.sasl.ask_versions(is_understood=is_understood):
                raise Refused("ApiVersions in the middle of an authentication")
            return ask_versions()
        if header.api_key == HANDSHAKE:
            return self._handshake(frame, header, peer)
        if header.api_key == AUTHENTICATE:
            return self._authenticate(frame, header, peer)
        raise Refused(f"API {header.api_key} before the client said who it is")

    def begin_again(self, request: SaslHandshakeRequest, version: int, peer: "Peer") -> Handshake:
        """A client whose session ends authenticates anew; meanwhile nothing else is served."""
        answer = self.sasl.handshake(request.mechanism, version)
        if self.sasl.state is SaslState.AUTHENTICATE:
            peer.awaits_authentication = True
        elif self.sasl.state is SaslState.FAILED:
            peer.is_refused = True
        return answer

    def _handshake(self, frame: memoryview, header: RequestHeader, peer: "Peer") -> Reply:
        request = _read(frame, header, SaslHandshakeRequest)
        answer = self.sasl.handshake(request.mechanism, header.api_version)
        response = SaslHandshakeResponse(error_code=answer.error, mechanisms=answer.mechanisms)
        return self._reply(_written(response, header), peer)

    def _authenticate(self, frame: memoryview, header: RequestHeader, peer: "Peer") -> Reply:
        request = _read(frame, header, SaslAuthenticateRequest)

        def write(answer: SaslAnswer) -> Body:
            response = SaslAuthenticateResponse(
                error_code=answer.error,
                error_message=answer.message,
                auth_bytes=answer.token,
                session_lifetime_ms=answer.session_ms,
            )
            return _written(response, header)

        return self._exchange(request.auth_bytes, peer, write)

    def _exchange(
        self, token: bytes, peer: "Peer", write: "Callable[[SaslAnswer], Body | None]"
    ) -> Reply:
        step = self.sasl.authenticate(token)
        if not isinstance(step, Computation):
            return self._answered(step, peer, write)
        computation, later = step, PendingReply()

        def finished(outcome: object) -> None:
            if isinstance(outcome, Exception):
                log.error("an authentication failed here", exc_info=outcome)
                answer = self.sasl.break_off("a fault of the broker")
            else:
                answer = self.sasl.finish(computation, outcome)
            try:
                reply = self._answered(answer, peer, write)
            except Refused:
                later.break_off()
                return
            if isinstance(reply, PendingReply):
                reply.pass_on_to(later)
            else:
                later.deliver(reply)

        self._in_thread(computation.run, finished)
        return later

    def _answered(
        self, answer: SaslAnswer, peer: "Peer", write: "Callable[[SaslAnswer], Body | None]"
    ) -> Reply:
        if self.sasl.is_complete:
            peer.principal, peer.is_by_token = user(self.sasl.user), self.sasl.is_by_token
            peer.awaits_authentication = False
            self.completed()
            if self._audit is not None:
                self._audit.signed_in(peer, peer.principal, self.sasl.mechanism)
            log.debug("%s is %s", peer.client_host, peer.principal)
        body = write(answer)
        if answer.error and (body is None or not answer.is_told):
            raise Refused(self.sasl.fault)  # an old client has no place for an error
        return self._reply(body or [], peer)

    def _reply(self, body: Body, peer: "Peer") -> Reply:
        if self.sasl.state is not SaslState.FAILED:
            return body
        log.warning(
            "refused %s on %s: authentication failed (%s)",
            peer.client_host,
            peer.listener_name,
            self.sasl.fault,
        )
        if self._audit is not None:
            self._audit.signed_in(peer, self.sasl.claimed, self.sasl.mechanism, self.sasl.fault)
        later = PendingReply()

        def refuse() -> None:
            peer.is_refused = True
            later.deliver(body)

        asyncio.get_running_loop().call_later(self._refusal_delay_s, refuse)
        return later


def _bare(answer: SaslAnswer) -> Body | None:
    return None if answer.error else [SIZE.pack(len(answer.token)), answer.token]


def _read(frame: memoryview, header: RequestHeader, request: type[M]) -> M:
    if header.api_version not in request.VERSIONS:
        raise Refused(f"API {header.api_key} of version {header.api_version}")
    position = header.end
    if header.api_version >= request.FLEXIBLE_SINCE:
        position = skip_header_tags(frame, position)
    message, _ = decode(request, header.api_version, frame, position)
    return message


def _written(response: Message, header: RequestHeader) -> Body:
    body = encode(response, header.api_version)
    tagged = header.api_version >= response.FLEXIBLE_SINCE
    return [reply_header(header.correlation_id, len(body), tagged=tagged), body]
