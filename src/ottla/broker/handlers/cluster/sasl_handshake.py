"""SaslHandshake of one who is known already: on a SASL listener with sessions that end, the client
authenticates anew; anywhere else it is out of place. (What comes before that is
`broker.transport.authentication`'s.)"""

from ottla.broker.services import ClusterServices
from ottla.broker.transport.context import RequestContext
from ottla.errors import ErrorCode
from ottla.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse


def handle(
    request: SaslHandshakeRequest, context: RequestContext, services: ClusterServices
) -> SaslHandshakeResponse:
    authentication = context.peer.authentication
    if authentication is None:
        return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)
    answer = authentication.begin_again(request, context.api_version, context.peer)
    return SaslHandshakeResponse(error_code=answer.error, mechanisms=answer.mechanisms)
