"""Records that are not a table's: emitted messages, heartbeats, ends of transactions. Pure."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from ottla.connect.connectors.postgres_cdc.envelope import (
    INT64,
    OPTIONAL_INT64,
    OPTIONAL_STRING,
    SOURCE,
    STRING,
    TRANSACTION,
    Naming,
    Source,
    sanitised,
)
from ottla.connect.connectors.postgres_cdc.types import binary
from ottla.connect.data import Field, Record, Schema, Struct, Type

_MESSAGE_KEY: Final = Schema(
    type=Type.STRUCT,
    name="io.debezium.connector.postgresql.MessageKey",
    version=1,
    fields=(Field("prefix", OPTIONAL_STRING),),
)
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


def _message_schemas(content: Schema) -> tuple[Schema, Schema]:
    message = Schema(
        type=Type.STRUCT,
        name="io.debezium.connector.postgresql.Message",
        version=1,
        fields=(Field("prefix", OPTIONAL_STRING), Field("content", content)),
    )
    value = Schema(
        type=Type.STRUCT,
        name="io.debezium.connector.postgresql.MessageValue",
        version=1,
        fields=(
            Field("op", STRING),
            Field("ts_ms", OPTIONAL_INT64),
            Field("source", SOURCE),
            Field("transaction", TRANSACTION),
            Field("message", message),
        ),
    )
    return message, value


def message_record(
    naming: Naming,
    prefix: str,
    content: bytes,
    source: Source,
    *,
    now_ns: int,
    transaction: Struct | None = None,
) -> Record:
    """What pg_logical_emit_message() wrote."""
    shown = binary(naming.modes, bytes.fromhex)
    message, value = _message_schemas(replace(shown.schema, optional=True))
    values = {
        "op": "m",
        "ts_ms": now_ns // 1_000_000,
        "source": source.struct(naming, "", ""),
        "transaction": transaction,
        "message": Struct(message, {"prefix": prefix, "content": shown.convert(content.hex())}),
    }
    return Record(
        topic=sanitised(f"{naming.prefix}.message"),
        key_schema=_MESSAGE_KEY,
        key=Struct(_MESSAGE_KEY, {"prefix": prefix}),
        value_schema=value,
        value=Struct(value, values),
    )


def heartbeat_record(naming: Naming, topics_prefix: str, now_ms: int) -> Record:
    return Record(
        topic=sanitised(f"{topics_prefix}.{naming.prefix}"),
        key_schema=_HEARTBEAT_KEY,
        key=Struct(_HEARTBEAT_KEY, {"serverName": naming.prefix}),
        value_schema=_HEARTBEAT,
        value=Struct(_HEARTBEAT, {"ts_ms": now_ms}),
    )


def transaction_record(
    naming: Naming, status: str, identity: str, counts: Mapping[str, int] | None, ms: int
) -> Record:
    """BEGIN (counts None) or END of a transaction."""
    collections = None
    if counts is not None:
        collections = [
            Struct(_COLLECTION, {"data_collection": name, "event_count": count})
            for name, count in counts.items()
        ]
    values = {
        "status": status,
        "id": identity,
        "event_count": None if counts is None else sum(counts.values()),
        "data_collections": collections,
        "ts_ms": ms,
    }
    return Record(
        topic=sanitised(f"{naming.prefix}.transaction"),
        key_schema=_TRANSACTION_KEY,
        key=Struct(_TRANSACTION_KEY, {"id": identity}),
        value_schema=_TRANSACTION_VALUE,
        value=Struct(_TRANSACTION_VALUE, values),
    )
