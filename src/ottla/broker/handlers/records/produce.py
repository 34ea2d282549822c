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
    if operation.is_ready:
        return operation.append()
    kept = memoryview(bytes(frame))  # what waits outlives the frame it came in
    request, _ = decode(ProduceRequest, context.api_version, kept, position)
    return ProduceOperation(request, context, services).begin()


def serve_rest(
    request: ProduceRequest,
    refused: "Refused",
    context: "RequestContext",
    services: "RecordServices",
) -> Reply:
    """Seldom: what is left goes its own way, and its answer is completed."""
    from ottla.broker.rights.hot import with_refused

    version = context.api_version
    left = memoryview(encode(request, version))
    request, _ = decode(ProduceRequest, version, left, 0)
    return with_refused(serve_allowed(request, left, 0, context, services), refused, version)
