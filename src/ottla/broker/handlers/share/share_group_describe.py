"""ShareGroupDescribe: epochs, members, and which partitions each takes from."""

from ottla.broker.described_groups import tell_operations
from ottla.broker.features import SHARE_GROUPS, require
from ottla.broker.services import ShareServices
from ottla.broker.transport.context import RequestContext
from ottla.errors import ErrorCode, KafkaError
from ottla.groups.coordinator import GroupCoordinator
from ottla.wire.messages.share_group_describe import (
    DescribedGroup,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
)


def handle(
    request: ShareGroupDescribeRequest, context: RequestContext, services: ShareServices
) -> ShareGroupDescribeResponse:
    require(services.cluster, SHARE_GROUPS)
    groups = [_describe(group_id, services.groups) for group_id in request.group_ids]
    if request.include_authorized_operations:
        tell_operations(groups, context, services.cluster.access)
    return ShareGroupDescribeResponse(groups=groups)


def refuse(request: ShareGroupDescribeRequest, error: KafkaError) -> ShareGroupDescribeResponse:
    return ShareGroupDescribeResponse(
        groups=[
            DescribedGroup(group_id=name, error_code=error.code, error_message=error.message)
            for name in request.group_ids
        ]
    )


def _describe(group_id: str, groups: GroupCoordinator) -> DescribedGroup:
    try:
        if not group_id:
            raise KafkaError(ErrorCode.INVALID_GROUP_ID)
        return groups.describe_share(group_id)
    except KafkaError as refusal:
        return DescribedGroup(
            group_id=group_id, error_code=refusal.code, error_message=refusal.message
        )
