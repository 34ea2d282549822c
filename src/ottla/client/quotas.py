"""Client quotas of any Kafka cluster: looked at, set, removed; and the rates that people write."""

import re
from collections.abc import Mapping

from ottla.client.refusals import refuse
from ottla.client.wire_client import WireClient
from ottla.errors import OttlaError
from ottla.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    OpData,
    RequestEntityData,
    RequestEntryData,
)
from ottla.wire.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)

Entity = Mapping[str, str | None]
"""Types (user, client-id, ip) and names; None: all that have no quota of their own."""
EXACT, DEFAULT = 0, 1
_RATE = re.compile(r"(?P<number>\d+(\.\d+)?)\s*(?P<unit>[kMGT]?i?B?)?(/s)?")
_POWERS = {"": 0, "k": 1, "M": 2, "G": 3, "T": 4}


async def quotas(wire: WireClient, entity: Entity) -> list[tuple[Entity, Mapping[str, float]]]:
    """Of this very entity; of all where it is empty."""
    asked = DescribeClientQuotasRequest(
        components=[
            ComponentData(
                entity_type=kind, match_type=DEFAULT if name is None else EXACT, match=name
            )
            for kind, name in entity.items()
        ],
        strict=bool(entity),
    )
    answer = await wire.ask_any(asked, DescribeClientQuotasResponse)
    refuse(answer.error_code, answer.error_message)
    found = [
        (
            {one.entity_type: one.entity_name for one in entry.entity},
            {value.key: value.value for value in entry.values},
        )
        for entry in answer.entries or []
    ]
    return sorted(found, key=lambda pair: sorted((k, v or "") for k, v in pair[0].items()))


async def alter_quotas(
    wire: WireClient, entity: Entity, changes: Mapping[str, float | None]
) -> None:
    """None removes."""
    entry = RequestEntryData(
        entity=[
            RequestEntityData(entity_type=kind, entity_name=name) for kind, name in entity.items()
        ],
        ops=[
            OpData(key=key, value=value or 0.0, remove=value is None)
            for key, value in changes.items()
        ],
    )
    answer = await wire.ask_any(
        AlterClientQuotasRequest(entries=[entry]), AlterClientQuotasResponse
    )
    for one in answer.entries:
        refuse(one.error_code, one.error_message)


def read_rate(text: str) -> float:
    """Bytes a second: `5MB/s`, `512KiB/s`, `1000`. OttlaError for anything else."""
    found = _RATE.fullmatch(text.strip().replace("K", "k"))
    if found is None:
        raise OttlaError(f"{text!r} is no rate. Write 5MB/s, 512KiB/s, or bytes a second.")
    unit = found["unit"] or ""
    base = 1024 if "i" in unit else 1000
    return float(int(float(found["number"]) * base ** _POWERS[unit.rstrip("iB")]))
