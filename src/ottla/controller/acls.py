"""Access rules as records: added and removed, as Apache Kafka's AclControlManager does."""

from collections.abc import Iterable
from typing import Protocol

from ottla.controller.decision import ControllerResult
from ottla.errors import ErrorCode, KafkaError
from ottla.ids import Uuid
from ottla.metadata.image import Acl, Image
from ottla.metadata.records import Record
from ottla.metadata.snapshot import acl_record
from ottla.ports.chance import Chance, new_uuid
from ottla.security.acls import (
    CLUSTER,
    AclFilter,
    Operation,
    PatternType,
    Permission,
    ResourceType,
)
from ottla.wire.messages.create_acls import (
    AclCreation,
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
)
from ottla.wire.messages.delete_acls import (
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from ottla.wire.records.metadata import RemoveAccessControlEntryRecord

RECORDS_MAX = 10_000
"""Of one request: what has to be written at once must not be endless."""


class Filter(Protocol):
    """As requests have it."""

    resource_type_filter: int
    resource_name_filter: str | None
    pattern_type_filter: int
    principal_filter: str | None
    host_filter: str | None
    operation: int
    permission_type: int


def filter_of(asked: Filter) -> AclFilter:
    return AclFilter(
        asked.resource_type_filter,
        asked.resource_name_filter,
        asked.pattern_type_filter,
        asked.principal_filter,
        asked.host_filter,
        asked.operation,
        asked.permission_type,
    )


def create_acls(
    image: Image, ask: CreateAclsRequest, chance: Chance
) -> ControllerResult[CreateAclsResponse]:
    """A rule that is there already is a success, and no second record."""
    known = set(image.acls.values())
    records: list[Record] = []
    results: list[AclCreationResult] = []
    acls = [acl_of(creation) for creation in ask.creations]
    if any(_is_a_filter(acl) for acl in acls):  # Kafka falls over it, and refuses the request
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "ANY and MATCH are for filters.")
    for acl in acls:
        try:
            _check(acl)
        except KafkaError as error:
            results.append(AclCreationResult(error_code=error.code, error_message=error.message))
            continue
        if acl not in known:
            known.add(acl)
            records.append(acl_record(new_uuid(chance), acl))
        results.append(AclCreationResult())
    if len(records) > RECORDS_MAX:
        raise KafkaError(ErrorCode.POLICY_VIOLATION, f"More than {RECORDS_MAX} rules at once.")
    return ControllerResult(records, CreateAclsResponse(results=results))


def acl_of(creation: AclCreation) -> Acl:
    return Acl(
        creation.resource_type,
        creation.resource_name,
        creation.resource_pattern_type,
        creation.principal,
        creation.host,
        creation.operation,
        creation.permission_type,
    )


def exactly(acl: Acl) -> AclFilter:
    """The filter that means this one rule."""
    return AclFilter(
        acl.resource_type,
        acl.resource_name,
        acl.pattern_type,
        acl.principal,
        acl.host,
        acl.operation,
        acl.permission,
    )


def _is_a_filter(acl: Acl) -> bool:
    return (
        acl.resource_type == ResourceType.ANY
        or acl.pattern_type in (PatternType.ANY, PatternType.MATCH)
        or acl.operation == Operation.ANY
        or acl.permission == Permission.ANY
    )


def _check(acl: Acl) -> None:
    problem = None
    if acl.resource_type == ResourceType.CLUSTER and acl.resource_name != CLUSTER:
        problem = f"The one resource of type CLUSTER is named {CLUSTER}."
    elif not acl.resource_name:
        problem = "A rule needs the name of a resource."
    elif exactly(acl).has_unknown_parts:
        problem = "The rule has parts that nobody knows here."
    elif ":" not in acl.principal:
        problem = f"{acl.principal!r} is no principal: its type and a colon come first."
    if problem is not None:
        raise KafkaError(ErrorCode.INVALID_REQUEST, problem)


def delete_acls(image: Image, ask: DeleteAclsRequest) -> ControllerResult[DeleteAclsResponse]:
    """A rule that several filters name is told to each, and removed once."""
    gone: dict[Uuid, None] = {}
    results: list[DeleteAclsFilterResult] = []
    for asked in ask.filters:
        found = filter_of(asked)
        if found.has_unknown_parts:
            results.append(
                DeleteAclsFilterResult(
                    error_code=ErrorCode.INVALID_REQUEST,
                    error_message="The filter has parts that nobody knows here.",
                )
            )
            continue
        matching = {uuid: acl for uuid, acl in image.acls.items() if found.matches(acl)}
        gone |= dict.fromkeys(matching)
        if len(gone) > RECORDS_MAX:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"More than {RECORDS_MAX} rules at once.")
        results.append(DeleteAclsFilterResult(matching_acls=_told(matching.values())))
    records: list[Record] = [RemoveAccessControlEntryRecord(id=uuid) for uuid in gone]
    return ControllerResult(records, DeleteAclsResponse(filter_results=results))


def _told(acls: Iterable[Acl]) -> list[DeleteAclsMatchingAcl]:
    return [
        DeleteAclsMatchingAcl(
            resource_type=acl.resource_type,
            resource_name=acl.resource_name,
            pattern_type=acl.pattern_type,
            principal=acl.principal,
            host=acl.host,
            operation=acl.operation,
            permission_type=acl.permission,
        )
        for acl in acls
    ]
