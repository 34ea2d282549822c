"""The connector's keys: Debezium's names, those that are served and those that are not. Pure."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ottla.connect.connectors.debezium.keys import (
    HEARTBEATS,
    PREFIX,
    RECORDS,
    USER,
    Captured,
    captured,
    choice,
    flag,
    number,
    read_captured,
    text,
    unserved,
)
from ottla.connect.connectors.mysql_cdc.changes import Options
from ottla.connect.connectors.mysql_cdc.filters import Filters
from ottla.connect.connectors.mysql_cdc.types import Modes
from ottla.connect.definitions import REQUIRED, Definitions, InvalidConfig, Key, Kind

_DATABASE: Final = (
    text("database.hostname", "Where MariaDB or MySQL is.", REQUIRED, "HIGH"),
    number("database.port", "Its port.", 3306),
    *USER,
    number("database.server.id", "Of this replica among the server's; 0: drawn by lot.", 0),
    choice(
        "database.ssl.mode",
        "Whether the connection is encrypted, and what is verified.",
        "disable",
        *("disabled", "trust", "preferred", "required"),
        *("verify-ca", "verify_ca", "verify-full", "verify_identity"),
    ),
    number("connect.timeout.ms", "How long a connection may take.", 30_000, 1),
)
_REPLICATION: Final = (
    PREFIX,
    choice(
        "snapshot.mode",
        "When the tables' rows are read before their changes.",
        "initial",
        *("always", "initial_only", "no_data", "schema_only", "when_needed"),
    ),
    choice(
        "snapshot.locking.mode",
        "How long writers wait: for the definitions, for all rows, or not at all.",
        "minimal",
        *("extended", "none"),
    ),
    number("snapshot.fetch.size", "Rows of a snapshot in one piece.", 4096, 1),
    number("max.batch.size", "Events of changes that are written in one piece.", 2048, 1),
    number("max.queue.size", "Those that wait to be written, and are written at once.", 8192, 1),
    *HEARTBEATS,
)
_KAFKA_HISTORY: Final = "io.debezium.storage.kafka.history.KafkaSchemaHistory"


def _in_kafka(name: str, value: Any) -> None:
    if value != _KAFKA_HISTORY:
        raise ValueError(f"The '{name}' value is invalid: only {_KAFKA_HISTORY} is served")


_HISTORY: Final = (
    Key(
        name="schema.history.internal",
        kind=Kind.STRING,
        default=_KAFKA_HISTORY,
        doc="Where definitions of tables are kept.",
        validator=_in_kafka,
    ),
    text("schema.history.internal.kafka.topic", "The topic with them.", REQUIRED, "HIGH"),
    text(
        "schema.history.internal.kafka.bootstrap.servers",
        "The cluster of that topic.",
        REQUIRED,
        "HIGH",
    ),
    flag(
        "schema.history.internal.store.only.captured.tables.ddl",
        "Keep definitions of captured tables only, not of all in captured databases.",
        False,
    ),
    flag("include.schema.changes", "Records of definitions that change.", True),
)
_RECORDS: Final = (
    choice("decimal.handling.mode", "How decimals are shown.", "precise", "double", "string"),
    choice(
        "time.precision.mode",
        "How dates and times are shown.",
        "adaptive_time_microseconds",
        *("connect", "isostring", "microseconds", "nanoseconds"),
    ),
    choice("bigint.unsigned.handling.mode", "How they are shown.", "long", "precise"),
    choice(
        "binary.handling.mode",
        "How bytes are shown.",
        "bytes",
        *("base64", "base64-url-safe", "hex"),
    ),
    flag("enable.time.adjuster", "Years of two digits are of 1970 to 2069.", True),
    *RECORDS,
)
DEFINITIONS: Final = Definitions(
    (*_DATABASE, *_REPLICATION, *_HISTORY, *captured("database"), *_RECORDS)
)

_UNSERVED: Final = frozenset(
    [
        "binlog.buffer.size",
        "binlog.net.read.timeout",
        "binlog.net.write.timeout",
        "connect.keep.alive",
        "connect.keep.alive.interval.ms",
        "converters",
        "custom.metric.tags",
        "datatype.propagate.source.type",
        "event.converting.failure.handling.mode",
        "event.deserialization.failure.handling.mode",
        "event.processing.failure.handling.mode",
        "field.name.adjustment.mode",
        "gtid.source.excludes",
        "gtid.source.filter.dml.events",
        "gtid.source.includes",
        "include.query",
        "include.schema.comments",
        "inconsistent.schema.handling.mode",
        "post.processors",
        "read.only",
        "skip.messages.without.change",
        "sourceinfo.struct.maker",
        "streaming.delay.ms",
        "topic.delimiter",
        "topic.heartbeat.prefix",
        "topic.naming.strategy",
        "topic.transaction",
        "transaction.metadata.factory",
        "use.nongraceful.disconnect",
    ]
)
_UNSERVED_PREFIXES: Final = (
    "column.",
    "custom.",
    "database.",
    "driver.",
    "guardrail.",
    "incremental.",
    "message.",
    "notification.",
    "openlineage.",
    "schema.",
    "signal.",
    "snapshot.",
    "table.",
)
_HARMLESS: Final = {
    "schema.name.adjustment.mode": "none",
    "field.name.adjustment.mode": "none",
    "connect.keep.alive": "true",
    "topic.delimiter": ".",
    "event.processing.failure.handling.mode": "fail",
    "event.deserialization.failure.handling.mode": "fail",
    "inconsistent.schema.handling.mode": "fail",
    "skip.messages.without.change": "false",
    "include.query": "false",
    "include.schema.comments": "false",
    "read.only": "false",
    "table.ignore.builtin": "true",
    "schema.history.internal.skip.unparseable.ddl": "false",
    "schema.history.internal.store.only.captured.databases.ddl": "true",
}
PRODUCER: Final = "schema.history.internal.producer."
CONSUMER: Final = "schema.history.internal.consumer."


@dataclass(frozen=True, slots=True, kw_only=True)
class HistorySettings:
    topic: str
    bootstrap: str
    producer: Mapping[str, str] = field(repr=False)
    consumer: Mapping[str, str] = field(repr=False)
    only_captured_tables: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    prefix: str
    host: str
    port: int
    user: str
    password: str = field(repr=False)
    ssl_mode: str
    timeout_s: float
    server_id: int
    snapshot_mode: str
    locking_mode: str
    fetch_size: int
    batch_size: int
    queue_size: int
    heartbeat_s: float  # 0: never
    heartbeat_query: str
    heartbeat_prefix: str
    filters: Filters
    modes: Modes
    options: Options
    history: HistorySettings
    headers: bool


def settings(config: Mapping[str, str]) -> Settings:
    """InvalidConfig for what is wrong."""
    values = DEFINITIONS.parse(config)
    clients = {one: config[one] for one in config if one.startswith((PRODUCER, CONSUMER))}
    others = {one: config[one] for one in config if one not in clients}
    errors = unserved(others, DEFINITIONS.names, _UNSERVED, _UNSERVED_PREFIXES, _HARMLESS)
    chosen = read_captured(values, "database", errors)
    if errors:
        raise InvalidConfig(errors)
    return _made(values, chosen, clients)


def _made(
    values: Mapping[str, Any],
    chosen: Captured,
    clients: Mapping[str, str],
) -> Settings:
    mode = values["snapshot.mode"].lower()
    return Settings(
        prefix=values["topic.prefix"],
        host=values["database.hostname"],
        port=values["database.port"],
        user=values["database.user"],
        password=values["database.password"],
        ssl_mode=values["database.ssl.mode"].lower().replace("_", "-"),
        timeout_s=values["connect.timeout.ms"] / 1000,
        server_id=values["database.server.id"] or random.randrange(5400, 2**31),
        snapshot_mode="no_data" if mode == "schema_only" else mode,
        locking_mode=values["snapshot.locking.mode"].lower(),
        fetch_size=values["snapshot.fetch.size"],
        batch_size=values["max.batch.size"],
        queue_size=max(values["max.queue.size"], values["max.batch.size"]),
        heartbeat_s=values["heartbeat.interval.ms"] / 1000,
        heartbeat_query=values["heartbeat.action.query"],
        heartbeat_prefix=values["heartbeat.topics.prefix"],
        filters=Filters(chosen.spaces, chosen.tables, chosen.columns, chosen.keys),
        modes=Modes(
            decimal=values["decimal.handling.mode"].lower(),
            time_precision=values["time.precision.mode"].lower(),
            bigint_unsigned=values["bigint.unsigned.handling.mode"].lower(),
            binary=values["binary.handling.mode"].lower(),
            adjusts_years=values["enable.time.adjuster"],
        ),
        options=Options(
            tombstones=values["tombstones.on.delete"],
            skipped=chosen.skipped,
            transactions=values["provide.transaction.metadata"],
            schema_changes=values["include.schema.changes"],
        ),
        history=HistorySettings(
            topic=values["schema.history.internal.kafka.topic"],
            bootstrap=values["schema.history.internal.kafka.bootstrap.servers"],
            producer=_client(clients, PRODUCER),
            consumer=_client(clients, CONSUMER),
            only_captured_tables=values["schema.history.internal.store.only.captured.tables.ddl"],
        ),
        headers=values["extended.headers.enabled"],
    )


def _client(clients: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {
        name.removeprefix(prefix): value
        for name, value in clients.items()
        if name.startswith(prefix)
    }
