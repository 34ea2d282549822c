"""Records that are no table's: heartbeats, and the beginnings and ends of transactions. Pure."""

from collections.abc import Mapping
from typing import Final

from ottla.connect.connectors.debezium.schemas import INT64, OPTIONAL_INT64, STRING, sanitised
from ottla.connect.data import Field, Record, Schema, Struct, Type
from ottla.connect.java_map import in_hash_order

_HEARTBEAT_KEY: Final = Schema(
    type=Type.STRUCT,
    name="io.debezium.connector.common.ServerNameKey",
    version=1,
    fields=(Field("serverName", STRING),),
)
_HEARTBEAT: Final = Schema(
    type=Type.STRUCT,
    name="io.debezium.connector.common.Heartbeat",
    version=1,
    fields=(Field("ts_ms", INT64),),
)
_TRANSACTION_KEY: Final = Schema(
    type=Type.STRUCT,
    name="io.debezium.connector.common.TransactionMetadataKey",
    version=1,
    fields=(Field("id", STRING),),
)
_COLLECTION: Final = Schema(
    type=Type.STRUCT,
    optional=True,
    name="event.collection",
    version=1,
    fields=(Field("data_collection", STRING), Field("event_count", INT64)),
)
_TRANSACTION_VALUE: Final = Schema(
    type=Type.STRUCT,
    name="io.debezium.connector.common.TransactionMetadataValue",
    version=1,
    fields=(
        Field("status", STRING),
        Field("id", STRING),
        Field("event_count", OPTIONAL_INT64),
        Field(
            "data_collections",
            Schema(type=Type.ARRAY, optional=True, value_schema=_COLLECTION),
        ),
        Field("ts_ms", INT64),
    ),
)


def heartbeat_record(prefix: str, topics_prefix: str, now_ms: int) -> Record:
    return Record(
        topic=sanitised(f"{topics_prefix}.{prefix}"),
        key_schema=_HEARTBEAT_KEY,
        key=Struct(_HEARTBEAT_KEY, {"serverName": prefix}),
        value_schema=_HEARTBEAT,
        value=Struct(_HEARTBEAT, {"ts_ms": now_ms}),
    )


def transaction_record(
    prefix: str, status: str, identity: str, counts: Mapping[str, int] | None, ms: int
) -> Record:
    """BEGIN (counts None) or END of a transaction."""
    collections = None
    if counts is not None:
        collections = [
            Struct(_COLLECTION, {"data_collection": name, "event_count": count})
            for name, count in in_hash_order(counts).items()
        ]
    values = {
        "status": status,
        "id": identity,
        "event_count": None if counts is None else sum(counts.values()),
        "data_collections": collections,
        "ts_ms": ms,
    }
    return Record(
        topic=sanitised(f"{prefix}.transaction"),
        key_schema=_TRANSACTION_KEY,
        key=Struct(_TRANSACTION_KEY, {"id": identity}),
        value_schema=_TRANSACTION_VALUE,
        value=Struct(_TRANSACTION_VALUE, values),
    )
