"""Access rules of any Kafka cluster: looked at, added, removed. The numbers are the protocol's."""

from collections.abc import Sequence
from typing import NamedTuple

from ottla.client.refusals import refuse
from ottla.client.wire_client import WireClient
from ottla.wire.messages.create_acls import AclCreation, CreateAclsRequest, CreateAclsResponse
from ottla.wire.messages.delete_acls import (
    DeleteAclsFilter,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from ottla.wire.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse

ANY = 1


class AclRule(NamedTuple):
    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission: int


class RuleFilter(NamedTuple):
    """None and ANY leave a field open."""

    resource_type: int = ANY
    resource_name: str | None = None
    pattern_type: int = ANY
    principal: str | None = None
    host: str | None = None
    operation: int = ANY
    permission: int = ANY


EVERY_RULE = RuleFilter()


async def rules(wire: WireClient, wanted: RuleFilter = EVERY_RULE) -> list[AclRule]:
    asked = DescribeAclsRequest(
        resource_type_filter=wanted.resource_type,
        resource_name_filter=wanted.resource_name,
        pattern_type_filter=wanted.pattern_type,
        principal_filter=wanted.principal,
        host_filter=wanted.host,
        operation=wanted.operation,
        permission_type=wanted.permission,
    )
    answer = await wire.ask_any(asked, DescribeAclsResponse)
    refuse(answer.error_code, answer.error_message)
    return sorted(
        AclRule(
            place.resource_type,
            place.resource_name,
            place.pattern_type,
            acl.principal,
            acl.host,
            acl.operation,
            acl.permission_type,
        )
        for place in answer.resources
        for acl in place.acls
    )


async def add_rules(wire: WireClient, added: Sequence[AclRule]) -> None:
    """Those that are there already stay as they are."""
    asked = CreateAclsRequest(
        creations=[
            AclCreation(
                resource_type=rule.resource_type,
                resource_name=rule.resource_name,
                resource_pattern_type=rule.pattern_type,
                principal=rule.principal,
                host=rule.host,
                operation=rule.operation,
                permission_type=rule.permission,
            )
            for rule in added
        ]
    )
    answer = await wire.ask_any(asked, CreateAclsResponse)
    for one in answer.results:
        refuse(one.error_code, one.error_message)


async def remove_rules(wire: WireClient, removed: Sequence[AclRule]) -> None:
    asked = DeleteAclsRequest(
        filters=[
            DeleteAclsFilter(
                resource_type_filter=rule.resource_type,
                resource_name_filter=rule.resource_name,
                pattern_type_filter=rule.pattern_type,
                principal_filter=rule.principal,
                host_filter=rule.host,
                operation=rule.operation,
                permission_type=rule.permission,
            )
            for rule in removed
        ]
    )
    answer = await wire.ask_any(asked, DeleteAclsResponse)
    for one in answer.filter_results:
        refuse(one.error_code, one.error_message)
        for gone in one.matching_acls:
            refuse(gone.error_code, gone.error_message)
