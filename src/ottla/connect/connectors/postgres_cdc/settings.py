"""The connector's keys: Debezium's names, those that are served and those that are not. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ottla.connect.connectors.postgres_cdc import filters
from ottla.connect.connectors.postgres_cdc.changes import Options
from ottla.connect.connectors.postgres_cdc.filters import Choice, Filters
from ottla.connect.connectors.postgres_cdc.types import Modes
from ottla.connect.definitions import REQUIRED, Definitions, InvalidConfig, Key, Kind, Validator
from ottla.connect.runs.failures import MAX_RETRIES, RETRY_WAIT_MS


def _one_of(*allowed: str) -> Validator:
    def check(name: str, value: Any) -> None:
        if str(value).lower() not in allowed:
            raise ValueError(
                f"The '{name}' value is invalid: Value must be one of {', '.join(allowed)}"
            )

    return check


def _at_least(least: int) -> Validator:
    def check(name: str, value: Any) -> None:
        if value < least:
            raise ValueError(f"The '{name}' value is invalid: Value must be at least {least}")

    return check


def _text(name: str, doc: str, default: Any = "", importance: str = "MEDIUM") -> Key:
    return Key(name=name, kind=Kind.STRING, default=default, doc=doc, importance=importance)


def _choice(name: str, doc: str, default: str, *allowed: str) -> Key:
    return Key(
        name=name, kind=Kind.STRING, default=default, doc=doc, validator=_one_of(default, *allowed)
    )


def _flag(name: str, doc: str, default: bool) -> Key:
    return Key(name=name, kind=Kind.BOOLEAN, default=default, doc=doc)


def _number(name: str, doc: str, default: int, least: int = 0) -> Key:
    return Key(name=name, kind=Kind.INT, default=default, doc=doc, validator=_at_least(least))


_DATABASE: Final = (
    _text("database.hostname", "Where PostgreSQL is.", REQUIRED, "HIGH"),
    _number("database.port", "Its port.", 5432),
    _text("database.user", "A user who may replicate.", REQUIRED, "HIGH"),
    Key(
        name="database.password",
        kind=Kind.PASSWORD,
        default="",
        importance="HIGH",
        doc="Of that user.",
    ),
    _text("database.dbname", "The database whose changes are captured.", REQUIRED, "HIGH"),
    _choice(
        "database.sslmode",
        "Whether the connection is encrypted, and what is verified.",
        "prefer",
        *("disable", "allow", "require", "verify-ca", "verify-full"),
    ),
    _text("database.sslcert", "The client's certificate, a PEM file."),
    _text("database.sslkey", "The client's private key, a PEM file."),
    Key(name="database.sslpassword", kind=Kind.PASSWORD, default="", doc="Of that key."),
    _text("database.sslrootcert", "Certificates that the server's is verified against."),
    _flag("database.tcpKeepAlive", "Keep idle connections alive.", True),
)
_REPLICATION: Final = (
    _text("topic.prefix", "Names the server: the first part of topics.", REQUIRED, "HIGH"),
    _choice("plugin.name", "The output plugin of the slot; pgoutput.", "pgoutput"),
    _text("slot.name", "The replication slot, made if it is not there.", "debezium"),
    _flag("slot.drop.on.stop", "Drop the slot when the connector stops.", False),
    _text("publication.name", "The publication that the slot reads.", "dbz_publication"),
    _choice(
        "publication.autocreate.mode",
        "What a publication that is missing is made for.",
        "all_tables",
        *("disabled", "filtered", "no_tables"),
    ),
    _choice(
        "snapshot.mode",
        "When the tables' rows are read before their changes.",
        "initial",
        *("always", "initial_only", "no_data", "never", "when_needed"),
    ),
    _number("snapshot.fetch.size", "Rows that a snapshot asks for at once.", 10_240, 1),
    _number("max.batch.size", "Changes that are written in one piece.", 2048, 1),
    _number("max.queue.size", "Changes that wait to be written, and are written at once.", 8192, 1),
    _number("status.update.interval.ms", "How often the server hears how far it was read.", 10_000),
    _number("heartbeat.interval.ms", "How often a heartbeat is written; 0: never.", 0),
    _text("heartbeat.action.query", "SQL that is run with every heartbeat."),
    _text("heartbeat.topics.prefix", "Of the heartbeats' topic.", "__debezium-heartbeat"),
    _number("poll.interval.ms", "Accepted; changes are read when they arrive.", 500),
)
_CAPTURED: Final = (
    _text("schema.include.list", "Expressions of the schemas that are captured."),
    _text("schema.exclude.list", "Expressions of those that are not."),
    _text("table.include.list", "Expressions of the tables that are captured: schema.table."),
    _text("table.exclude.list", "Expressions of those that are not."),
    _text("column.include.list", "Expressions of columns in records: schema.table.column."),
    _text("column.exclude.list", "Expressions of those that are not."),
    _text("message.key.columns", "Keys other than the tables' own: table:column,column;…"),
    _text("skipped.operations", "Of c, u, d and t, those without records; or none.", "t"),
)
_RECORDS: Final = (
    _choice("decimal.handling.mode", "How numeric is shown.", "precise", "double", "string"),
    _choice(
        "time.precision.mode",
        "How dates, times and timestamps are shown.",
        "adaptive",
        *("adaptive_time_microseconds", "connect", "isostring", "microseconds", "nanoseconds"),
    ),
    _choice("interval.handling.mode", "How intervals are shown.", "numeric", "string"),
    _choice(
        "binary.handling.mode",
        "How bytea is shown.",
        "bytes",
        *("base64", "base64-url-safe", "hex"),
    ),
    _choice("hstore.handling.mode", "How hstore is shown.", "json", "map"),
    _number("money.fraction.digits", "Digits after money's point.", 2),
    _flag("include.unknown.datatypes", "Show values of other types as bytes.", False),
    _flag("tombstones.on.delete", "A record without a value follows a delete.", True),
    _flag("provide.transaction.metadata", "Records of transactions, and their order.", False),
    _text(
        "unavailable.value.placeholder",
        "Stands for a TOASTed value that an update left as it was.",
        "__debezium_unavailable_value",
    ),
    _flag("extended.headers.enabled", "Headers that name connector and run.", True),
    _number(
        MAX_RETRIES, "How often what may pass is tried again in a row; -1: for ever.", -1, least=-1
    ),
    _number(RETRY_WAIT_MS, "The longest pause before it is tried again, in ms.", 10_000),
)
DEFINITIONS: Final = Definitions((*_DATABASE, *_REPLICATION, *_CAPTURED, *_RECORDS))

# Debezium's keys that are not served are refused: a filter or a mask that is not applied is a leak.
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
        "max.queue.size.in.bytes",
        "offset.mismatch.strategy",
        "post.processors",
        "publish.via.partition.root",
        "query.fetch.size",
        "read.only",
        "replica.identity.autoset.values",
        "schema.name.adjustment.mode",
        "schema.refresh.mode",
        "skip.messages.without.change",
        "slot.failover",
        "slot.max.retries",
        "slot.retry.delay.ms",
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
    errors = {
        **_unserved(config),
        **_both_lists(values),
    }
    try:
        keys = filters.key_columns(values["message.key.columns"])
    except ValueError as error:
        errors["message.key.columns"] = [str(error)]
        keys = ()
    try:
        skipped = _operations(values["skipped.operations"])
    except ValueError as error:
        errors["skipped.operations"] = [str(error)]
        skipped = frozenset()
    if errors:
        raise InvalidConfig(errors)
    return _made(values, keys, skipped)


def _made(
    values: Mapping[str, Any],
    keys: tuple[tuple[str, tuple[str, ...]], ...],
    skipped: frozenset[str],
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
        filters=Filters(
            _lists(values, "schema"), _lists(values, "table"), _lists(values, "column"), keys
        ),
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
            skipped=skipped,
            transactions=values["provide.transaction.metadata"],
        ),
        headers=values["extended.headers.enabled"],
    )


def _lists(values: Mapping[str, Any], kind: str) -> Choice:
    include, exclude = values[f"{kind}.include.list"], values[f"{kind}.exclude.list"]
    return Choice(filters.expressions(include), filters.expressions(exclude))


def _both_lists(values: Mapping[str, Any]) -> dict[str, Sequence[str]]:
    return {
        f"{kind}.exclude.list": [f'"{kind}.include.list" is already specified']
        for kind in ("schema", "table", "column")
        if values[f"{kind}.include.list"] and values[f"{kind}.exclude.list"]
    }


def _operations(text: str) -> frozenset[str]:
    said = {one.strip().lower() for one in text.split(",") if one.strip()}
    if said == {"none"}:
        return frozenset()
    if not said <= set("cudt"):
        raise ValueError(
            f"The 'skipped.operations' value '{text}' is invalid: "
            "Value must be none, or of c, u, d and t"
        )
    return frozenset(said)


def _unserved(config: Mapping[str, str]) -> dict[str, Sequence[str]]:
    known = DEFINITIONS.names
    return {
        name: [f"The key '{name}' is Debezium's, but is not served here."]
        for name, value in config.items()
        if name not in known
        and (name in _UNSERVED or name.startswith(_UNSERVED_PREFIXES))
        and _HARMLESS.get(name) != value.strip()
    }


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
