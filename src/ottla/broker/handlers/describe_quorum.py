"""DescribeQuorum: who leads the metadata log, and how far the others are behind."""

from ottla.broker.broker import Broker
from ottla.broker.context import RequestContext
from ottla.wire.messages.describe_quorum import DescribeQuorumRequest, DescribeQuorumResponse


async def handle(
    request: DescribeQuorumRequest, context: RequestContext, broker: Broker
) -> DescribeQuorumResponse:
    return await broker.ask_quorum(request, DescribeQuorumResponse, context)
