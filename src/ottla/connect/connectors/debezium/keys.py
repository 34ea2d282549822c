"""Keys of Debezium's connectors: how they are defined, and those that are refused. Pure."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple

from ottla.connect.connectors.debezium.filters import Choice, KeyColumns, expressions, key_columns
from ottla.connect.definitions import REQUIRED, Key, Kind, Validator
from ottla.connect.runs.failures import MAX_RETRIES, RETRY_WAIT_MS


def one_of(*allowed: str) -> Validator:
    def check(name: str, value: Any) -> None:
        if str(value).lower() not in allowed:
            raise ValueError(
                f"The '{name}' value is invalid: Value must be one of {', '.join(allowed)}"
            )

    return check


def at_least(least: int) -> Validator:
    def check(name: str, value: Any) -> None:
        if value < least:
            raise ValueError(f"The '{name}' value is invalid: Value must be at least {least}")

    return check


def text(name: str, doc: str, default: Any = "", importance: str = "MEDIUM") -> Key:
    return Key(name=name, kind=Kind.STRING, default=default, doc=doc, importance=importance)


def choice(name: str, doc: str, default: str, *allowed: str) -> Key:
    return Key(
        name=name, kind=Kind.STRING, default=default, doc=doc, validator=one_of(default, *allowed)
    )


def flag(name: str, doc: str, default: bool) -> Key:
    return Key(name=name, kind=Kind.BOOLEAN, default=default, doc=doc)


def number(name: str, doc: str, default: int, least: int = 0) -> Key:
    return Key(name=name, kind=Kind.INT, default=default, doc=doc, validator=at_least(least))


PREFIX: Final = text(
    "topic.prefix", "Names the server: the first part of topics.", REQUIRED, "HIGH"
)
USER: Final = (
    text("database.user", "A user who may replicate.", REQUIRED, "HIGH"),
    Key(
        name="database.password",
        kind=Kind.PASSWORD,
        default="",
        importance="HIGH",
        doc="Of that user.",
    ),
)
HEARTBEATS: Final = (
    number("heartbeat.interval.ms", "How often a heartbeat is written; 0: never.", 0),
    text("heartbeat.action.query", "SQL that is run with every heartbeat."),
    text("heartbeat.topics.prefix", "Of the heartbeats' topic.", "__debezium-heartbeat"),
    number("poll.interval.ms", "Accepted; changes are read when they arrive.", 500),
)
RECORDS: Final = (
    flag("tombstones.on.delete", "A record without a value follows a delete.", True),
    flag("provide.transaction.metadata", "Records of transactions, and their order.", False),
    flag("extended.headers.enabled", "Headers that name connector and run.", True),
    number(
        MAX_RETRIES, "How often what may pass is tried again in a row; -1: for ever.", -1, least=-1
    ),
    number(RETRY_WAIT_MS, "The longest pause before it is tried again, in ms.", 10_000),
)


def captured(space: str) -> tuple[Key, ...]:
    """What is captured of a server whose tables are in databases, or in schemas."""
    return (
        text(f"{space}.include.list", f"Expressions of the {space}s that are captured."),
        text(f"{space}.exclude.list", "Expressions of those that are not."),
        text("table.include.list", f"Expressions of the tables that are captured: {space}.table."),
        text("table.exclude.list", "Expressions of those that are not."),
        text("column.include.list", f"Expressions of columns in records: {space}.table.column."),
        text("column.exclude.list", "Expressions of those that are not."),
        text("message.key.columns", "Keys other than the tables' own: table:column,column;…"),
        text("skipped.operations", "Of c, u, d and t, those without records; or none.", "t"),
    )


class Captured(NamedTuple):
    """What `captured` asks for."""

    spaces: Choice
    tables: Choice
    columns: Choice
    keys: KeyColumns
    skipped: frozenset[str]


def read_captured(
    values: Mapping[str, Any], space: str, errors: dict[str, Sequence[str]]
) -> Captured:
    """`errors` are told of what is wrong."""
    errors.update(both_lists(values, (space, "table", "column")))
    keys: KeyColumns = ()
    skipped: frozenset[str] = frozenset()
    try:
        keys = key_columns(values["message.key.columns"])
    except ValueError as error:
        errors["message.key.columns"] = [str(error)]
    try:
        skipped = operations(values["skipped.operations"])
    except ValueError as error:
        errors["skipped.operations"] = [str(error)]
    return Captured(
        lists(values, space), lists(values, "table"), lists(values, "column"), keys, skipped
    )


def lists(values: Mapping[str, Any], kind: str) -> Choice:
    include, exclude = values[f"{kind}.include.list"], values[f"{kind}.exclude.list"]
    return Choice(expressions(include), expressions(exclude))


def both_lists(values: Mapping[str, Any], kinds: Sequence[str]) -> dict[str, Sequence[str]]:
    return {
        f"{kind}.exclude.list": [f'"{kind}.include.list" is already specified']
        for kind in kinds
        if values[f"{kind}.include.list"] and values[f"{kind}.exclude.list"]
    }


def operations(text: str) -> frozenset[str]:
    """skipped.operations; ValueError for what is none."""
    said = {one.strip().lower() for one in text.split(",") if one.strip()}
    if said == {"none"}:
        return frozenset()
    if not said <= set("cudt"):
        raise ValueError(
            f"The 'skipped.operations' value '{text}' is invalid: "
            "Value must be none, or of c, u, d and t"
        )
    return frozenset(said)


# How fast Debezium reads, and how patient it is: whatever they say, the records are the same.
TUNING: Final = frozenset(
    [
        "database.query.timeout.ms",
        "incremental.snapshot.chunk.size",
        "max.queue.size.in.bytes",
        "min.row.count.to.stream.results",
        "query.fetch.size",
        "signal.poll.interval.ms",
        "slot.max.retries",
        "slot.retry.delay.ms",
        "snapshot.lock.timeout.ms",
        "snapshot.max.threads",
    ]
)


def unserved(
    config: Mapping[str, str],
    known: Collection[str],
    names: Collection[str],
    prefixes: tuple[str, ...],
    harmless: Mapping[str, str],
) -> dict[str, Sequence[str]]:
    """Debezium's keys that are not served are refused: a mask that is not applied is a leak.

    `harmless`: said by their defaults, these ask for nothing.
    """
    return {
        name: [f"The key '{name}' is Debezium's, but is not served here."]
        for name, value in config.items()
        if name not in known
        and name not in TUNING
        and (name in names or name.startswith(prefixes))
        and harmless.get(name) != value.strip()
    }
