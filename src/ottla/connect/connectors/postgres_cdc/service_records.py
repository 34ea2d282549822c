"""Records of emitted messages, which are no table's. Pure."""

from dataclasses import replace
from typing import Final

from ottla.connect.connectors.debezium.schemas import (
    OPTIONAL_INT64,
    OPTIONAL_STRING,
    STRING,
    TRANSACTION,
    sanitised,
)
from ottla.connect.connectors.postgres_cdc.envelope import SOURCE, Naming, Source
from ottla.connect.connectors.postgres_cdc.types import binary
from ottla.connect.data import Field, Record, Schema, Struct, Type

_MESSAGE_KEY: Final = Schema(
    type=Type.STRUCT,
    name="io.debezium.connector.postgresql.MessageKey",
    version=1,
    fields=(Field("prefix", OPTIONAL_STRING),),
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
