"""The connector's keys: Debezium's names, those that are served and those that are not. Pure."""

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
from ottla.connect.connectors.postgres_cdc.changes import Options
from ottla.connect.connectors.postgres_cdc.filters import Filters
from ottla.connect.connectors.postgres_cdc.types import Modes
from ottla.connect.definitions import REQUIRED, Definitions, InvalidConfig, Key, Kind

_DATABASE: Final = (
    text("database.hostname", "Where PostgreSQL is.", REQUIRED, "HIGH"),
    number("database.port", "Its port.", 5432),
    *USER,
    text("database.dbname", "The database whose changes are captured.", REQUIRED, "HIGH"),
    choice(
        "database.sslmode",
        "Whether the connection is encrypted, and what is verified.",
        "prefer",
        *("disable", "allow", "require", "verify-ca", "verify-full"),
    ),
    text("database.sslcert", "The client's certificate, a PEM file."),
    text("database.sslkey", "The client's private key, a PEM file."),
    Key(name="database.sslpassword", kind=Kind.PASSWORD, default="", doc="Of that key."),
    text("database.sslrootcert", "Certificates that the server's is verified against."),
    flag("database.tcpKeepAlive", "Keep idle connections alive.", True),
)
_REPLICATION: Final = (
    PREFIX,
    choice("plugin.name", "The output plugin of the slot; pgoutput.", "pgoutput"),
    text("slot.name", "The replication slot, made if it is not there.", "debezium"),
    flag("slot.drop.on.stop", "Drop the slot when the connector stops.", False),
    text("publication.name", "The publication that the slot reads.", "dbz_publication"),
    choice(
        "publication.autocreate.mode",
        "What a publication that is missing is made for.",
        "all_tables",
        *("disabled", "filtered", "no_tables"),
    ),
    choice(
        "snapshot.mode",
        "When the tables' rows are read before their changes.",
        "initial",
        *("always", "initial_only", "no_data", "never", "when_needed"),
    ),
    number("snapshot.fetch.size", "Rows that a snapshot asks for at once.", 10_240, 1),
    number("max.batch.size", "Changes that are written in one piece.", 2048, 1),
    number("max.queue.size", "Changes that wait to be written, and are written at once.", 8192, 1),
    number("status.update.interval.ms", "How often the server hears how far it was read.", 10_000),
    *HEARTBEATS,
)
_RECORDS: Final = (
    choice("decimal.handling.mode", "How numeric is shown.", "precise", "double", "string"),
    choice(
        "time.precision.mode",
        "How dates, times and timestamps are shown.",
        "adaptive",
        *("adaptive_time_microseconds", "connect", "isostring", "microseconds", "nanoseconds"),
    ),
    choice("interval.handling.mode", "How intervals are shown.", "numeric", "string"),
    choice(
        "binary.handling.mode",
        "How bytea is shown.",
        "bytes",
        *("base64", "base64-url-safe", "hex"),
    ),
    choice("hstore.handling.mode", "How hstore is shown.", "json", "map"),
    number("money.fraction.digits", "Digits after money's point.", 2),
    flag("include.unknown.datatypes", "Show values of other types as bytes.", False),
    text(
        "unavailable.value.placeholder",
        "Stands for a TOASTed value that an update left as it was.",
        "__debezium_unavailable_value",
    ),
    *RECORDS,
)
DEFINITIONS: Final = Definitions((*_DATABASE, *_REPLICATION, *captured("schema"), *_RECORDS))

_UNSERVED: Final = frozenset(
    [
        "converters",
        "datatype.propagate.source.type",
        "event.processing.failure.handling.mode",
        "field.name.adjustment.mode",
        "flush.lsn.source",
        "include.schema.comments",
        "include.schema.changes",
        "log.position.check.enable",
        "offset.mismatch.strategy",
        "post.processors",
        "publish.via.partition.root",
        "read.only",
        "replica.identity.autoset.values",
        "schema.name.adjustment.mode",
        "schema.refresh.mode",
        "skip.messages.without.change",
        "slot.failover",
        "slot.seek.to.known.offset.on.start",
        "slot.stream.params",
        "sourceinfo.struct.maker",
        "streaming.delay.ms",
        "topic.naming.strategy",
        "topic.delimiter",
        "topic.heartbeat.prefix",
        "topic.transaction",
        "xmin.fetch.interval.ms",
        "event.converting.failure.handling.mode",
        "custom.metric.tags",
        "table.ignore.builtin",
        "transaction.metadata.factory",
    ]
)
_UNSERVED_PREFIXES: Final = (
    "column.",
    "custom.",
    "database.",
    "driver.",
    "guardrail.",
    "incremental.",
    "lsn.",
    "message.",
    "notification.",
    "openlineage.",
    "publication.",
    "schema.",
    "signal.",
    "slot.",
    "snapshot.",
    "table.",
)
# Said by their defaults, these ask for nothing.
_HARMLESS: Final = {
    "schema.name.adjustment.mode": "none",
    "field.name.adjustment.mode": "none",
    "schema.refresh.mode": "columns_diff",
    "snapshot.locking.mode": "none",
    "slot.failover": "false",
    "topic.delimiter": ".",
    "event.processing.failure.handling.mode": "fail",
    "skip.messages.without.change": "false",
    "include.schema.comments": "false",
    "read.only": "false",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    prefix: str
    database: Mapping[str, Any] = field(repr=False)  # psycopg2's names, the password among them
    slot: str
    drop_slot: bool
    publication: str
    autocreate: str
    snapshot_mode: str
    fetch_size: int
    batch_size: int
    queue_size: int
    status_interval_s: float
    heartbeat_s: float  # 0: never
    heartbeat_query: str
    heartbeat_prefix: str
    filters: Filters
    modes: Modes
    options: Options
    headers: bool


def settings(config: Mapping[str, str]) -> Settings:
    """InvalidConfig for what is wrong."""
    values = DEFINITIONS.parse(config)
    errors = unserved(config, DEFINITIONS.names, _UNSERVED, _UNSERVED_PREFIXES, _HARMLESS)
    chosen = read_captured(values, "schema", errors)
    if errors:
        raise InvalidConfig(errors)
    return _made(values, chosen)


def _made(
    values: Mapping[str, Any],
    chosen: Captured,
) -> Settings:
    return Settings(
        prefix=values["topic.prefix"],
        database=_database(values),
        slot=values["slot.name"],
        drop_slot=values["slot.drop.on.stop"],
        publication=values["publication.name"],
        autocreate=values["publication.autocreate.mode"].lower(),
        snapshot_mode=values["snapshot.mode"].lower(),
        fetch_size=values["snapshot.fetch.size"],
        batch_size=values["max.batch.size"],
        queue_size=max(values["max.queue.size"], values["max.batch.size"]),
        status_interval_s=max(1.0, values["status.update.interval.ms"] / 1000),
        heartbeat_s=values["heartbeat.interval.ms"] / 1000,
        heartbeat_query=values["heartbeat.action.query"],
        heartbeat_prefix=values["heartbeat.topics.prefix"],
        filters=Filters(chosen.spaces, chosen.tables, chosen.columns, chosen.keys),
        modes=Modes(
            decimal=values["decimal.handling.mode"].lower(),
            time_precision=values["time.precision.mode"].lower(),
            interval=values["interval.handling.mode"].lower(),
            binary=values["binary.handling.mode"].lower(),
            hstore=values["hstore.handling.mode"].lower(),
            unknown_types=values["include.unknown.datatypes"],
            placeholder=values["unavailable.value.placeholder"],
            money_digits=values["money.fraction.digits"],
        ),
        options=Options(
            tombstones=values["tombstones.on.delete"],
            skipped=chosen.skipped,
            transactions=values["provide.transaction.metadata"],
        ),
        headers=values["extended.headers.enabled"],
    )


def _database(values: Mapping[str, Any]) -> dict[str, Any]:
    said = {
        "host": values["database.hostname"],
        "port": values["database.port"],
        "user": values["database.user"],
        "password": values["database.password"],
        "dbname": values["database.dbname"],
        "sslmode": values["database.sslmode"],
        "sslcert": values["database.sslcert"],
        "sslkey": values["database.sslkey"],
        "sslpassword": values["database.sslpassword"],
        "sslrootcert": values["database.sslrootcert"],
        "keepalives": int(values["database.tcpKeepAlive"]),
    }
    return {name: value for name, value in said.items() if value != ""}
