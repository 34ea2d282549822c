"""DescribeClientQuotas: the quotas that are kept for users, client ids and addresses."""

from ottla.broker.services import ClusterServices
from ottla.broker.transport.context import RequestContext
from ottla.errors import ErrorCode, KafkaError
from ottla.security.quotas import EntityType
from ottla.wire.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)

EXACT, DEFAULT, ANY = 0, 1, 2
Wanted = dict[str, tuple[bool, str | None]]
"""By type of entity: whether its name counts, and the name (None: the default)."""


def handle(
    request: DescribeClientQuotasRequest, context: RequestContext, services: ClusterServices
) -> DescribeClientQuotasResponse:
    wanted = _wanted(request.components)
    found = [
        EntryData(
            entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
            values=[ValueData(key=key, value=value) for key, value in quotas.items()],
        )
        for entity, quotas in services.cluster.image.client_quotas.items()
        if _matches(dict(entity), wanted, is_strict=request.strict)
    ]
    return DescribeClientQuotasResponse(entries=found)


def _wanted(components: list[ComponentData]) -> Wanted:
    wanted: Wanted = {}
    for component in components:
        kind, name = component.entity_type, component.match
        if kind and kind not in tuple(EntityType):
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"There are no quotas for a {kind!r}.")
        if not kind or kind in wanted:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Each type of entity is named once.")
        if component.match_type not in (EXACT, DEFAULT, ANY):
            raise KafkaError(
                ErrorCode.INVALID_REQUEST, f"There is no match type {component.match_type}."
            )
        if (name is None) is (component.match_type == EXACT):
            raise KafkaError(
                ErrorCode.INVALID_REQUEST, "A name is given for an exact match, and for no other."
            )
        wanted[kind] = component.match_type != ANY, name
    if EntityType.IP in wanted and len(wanted) > 1:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, "An address is not asked for together with others."
        )
    return wanted


def _matches(entity: dict[str, str | None], wanted: Wanted, *, is_strict: bool) -> bool:
    if is_strict and len(entity) != len(wanted):
        return False
    return all(
        kind in entity and (not by_name or entity[kind] == name)
        for kind, (by_name, name) in wanted.items()
    )


def refuse(request: DescribeClientQuotasRequest, error: KafkaError) -> DescribeClientQuotasResponse:
    return DescribeClientQuotasResponse(
        error_code=error.code, error_message=error.message, entries=None
    )
