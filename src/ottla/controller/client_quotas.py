"""Client quotas as records, as Apache Kafka's ClientQuotaControlManager does."""

from collections.abc import Collection, Sequence

from ottla.controller.decision import ControllerResult, refuse_excess
from ottla.errors import ErrorCode, KafkaError
from ottla.metadata.image import Image, QuotaEntity
from ottla.metadata.records import Record
from ottla.security.quotas import (
    CONNECTION_CREATION_RATE,
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    EntityType,
)
from ottla.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    OpData,
    RequestEntityData,
    ResponseEntityData,
    ResponseEntryData,
)
from ottla.wire.records.metadata import ClientQuotaRecord
from ottla.wire.records.metadata import EntityData as RecordEntity

INT_MAX, LONG_MAX = 2**31 - 1, 2**63 - 1
WHOLE_UP_TO = {
    PRODUCER_BYTE_RATE: LONG_MAX,
    CONSUMER_BYTE_RATE: LONG_MAX,
    CONNECTION_CREATION_RATE: INT_MAX,
}
"""Whole numbers, which all others need not be."""
OF_CLIENTS = {
    PRODUCER_BYTE_RATE,
    CONSUMER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    CONTROLLER_MUTATION_RATE,
}
FRACTION_MIN = 1e-6


def named_hosts(ask: AlterClientQuotasRequest) -> set[str]:
    """Addresses and hosts that quotas are for: whether they are any is found out before."""
    return {
        one.entity_name
        for entry in ask.entries
        for one in entry.entity
        if one.entity_type == EntityType.IP and one.entity_name
    }


def alter_client_quotas(
    image: Image, ask: AlterClientQuotasRequest, known_hosts: Collection[str]
) -> ControllerResult[AlterClientQuotasResponse]:
    """Entity by entity: all of its changes are made, or none."""
    records: list[Record] = []
    outcomes: dict[QuotaEntity, KafkaError | None] = {}
    for entry in ask.entries:
        entity = _entity(entry.entity)
        changes = {op.key: op for op in entry.ops}
        if len(changes) < len(entry.ops):
            outcomes[entity] = _bad("A quota is named twice for one entity.")
        elif entity in outcomes:
            outcomes[entity] = _bad("The entity is named twice.")
        else:
            try:
                records += _changes(image, entity, list(changes.values()), known_hosts)
                outcomes[entity] = None
            except KafkaError as error:
                outcomes[entity] = error
    refuse_excess(records)
    response = AlterClientQuotasResponse(
        entries=[_outcome(entity, error) for entity, error in outcomes.items()]
    )
    return ControllerResult([] if ask.validate_only else records, response)


def _entity(named: Sequence[RequestEntityData]) -> QuotaEntity:
    """Of a type that is named twice the last one counts, as in Kafka."""
    return tuple(sorted({one.entity_type: one.entity_name for one in named}.items()))


def _changes(
    image: Image, entity: QuotaEntity, ops: Sequence[OpData], known_hosts: Collection[str]
) -> list[Record]:
    _check_names(entity)
    known = _keys_for(dict(entity), known_hosts)
    before = image.client_quotas.get(entity, {})
    records: list[Record] = []
    for op in ops:
        if op.remove:
            if op.key in before:
                records.append(_record(entity, op))
        else:
            _check_value(op.key, op.value, known)
            if before.get(op.key) != op.value:
                records.append(_record(entity, op))
    return records


def _check_names(entity: QuotaEntity) -> None:
    if not entity:
        raise _bad("A quota is for a user, a client id or an address: none is named.")
    for kind, name in entity:
        if kind not in tuple(EntityType):
            raise _bad(f"There are no quotas for a {kind!r}.")
        if name == "":
            raise _bad(f"The name of a {kind} is empty.")


def _keys_for(entity: dict[str, str | None], known_hosts: Collection[str]) -> set[str]:
    if EntityType.IP not in entity:
        return OF_CLIENTS
    if len(entity) > 1:
        raise _bad("A quota of an address is not for a user or a client id as well.")
    address = entity[EntityType.IP]
    if address is not None and address not in known_hosts:
        raise _bad(f"{address} is no address, and no host that is known here.")
    return {CONNECTION_CREATION_RATE}


def _check_value(key: str, value: float, known: set[str]) -> None:
    if key not in known:
        raise _bad(f"There is no quota {key!r} for this kind of entity.")
    if value <= 0.0:
        raise _bad(f"{key} must be more than 0.")
    most = WHOLE_UP_TO.get(key)
    if most is not None:
        if value > most:
            raise _bad(f"{key} is at most {most}.")
        if abs(value % 1.0) > FRACTION_MIN:
            raise _bad(f"{key} is a whole number.")


def _record(entity: QuotaEntity, op: OpData) -> ClientQuotaRecord:
    return ClientQuotaRecord(
        entity=[RecordEntity(entity_type=kind, entity_name=name) for kind, name in entity],
        key=op.key,
        value=0.0 if op.remove else op.value,
        remove=op.remove,
    )


def _outcome(entity: QuotaEntity, error: KafkaError | None) -> ResponseEntryData:
    return ResponseEntryData(
        error_code=0 if error is None else error.code,
        error_message=None if error is None else error.message,
        entity=[ResponseEntityData(entity_type=kind, entity_name=name) for kind, name in entity],
    )


def _bad(problem: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, problem)
