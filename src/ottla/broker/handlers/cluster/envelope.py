"""Envelope: what a client asked of a broker, passed on by it to the active controller.

The request comes as bytes with the client's own header, and counts as the client's, not the
broker's; the answer goes back as bytes too. Only what a broker may pass on is opened.
"""

from inspect import isawaitable

from ottla.broker.api import Api, Listeners, apis, load
from ottla.broker.dispatch import asked as ask
from ottla.broker.dispatch import refusal, written
from ottla.broker.services import ControllerServices
from ottla.broker.transport.context import Peer, RequestContext
from ottla.errors import ErrorCode, KafkaError
from ottla.wire.codec import MalformedMessage, decode
from ottla.wire.envelope import read_host, read_principal
from ottla.wire.framing import SIZE, read_request_header, skip_header_tags
from ottla.wire.message import Message
from ottla.wire.messages.envelope import EnvelopeRequest, EnvelopeResponse


async def handle(
    request: EnvelopeRequest, context: RequestContext, services: ControllerServices
) -> EnvelopeResponse:
    if not services.is_active():
        raise KafkaError(ErrorCode.NOT_CONTROLLER, "This node is not the active controller.")
    api, asked, inner = _open(request, context)
    handler = load(api)
    try:
        answer = ask(handler, asked, inner, services, services.cluster.access)
        response: Message = await answer if isawaitable(answer) else answer
    except Exception as error:
        if isinstance(error, KafkaError) and error.code == ErrorCode.NOT_CONTROLLER:
            raise
        response = refusal(handler, asked, error)
    frame = b"".join(written(handler, inner, response))
    return EnvelopeResponse(response_data=frame[SIZE.size :])


def _open(
    envelope: EnvelopeRequest, context: RequestContext
) -> tuple[Api, Message, RequestContext]:
    try:
        who = read_principal(envelope.request_principal)
    except MalformedMessage as error:
        raise KafkaError(ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE, str(error)) from None
    frame = memoryview(envelope.request_data)
    try:
        key, version, correlation_id, client_id, position = read_request_header(frame)
        api = apis(Listeners.CONTROLLER).get(key)
        if api is None or not api.is_passed_on:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"API {key} cannot be passed on.")
        if version not in api.versions:
            raise KafkaError(
                ErrorCode.UNSUPPORTED_VERSION, f"{api.name} is not served at version {version}."
            )
        message = load(api).request
        if version >= message.FLEXIBLE_SINCE:
            position = skip_header_tags(frame, position)
        asked, _ = decode(message, version, frame, position)
        client = Peer(
            context.listener_name,
            context.peer.listener_kind,
            read_host(envelope.client_host_address),
        )
    except MalformedMessage as error:
        raise KafkaError(ErrorCode.INVALID_REQUEST, str(error)) from None
    client.is_passed_on = True
    client.principal, client.is_by_token = who
    return api, asked, RequestContext(api, version, correlation_id, client_id, client)
