"""FetchSnapshot: a node that is too far behind for the metadata log takes a snapshot of it."""

from ottla.broker.broker import Broker
from ottla.broker.context import RequestContext
from ottla.wire.messages.fetch_snapshot import FetchSnapshotRequest, FetchSnapshotResponse


async def handle(
    request: FetchSnapshotRequest, context: RequestContext, broker: Broker
) -> FetchSnapshotResponse:
    return await broker.ask_quorum(request, FetchSnapshotResponse, context)
