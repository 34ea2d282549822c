"""DescribeAcls: the access rules that a filter names. Version 0 knows literal names only."""

from ottla.broker.dispatch import BadRequest
from ottla.broker.services import ClusterServices
from ottla.broker.transport.context import RequestContext
from ottla.controller.acls import filter_of
from ottla.errors import ErrorCode, KafkaError
from ottla.metadata.image import Acl
from ottla.wire.messages.describe_acls import (
    AclDescription,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)


def handle(
    request: DescribeAclsRequest, context: RequestContext, services: ClusterServices
) -> DescribeAclsResponse:
    found = filter_of(request)
    if found.has_empty_parts:
        raise BadRequest("a filter with parts left out")
    if not services.cluster.access.restricts:
        raise KafkaError(ErrorCode.SECURITY_DISABLED, "There is no authorizer.")
    resources: dict[tuple[int, str, int], list[Acl]] = {}
    for acl in found.select(services.cluster.image.acls.values()):
        key = acl.resource_type, acl.resource_name, acl.pattern_type
        resources.setdefault(key, []).append(acl)
    return DescribeAclsResponse(
        resources=[
            DescribeAclsResource(
                resource_type=kind,
                resource_name=name,
                pattern_type=pattern,
                acls=[
                    AclDescription(
                        principal=acl.principal,
                        host=acl.host,
                        operation=acl.operation,
                        permission_type=acl.permission,
                    )
                    for acl in acls
                ],
            )
            for (kind, name, pattern), acls in resources.items()
        ]
    )
