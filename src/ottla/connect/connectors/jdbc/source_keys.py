"""The source's keys, by Confluent's names; Aiven's differ in a few."""

from typing import Any, Final

from ottla.connect.connectors.jdbc.dialects import NAMES
from ottla.connect.connectors.jdbc.reading import NUMERIC_MAPPINGS
from ottla.connect.connectors.jdbc.validators import one_of, url, zone
from ottla.connect.definitions import Definitions, Key, Kind
from ottla.connect.validators import at_least

MODES: Final = ("bulk", "timestamp", "incrementing", "timestamp+incrementing")


def _key(name: str, kind: Kind, default: Any, doc: str, **more: Any) -> Key:
    return Key(name=name, kind=kind, default=default, doc=doc, **more)


CONNECTION: Final = (
    Key(
        name="connection.url",
        kind=Kind.STRING,
        importance="HIGH",
        doc="JDBC URL of the database: PostgreSQL, MariaDB, MySQL or SQLite.",
        group="Database",
        order=1,
        width="LONG",
        display_name="JDBC URL",
        validator=url,
    ),
    Key(
        name="connection.user",
        kind=Kind.STRING,
        default=None,
        importance="HIGH",
        doc="Who connects.",
        group="Database",
        order=2,
        aliases=("connection.username",),
    ),
    Key(
        name="connection.password",
        kind=Kind.PASSWORD,
        default=None,
        importance="HIGH",
        doc="The user's password.",
        group="Database",
        order=3,
    ),
    _key(
        "connection.attempts",
        Kind.INT,
        3,
        "How often a connection is tried before the task gives up.",
        importance="LOW",
        group="Database",
        order=4,
        validator=at_least(1),
    ),
    _key(
        "connection.backoff.ms",
        Kind.LONG,
        10000,
        "Time between two attempts to connect.",
        importance="LOW",
        group="Database",
        order=5,
        validator=at_least(0),
    ),
    _key(
        "dialect.name",
        Kind.STRING,
        "",
        "The database's kind, where the URL should not decide.",
        importance="LOW",
        group="Database",
        order=6,
        validator=one_of("", *NAMES),
    ),
    _key(
        "quote.sql.identifiers",
        Kind.STRING,
        "always",
        "Whether names of tables and columns are quoted: always or never.",
        group="Database",
        order=7,
        validator=one_of("always", "never", "true", "false"),
        aliases=("sql.quote.identifiers", "quote.identifiers"),
    ),
    _key(
        "db.timezone",
        Kind.STRING,
        "UTC",
        "Time zone of columns that hold none.",
        group="Database",
        order=8,
        validator=zone,
        aliases=("use.time.zone", "database.time_zone"),
    ),
)

DEFINITIONS: Final = Definitions(
    (
        *CONNECTION,
        _key(
            "catalog.pattern",
            Kind.STRING,
            None,
            "Catalogs to look for tables in.",
            group="Database",
        ),
        _key(
            "schema.pattern", Kind.STRING, None, "Schemas to look for tables in.", group="Database"
        ),
        _key("table.whitelist", Kind.LIST, [], "Tables to read, by name.", group="Database"),
        _key("table.blacklist", Kind.LIST, [], "Tables not to read, by name.", group="Database"),
        _key(
            "table.include.list",
            Kind.LIST,
            [],
            "Tables to read: regular expressions that match their full names.",
            group="Database",
        ),
        _key(
            "table.exclude.list",
            Kind.LIST,
            [],
            "Tables not to read: regular expressions that match their full names.",
            group="Database",
        ),
        _key(
            "table.types",
            Kind.LIST,
            ["TABLE"],
            "What counts as a table: TABLE, VIEW, MATERIALIZED VIEW, FOREIGN TABLE.",
            importance="LOW",
            group="Connector",
        ),
        Key(
            name="mode",
            kind=Kind.STRING,
            importance="HIGH",
            doc="How new rows are found: by reading all of them, a number, a time, or both.",
            group="Mode",
            order=1,
            validator=one_of(*MODES),
            recommender=lambda *_: MODES,
            dependents=("incrementing.column.name", "timestamp.column.name", "validate.non.null"),
        ),
        _key(
            "incrementing.column.name",
            Kind.STRING,
            "",
            "The column that counts rows. Empty: the one the database numbers by itself.",
            group="Mode",
        ),
        _key(
            "incrementing.initial",
            Kind.LONG,
            None,
            "Rows up to this number are not read. Unset: all are.",
            importance="LOW",
            group="Mode",
        ),
        _key(
            "timestamp.column.name",
            Kind.LIST,
            [],
            "Columns with the time of a row's last change; the first that is not null counts.",
            group="Mode",
        ),
        _key(
            "timestamp.initial",
            Kind.LONG,
            None,
            "Rows up to this time (milliseconds) are not read; -1: those before the start.",
            importance="LOW",
            group="Mode",
            aliases=("timestamp.initial.ms",),
        ),
        _key(
            "validate.non.null",
            Kind.BOOLEAN,
            True,
            "Refuse tables whose counting column may be null.",
            importance="LOW",
            group="Mode",
        ),
        _key("query", Kind.STRING, "", "A SELECT to read instead of tables.", group="Mode"),
        _key("query.suffix", Kind.STRING, "", "Put behind every statement.", importance="LOW"),
        Key(
            name="topic.prefix",
            kind=Kind.STRING,
            importance="HIGH",
            doc="Put before a table's name to name its topic; of a query, the topic.",
            group="Connector",
        ),
        _key(
            "numeric.mapping",
            Kind.STRING,
            None,
            "When exact numbers become primitive ones: none, precision_only, best_fit,"
            " best_fit_eager_double.",
            importance="LOW",
            group="Database",
            validator=one_of(None, *NUMERIC_MAPPINGS),
        ),
        _key(
            "numeric.precision.mapping",
            Kind.BOOLEAN,
            False,
            "The older way to say numeric.mapping=precision_only.",
            importance="LOW",
            group="Database",
        ),
        _key(
            "timestamp.delay.interval.ms",
            Kind.LONG,
            0,
            "Rows younger than this are left for later.",
            importance="HIGH",
            group="Connector",
            validator=at_least(0),
        ),
        _key(
            "poll.interval.ms",
            Kind.INT,
            5000,
            "How often each table is asked for new rows.",
            importance="HIGH",
            group="Connector",
            validator=at_least(0),
        ),
        _key(
            "table.poll.interval.ms",
            Kind.LONG,
            60000,
            "How often new tables are looked for.",
            importance="LOW",
            group="Connector",
            validator=at_least(1),
        ),
        _key(
            "batch.max.rows",
            Kind.INT,
            100,
            "Rows fetched at once from the database.",
            importance="LOW",
            group="Connector",
            validator=at_least(1),
        ),
        _key(
            "ottla.wait.for.open.transactions",
            Kind.BOOLEAN,
            True,
            "PostgreSQL: leave rows for later while a transaction is open that may still commit one"
            " with a smaller number or an earlier time.",
            group="Connector",
        ),
    )
)
