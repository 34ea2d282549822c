"""SaslAuthenticate without a handshake before it: out of place."""

from ottla.broker.services import ClusterServices
from ottla.broker.transport.context import RequestContext
from ottla.errors import ErrorCode
from ottla.wire.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse


def handle(
    request: SaslAuthenticateRequest, context: RequestContext, services: ClusterServices
) -> SaslAuthenticateResponse:
    return SaslAuthenticateResponse(
        error_code=ErrorCode.ILLEGAL_SASL_STATE,
        error_message="SaslAuthenticate comes after SaslHandshake, before anything else.",
    )
