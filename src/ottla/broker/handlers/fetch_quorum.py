"""Fetch on the controllers' listener: the metadata log, for other nodes of the cluster."""

from ottla.broker.broker import Broker
from ottla.broker.context import RequestContext
from ottla.wire.messages.fetch import FetchRequest, FetchResponse


async def handle(request: FetchRequest, context: RequestContext, broker: Broker) -> FetchResponse:
    return await broker.ask_quorum(request, FetchResponse, context)
