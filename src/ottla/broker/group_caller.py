"""Who asks, as the group coordinator writes it down.."""

from ottla.broker.transport.context import RequestContext
from ottla.groups.outcome import Caller


def caller_of(context: RequestContext) -> Caller:
    return Caller(context.client_id or "", f"/{context.client_host}", context.api_version)
