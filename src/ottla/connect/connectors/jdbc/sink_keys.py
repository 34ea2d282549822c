"""The sink's keys, by Confluent's names; Aiven's and Debezium's for the same are aliases."""

from typing import Final

from ottla.connect.connectors.jdbc.source_keys import CONNECTION
from ottla.connect.connectors.jdbc.validators import one_of
from ottla.connect.definitions import Definitions, Key, Kind
from ottla.connect.validators import at_least

OFFSETS_TABLE: Final = "ottla_connect_offsets"

DEFINITIONS: Final = Definitions(
    (
        *CONNECTION,
        Key(
            name="insert.mode",
            kind=Kind.STRING,
            default="insert",
            importance="HIGH",
            doc="How rows are written: insert (multi is the same), upsert or update.",
            group="Writes",
            validator=one_of("insert", "multi", "upsert", "update"),
        ),
        Key(
            name="batch.size",
            kind=Kind.INT,
            default=3000,
            doc="Rows of one statement, at most.",
            group="Writes",
            validator=at_least(1),
        ),
        Key(
            name="delete.enabled",
            kind=Kind.BOOLEAN,
            default=False,
            doc="Whether a null value deletes the row of its key. Needs pk.mode=record_key.",
            group="Writes",
        ),
        Key(
            name="truncate.enabled",
            kind=Kind.BOOLEAN,
            default=False,
            doc="Whether Debezium's truncate events empty the table.",
            group="Writes",
        ),
        Key(
            name="table.name.format",
            kind=Kind.STRING,
            default="${topic}",
            doc="The table of a record: ${topic} stands for its topic.",
            group="Data Mapping",
            aliases=("collection.name.format",),
        ),
        Key(
            name="table.name.normalize",
            kind=Kind.BOOLEAN,
            default=False,
            doc="Whether signs of a topic that no name has become an underscore.",
            group="Data Mapping",
        ),
        Key(
            name="topics.to.tables.mapping",
            kind=Kind.LIST,
            default=[],
            doc="Tables of single topics, as topic:table.",
            group="Data Mapping",
        ),
        Key(
            name="pk.mode",
            kind=Kind.STRING,
            default="none",
            importance="HIGH",
            doc="What the key's columns are made of: none, kafka, record_key or record_value.",
            group="Data Mapping",
            validator=one_of("none", "kafka", "record_key", "record_value"),
            aliases=("primary.key.mode",),
        ),
        Key(
            name="pk.fields",
            kind=Kind.LIST,
            default=[],
            doc="The key's columns: names for topic, partition and offset, or fields.",
            group="Data Mapping",
            aliases=("primary.key.fields",),
        ),
        Key(
            name="fields.whitelist",
            kind=Kind.LIST,
            default=[],
            doc="Fields of the value that are written. Empty: all.",
            group="Data Mapping",
        ),
        Key(
            name="field.include.list",
            kind=Kind.LIST,
            default=[],
            doc="Fields that are written, as field or topic:field.",
            importance="LOW",
            group="Data Mapping",
        ),
        Key(
            name="field.exclude.list",
            kind=Kind.LIST,
            default=[],
            doc="Fields that are not written, as field or topic:field.",
            importance="LOW",
            group="Data Mapping",
        ),
        Key(
            name="auto.create",
            kind=Kind.BOOLEAN,
            default=False,
            doc="Whether a table that is missing is made from the record's schema.",
            group="DDL Support",
        ),
        Key(
            name="auto.evolve",
            kind=Kind.BOOLEAN,
            default=False,
            doc="Whether columns that are missing are added.",
            group="DDL Support",
        ),
        Key(
            name="schema.evolution",
            kind=Kind.STRING,
            default="none",
            doc="basic: auto.create and auto.evolve at once.",
            group="DDL Support",
            validator=one_of("none", "basic"),
        ),
        Key(
            name="max.retries",
            kind=Kind.INT,
            default=10,
            doc="How often a batch is tried again before the task fails.",
            group="Retries",
            validator=at_least(0),
            aliases=("flush.max.retries",),
        ),
        Key(
            name="retry.backoff.ms",
            kind=Kind.INT,
            default=3000,
            doc="Time between two tries.",
            group="Retries",
            validator=at_least(0),
            aliases=("flush.retry.delay.ms",),
        ),
        Key(
            name="ottla.offsets.table",
            kind=Kind.STRING,
            default=OFFSETS_TABLE,
            importance="LOW",
            doc="Where the offset behind the rows is kept, in their transaction. Empty: nowhere,"
            " and rows may be written twice.",
            group="Writes",
        ),
    )
)
