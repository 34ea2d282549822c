"""Produce: append batches to the partitions led here, and answer when they are safe enough.

acks 0: no reply at all, but a closed connection when something went wrong; 1: when written here;
all (-1): when every replica in sync has them. v5 adds the log's start; v7 (KIP-110) allows zstd;
v8 (KIP-467) errors with a message; v9 is flexible; v10 (KIP-951) names the leader in a refusal;
v11 (KIP-890) knows TRANSACTION_ABORTABLE; v12 adds partitions to transactions; v13 (KIP-516) has
topic ids instead of names.
"""

from typing import TYPE_CHECKING

from ottla.broker.producing.operation import ProduceOperation, Reply
from ottla.wire.codec import decode, encode
from ottla.wire.messages.produce import ProduceRequest

if TYPE_CHECKING:
    from ottla.broker.rights.hot import Refused
    from ottla.broker.services import RecordServices
    from ottla.broker.transport.context import RequestContext


def serve(
    frame: memoryview, position: int, context: "RequestContext", services: "RecordServices"
) -> Reply:
    request, _ = decode(ProduceRequest, context.api_version, frame, position)
    if services.cluster.access.restricts:
        from ottla.broker.rights.hot import take_out_refused

        refused = take_out_refused(request, context, services.cluster)
        if refused:
            return serve_rest(request, refused, context, services)
    return serve_allowed(request, frame, position, context, services)


def serve_allowed(
    request: ProduceRequest,
    frame: memoryview,
    position: int,
    context: "RequestContext",
    services: "RecordServices",
) -> Reply:
    operation = ProduceOperation(request, context, services)
    is_ready = operation.is_ready
    if not is_ready:  # what waits outlives the frame it came in
        kept = memoryview(bytes(frame))
        request, _ = decode(ProduceRequest, context.api_version, kept, position)
        operation = ProduceOperation(request, context, services)
    if context.cost is not None:
        context.cost.throttled = operation.reply
    return operation.append() if is_ready else operation.begin()


def serve_rest(
    request: ProduceRequest,
    refused: "Refused",
    context: "RequestContext",
    services: "RecordServices",
) -> Reply:
    """Seldom: what is left goes its own way, and its answer is completed."""
    from ottla.broker.rights.hot import completed, with_refused

    version, cost = context.api_version, context.cost
    left = memoryview(encode(request, version))
    request, _ = decode(ProduceRequest, version, left, 0)
    reply = serve_allowed(request, left, 0, context, services)
    if cost is not None and (throttled := cost.throttled) is not None:
        cost.throttled = lambda throttle_ms: completed(throttled(throttle_ms), refused, version)
    return with_refused(reply, refused, version)
