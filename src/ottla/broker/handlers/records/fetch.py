"""Fetch: record bytes from the partitions led here, at once or when enough of them are there.

Consumers read what is committed, replicas to the log's end: `broker.fetching` has an operation for
each. v5 log start; v7 (KIP-227) sessions; v9 leader epochs; v11 (KIP-392) racks; v12 (KIP-595)
diverging epochs; v13 (KIP-516) topic ids; v15 (KIP-903) the replica's epoch; v16 (KIP-951) the
leaders' addresses. v17 and v18 (KIP-853, KIP-1166) change the metadata log's Fetch alone.
"""

from typing import TYPE_CHECKING

from ottla.broker.fetching.consumer import ConsumerFetch
from ottla.broker.fetching.operation import FetchOperation
from ottla.broker.fetching.replica import ReplicaFetch
from ottla.broker.fetching.response import write_fetch_response
from ottla.broker.transport.pending_reply import Body, PendingReply
from ottla.errors import KafkaError
from ottla.wire.codec import decode
from ottla.wire.messages.fetch import FetchRequest

if TYPE_CHECKING:
    from ottla.broker.services import RecordServices
    from ottla.broker.transport.context import RequestContext

FIRST_WITH_IDS = 13
FIRST_WITH_REPLICA_STATE = 15


def serve(
    frame: memoryview, position: int, context: "RequestContext", services: "RecordServices"
) -> Body | PendingReply:
    version = context.api_version
    request, _ = decode(FetchRequest, version, frame, position)
    now = services.cluster.clock.monotonic()
    try:
        fetching = services.fetch_sessions.begin(request, now, by_id=version >= FIRST_WITH_IDS)
    except KafkaError as error:
        return write_fetch_response(version, [], error=error.code)
    replica_id = (
        request.replica_state.replica_id
        if version >= FIRST_WITH_REPLICA_STATE
        else request.replica_id
    )
    operation: FetchOperation
    if replica_id >= 0:
        operation = ReplicaFetch(request, fetching, context, services, replica_id)
    else:
        operation = ConsumerFetch(request, fetching, context, services)
    if context.cost is not None:
        context.cost.is_exempt = replica_id >= 0
        context.cost.throttled = operation.throttled
    return operation.begin()
