"""Who may ask about delegation tokens at all: one who proved its name, and not by a token."""

from ottla.broker.transport.context import RequestContext
from ottla.errors import ErrorCode, KafkaError
from ottla.security.principals import ANONYMOUS

NEVER_MS = -1


def are_allowed(context: RequestContext) -> bool:
    """What a broker passed on was asked of it on a listener that it looked at."""
    peer = context.peer
    if peer.is_by_token:
        return False
    if peer.is_passed_on:
        return True
    return peer.authentication is not None or peer.principal != ANONYMOUS


def check_allowed(context: RequestContext) -> None:
    if not are_allowed(context):
        raise KafkaError(
            ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED,
            "Tokens are for connections that proved who they are, and not by a token.",
        )
