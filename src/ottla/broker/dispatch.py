"""From a frame to a reply, in one line: authenticated? → the right to ask at all → handle → map
errors → account → send, and mute who is throttled.

The handler asks for the rights to each resource itself. What cannot be answered (garbage, an API or
a version nobody serves, anything of one who did not say who it is) raises `BadRequest`, and the
connection is closed, as Apache Kafka does. ApiVersions alone is always answered.
"""

import asyncio
import logging
from collections.abc import Awaitable
from functools import partial
from typing import TYPE_CHECKING, Any

from ottla.broker.access import CLUSTER, Access, Operation, Resource
from ottla.broker.accounting import Accountant, Cost, Usage
from ottla.broker.api import Api, Handler, Listeners, Quota, apis, load
from ottla.broker.transport.context import Peer, RequestContext
from ottla.broker.transport.pending_reply import Body, ConnectionLost, PendingReply
from ottla.errors import ErrorCode, KafkaError
from ottla.wire.codec import MalformedMessage, decode, encode
from ottla.wire.framing import read_request_header, reply_header, skip_header_tags
from ottla.wire.message import Message

if TYPE_CHECKING:
    from ottla.broker.cluster_view import ClusterView
    from ottla.broker.services import Areas

log = logging.getLogger(__name__)

SASL_HANDSHAKE, API_VERSIONS = 17, 18
PRODUCE = 0
THROTTLE_TIME = "throttle_time_ms"
Reply = Body | PendingReply | None
"""A whole frame in pieces, a promise of one, or None where the client wants no reply."""


class BadRequest(Exception):
    """Nothing that could be answered: the connection has to go."""


def api_of(frame: memoryview) -> int:
    """The API key of a frame, before anything else is known of it; -1 where it has none."""
    return frame[0] << 8 | frame[1] if len(frame) > 1 else -1


class Dispatcher:
    """Takes the requests of all connections of one listener."""

    def __init__(
        self,
        listener_kind: Listeners,
        areas: "Areas",
        cluster: "ClusterView",
        accountant: Accountant,
    ) -> None:
        self._apis = apis(listener_kind)
        self._areas = areas
        self._access = cluster.access
        self._now = cluster.clock.monotonic
        self._accountant = accountant
        self._handlers: dict[int, tuple[Handler, Any]] = {}
        """Those that were asked for, by API key, each with the services of its area."""
        self._tasks: set[asyncio.Future[Message]] = set()

    def take(self, frame: memoryview, peer: Peer) -> Reply:
        if peer.authentication is not None:
            if peer.awaits_authentication:
                return self._authenticate(frame, peer)
            if peer.authentication.is_expired and api_of(frame) != SASL_HANDSHAKE:
                raise BadRequest("its session has ended, and it did not authenticate again")
        return self._take(frame, peer)

    def _authenticate(self, frame: memoryview, peer: Peer) -> Reply:
        from ottla.broker.transport.authentication import Refused

        assert peer.authentication is not None
        try:
            return peer.authentication.take(frame, peer, lambda: self._take(frame, peer))
        except (MalformedMessage, Refused) as error:
            raise BadRequest(str(error)) from None

    def _take(self, frame: memoryview, peer: Peer) -> Reply:
        try:
            key, version, correlation_id, client_id, position = read_request_header(frame)
            api = self._apis.get(key)
            if api is None:
                raise BadRequest(f"API {key} is not served here")
            if version not in api.versions:
                if key == API_VERSIONS:
                    return self._too_new(api, correlation_id)
                raise BadRequest(f"{api.name} is not served at version {version}")
            known = self._handlers.get(key)
            if known is None:
                known = self._handlers[key] = load(api), self._areas[api.area]()
            handler, services = known
            if version >= handler.request.FLEXIBLE_SINCE:
                position = skip_header_tags(frame, position)
            context = RequestContext(api, version, correlation_id, client_id, peer)
            if self._accountant.is_counting:
                context.cost = self._cost(context, len(frame) - position)
            if handler.serve is not None:
                return self._serve(handler, services, frame, position, context)
            if handler.shortcut is not None and self._is_free(context):
                reply = handler.shortcut(frame, position, context, services)
                if reply is not None:
                    return reply
            request, _ = decode(handler.request, version, frame, position)
        except MalformedMessage as error:
            raise BadRequest(str(error)) from None
        return self._handle(handler, services, request, context)

    def _is_free(self, context: RequestContext) -> bool:
        """Nobody has to be asked for a right, and nothing is counted."""
        return context.cost is None and not self._access.restricts

    def _cost(self, context: RequestContext, bytes_in: int) -> Cost:
        cost = Cost(bytes_in, self._now)
        if context.api.quota is Quota.FETCH:
            cost.fetch_bytes_max = self._accountant.fetch_bytes_max(
                context.principal, context.client_id
            )
        return cost

    def _serve(
        self,
        handler: Handler,
        services: Any,
        frame: memoryview,
        position: int,
        context: RequestContext,
    ) -> Reply:
        assert handler.serve is not None
        began = self._now() if context.cost is not None else 0.0
        try:
            body = handler.serve(frame, position, context, services)
        except (BadRequest, ConnectionLost, MalformedMessage):
            raise
        except Exception as error:
            raise broken(handler, error) from error
        if context.cost is not None:
            context.cost.seconds = self._now() - began
        if isinstance(body, PendingReply):
            body.wrap = partial(self._sent, handler, context)
            return body
        return self._sent(handler, context, body)

    def _sent(self, handler: Handler, context: RequestContext, body: Body | None) -> Body | None:
        """The answer of a hot API, which is bytes; None where the client wants none."""
        cost = context.cost
        if cost is not None:
            throttle_ms = self._account(
                context, cost, None if body is None else sum(map(len, body))
            )
            if throttle_ms and body is not None and cost.throttled is not None:
                body = cost.throttled(throttle_ms)
        return None if body is None else framed(handler, context, body)

    def _handle(
        self, handler: Handler, services: Any, request: Message, context: RequestContext
    ) -> Reply:
        assert handler.handle is not None
        cost = context.cost
        began = self._now() if cost is not None else 0.0
        try:
            response = asked(handler, request, context, services, self._access)
        except BadRequest:
            raise
        except Exception as error:
            response = refusal(handler, request, error)
        if cost is not None:
            cost.seconds = self._now() - began
        if isinstance(response, Message):
            return self._written(handler, context, response)
        if isinstance(response, asyncio.Future):  # coordinators answer with futures: no task
            answering = response
        else:
            answering = asyncio.ensure_future(response if cost is None else cost.timed(response))
            self._tasks.add(answering)
        reply = PendingReply()

        def answer(done: "asyncio.Future[Message]") -> None:
            self._tasks.discard(done)
            try:
                try:
                    message = done.result()
                except Exception as error:
                    message = refusal(handler, request, error)
                reply.deliver(self._written(handler, context, message))
            except (ConnectionLost, asyncio.CancelledError):
                reply.break_off()

        answering.add_done_callback(answer)
        return reply

    def _written(self, handler: Handler, context: RequestContext, response: Message) -> Body:
        frame = written(handler, context, response)
        if context.cost is None:
            return frame
        told_ms = getattr(response, THROTTLE_TIME, None)  # by the controller, perhaps
        throttle_ms = self._account(context, context.cost, sum(map(len, frame)), told_ms or 0)
        if told_ms is not None and throttle_ms != told_ms:
            setattr(response, THROTTLE_TIME, throttle_ms)
            frame = written(handler, context, response)
        return frame

    def _account(
        self, context: RequestContext, cost: Cost, bytes_out: int | None, told_ms: int = 0
    ) -> int:
        """For how many milliseconds the client is throttled from now on. Without bytes there is
        no answer."""
        if cost.is_exempt or context.api.quota is Quota.EXEMPT:
            return 0
        throttle_ms = self._accountant.account(
            Usage(
                context.api,
                context.principal,
                context.client_id,
                cost.bytes_in,
                bytes_out or 0,
                cost.seconds,
                is_answered=bytes_out is not None,
                is_withheld=cost.throttled is not None,
            )
        )
        throttle_ms = max(throttle_ms, told_ms)
        if throttle_ms > 0:
            context.peer.mute(throttle_ms / 1000)
        return throttle_ms

    def _too_new(self, api: Api, correlation_id: int) -> Body:
        """Every client understands version 0: it says what it may ask for instead."""
        from ottla.broker.handlers.cluster.api_versions import unsupported

        body = encode(unsupported(api), 0)
        return [reply_header(correlation_id, len(body), tagged=False), body]


def asked(
    handler: Handler, request: Message, context: RequestContext, services: Any, access: Access
) -> Message | Awaitable[Message]:
    """What the handler says, to one who may ask, about what that one may know of."""
    assert handler.handle is not None
    if not access.restricts:
        return handler.handle(request, context, services)
    from ottla.broker.rights.guard import guarded

    if handler.operation is not None:
        check_cluster(access, context, handler.operation)
    if handler.operation is Operation.CLUSTER_ACTION and context.peer.certificate is not None:
        from ottla.broker.rights.nodes import check_claims

        check_claims(context, request)
    return guarded(handler, request, context, services, access)


def check_cluster(access: Access, context: RequestContext, operation: Operation) -> None:
    if not access.allows(context, operation, Resource.CLUSTER, CLUSTER):
        raise KafkaError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)


def framed(handler: Handler, context: RequestContext, body: Body) -> Body:
    tagged = (
        context.api_version >= handler.response.FLEXIBLE_SINCE and handler.api.key != API_VERSIONS
    )
    size = sum(map(len, body))
    return [reply_header(context.correlation_id, size, tagged=tagged), *body]


def written(handler: Handler, context: RequestContext, response: Message) -> Body:
    try:
        body = encode(response, context.api_version)
    except Exception as error:
        raise broken(handler, error) from error
    return framed(handler, context, [body])


def refusal(handler: Handler, request: Message, error: Exception) -> Message:
    """The response that carries an error where its API has the place for it."""
    if not isinstance(error, KafkaError):
        log.error("%s failed", handler.api.name, exc_info=error)
        error = KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "The broker failed; its log says how.")
    if handler.refuse is not None:
        return handler.refuse(request, error)
    if "error_code" not in handler.response.__struct_fields__:
        raise broken(handler, error)
    fields = {"error_code": int(error.code)}
    if "error_message" in handler.response.__struct_fields__:
        fields["error_message"] = error.message  # type: ignore[assignment]
    return handler.response(**fields)


def broken(handler: Handler, error: Exception) -> ConnectionLost:
    """For a fault of ours that the response has no place for."""
    log.error("%s cannot be answered", handler.api.name, exc_info=error)
    return ConnectionLost()
