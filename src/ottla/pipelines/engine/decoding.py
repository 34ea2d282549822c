"""From records to rows, as SQL that both of Spark's engines run. Fields are decoded by `formats`.

`columns_of` adds to the usual columns those in `LETTER`: why a record does not decode (null when it
does), and the record as it came. Who carries dead letters keeps them, others drop bad rows.
"""

import uuid
from typing import TYPE_CHECKING

from ottla.pipelines.api.definitions import Source
from ottla.pipelines.formats import values

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TIMESTAMP_HEADER = "ottla.timestamp"
COORDINATES = ("ottla.topic", "ottla.partition", "ottla.offset")
DROPPED = "ottla_keyless"  # what Spark observes the rows under that `counting_dropped` counts
LATE = "ottla_late"  # and those that `counting_late` counts
LETTER = ("_reason", "_raw", "_raw_key", "_raw_time")
# What a row has that was made from many records: nothing that points at one of them.
NO_ORIGIN = (
    "cast(NULL AS array<struct<key: string, value: binary>>) AS _headers",
    "cast(NULL AS string) AS _topic",
    "cast(NULL AS int) AS _partition",
    "cast(NULL AS bigint) AS _offset",
    "false AS _deleted",
)


# What a processor answers with besides its fields when rows it fails on are dead letters.
LETTER_TYPES = (
    "_topic string, _partition int, _offset bigint, "
    "_reason string, _raw binary, _raw_key binary, _raw_time timestamp"
)
LETTER_ORIGIN = (NO_ORIGIN[0], "_topic", "_partition", "_offset", "false AS _deleted", *LETTER)


def columns_of(source: Source) -> list[str]:
    """Expressions over Kafka's columns and `_parsed`, each with its name."""
    read = source.value.read
    fields = [f"{read(field.name, 'value')} AS `{field.name}`" for field in source.schema]
    return [
        *fields,
        f"{source.key.read('key', 'key')} AS _key",
        f"{_timestamp(source)} AS _timestamp",
        "headers AS _headers",
        "topic AS _topic",
        "partition AS _partition",
        "offset AS _offset",
        f"{'value IS NULL' if source.is_table else 'false'} AS _deleted",
        f"{_reason(source)} AS _reason",
        "value AS _raw",
        "key AS _raw_key",
        "timestamp AS _raw_time",
    ]


def with_letter(frame: "DataFrame") -> "DataFrame":
    """The frame with what a dead letter needs; rows that came of no record give themselves."""
    if "_reason" in frame.columns:
        return frame
    names = [name for name in frame.columns if not name.startswith("_")]
    return frame.selectExpr(
        "*",
        "cast(NULL AS string) AS _reason",
        f"cast({values.json_of(frame.schema, names)} AS binary) AS _raw",
        "cast(_key AS binary) AS _raw_key",
        "_timestamp AS _raw_time",
    )


def counting_dropped(frame: "DataFrame", kept: str) -> "DataFrame":
    """The frame; Spark's progress tells how many of its rows do not meet the condition."""
    from pyspark.sql import functions as F

    name = f"{DROPPED}_{uuid.uuid4().hex[:8]}"  # two in a query need names of their own
    return frame.observe(name, F.expr(f"count_if(NOT ({kept})) AS {DROPPED}"))


def counting_late(frame: "DataFrame") -> "DataFrame":
    """The rows whose `_late` is null; the others only say how many rows were left out as late."""
    from pyspark.sql import functions as F

    name = f"{LATE}_{uuid.uuid4().hex[:8]}"
    told = frame.observe(name, F.expr(f"coalesce(sum(_late), 0L) AS {LATE}"))
    return told.where("_late IS NULL").drop("_late")


def header(name: str, expression: str) -> str:
    return f"struct('{name}' AS key, cast(cast({expression} AS string) AS binary) AS value)"


def _timestamp(source: Source) -> str:
    if source.internal is not None:
        sent = f"filter(headers, h -> h.key = '{TIMESTAMP_HEADER}')[0].value"
        return f"coalesce(timestamp_millis(cast(cast({sent} AS string) AS bigint)), timestamp)"
    if source.timestamp is None:
        return "timestamp"
    return f"coalesce({_over_fields(source, source.timestamp)}, timestamp)"


def _over_fields(source: Source, expression: str) -> str:
    """The user's expression, with its columns found where they are before they are named."""
    import sqlglot
    from sqlglot import exp

    names = {field.name for field in source.schema}
    tree = sqlglot.parse_one(expression, dialect="spark")
    for column in list(tree.find_all(exp.Column)):
        root = column.parts[0].name
        if root in names:
            inner = source.value.read(root, "value")
            rest = "".join(f".`{part.name}`" for part in column.parts[1:])
            column.replace(sqlglot.parse_one(inner + rest, dialect="spark"))
    return tree.sql("spark")


def _reason(source: Source) -> str:
    cases = [
        *source.key.reasons(
            "key", is_table=source.is_table
        ),  # it is as bad where there is no value
        *source.value.reasons("value", is_table=source.is_table),
    ]
    return f"CASE {' '.join(cases)} END" if cases else "cast(NULL AS string)"
