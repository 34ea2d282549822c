"""Records to columns and back, as SQL that both of Spark's engines run.

`columns_of` adds to the usual columns those in `LETTER`: why a record does not decode (null when it
does), and the record as it came. Who carries dead letters keeps them, others drop bad rows.
"""

import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ottla.pipelines.api.definitions import Source, Subscribe
from ottla.pipelines.formats import values
from ottla.pipelines.formats.schema import Field, Format, ddl

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

TIMESTAMP_HEADER = "ottla.timestamp"
ROW_HEADER = "ottla.row"  # the row itself, where JSON cannot hold it and a later stage reads it
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


def parsed_column(source: Source) -> str | None:
    """The expression that parses a JSON value once; None when the format needs no parsing."""
    if source.value.name != "json":
        return None
    schema = ddl(source.value.schema).replace("'", "\\'")
    parsing = (
        f"from_json(cast(value AS string), '{schema}, `_bad` string', "
        "map('mode', 'PERMISSIVE', 'columnNameOfCorruptRecord', '_bad'))"
    )
    return parsed_once(parsing)


def internal_column(source: Source, types: "Sequence[StructType]") -> str:
    """What an earlier stage wrote, as a struct. `types`: of this run, then of earlier ones."""
    type = types[0]
    if source.value.name == "row":
        row = values.struct_from_bytes("value", type, types[1:])
        json = _json_of_earlier_versions(source, type)
        return parsed_once(f"if(startswith(value, X'7B'), {json}, {row})" if json else row)
    if values.is_common(type):
        return parsed_once(values.struct_from_json("cast(value AS string)", type))
    sent = f"filter(headers, h -> h.key = '{ROW_HEADER}')[0].value"
    return parsed_once(values.struct_from_bytes(sent, type, types[1:]))


def _json_of_earlier_versions(source: Source, type: "StructType") -> str | None:
    """Intermediate topics were JSON once, and what was under way then is still to be read."""
    if not values.is_common(type):
        return None
    if not isinstance(source.internal, Subscribe):
        return values.struct_from_json("cast(value AS string)", type)
    # The left row of a foreign-key join was text inside it.
    said = (
        "from_json(cast(value AS string), 'pk string, row string, silent boolean, version bigint')"
    )
    row = f"from_json({said}.row, {values.quoted(values.ddl(type['row'].dataType))})"  # type: ignore[arg-type]
    return (
        f"named_struct('pk', {said}.pk, 'row', {row}, "
        f"'silent', {said}.silent, 'version', {said}.version)"
    )


def parsed_once(parsing: str) -> str:
    """The expression in a form that Spark evaluates once for each row.

    The optimizer copies a deterministic expression into every filter above it, and each copy would
    parse the record again. It leaves alone what may differ from one task to the next.
    """
    return f"if(spark_partition_id() >= 0, {parsing}, NULL)"


def columns_of(source: Source) -> list[str]:
    """Expressions over Kafka's columns and `_parsed`, each with its name."""
    fields = [f"{_field(source, field)} AS `{field.name}`" for field in source.schema]
    return [
        *fields,
        f"{_simple('key', source.key)} AS _key",
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


def encoded_value(format: Format, columns: list[str], types: "StructType") -> str:
    """The record's value from the row's columns."""
    if format.name == "row":
        return values.row_bytes(values.struct_of(columns))
    if format.name == "json":
        names = [field.name for field in format.schema] or columns
        return f"cast({values.json_of(types, names)} AS binary)"
    if format.name == "long":
        return f"unhex(lpad(hex(cast(`{format.column}` AS bigint)), 16, '0'))"
    return f"cast(`{format.column}` AS binary)"


def default_format(columns: list[str], types: dict[str, str]) -> Format:
    """JSON, but the bytes themselves of a lone column called value."""
    if columns == ["value"] and types["value"] in ("string", "binary"):
        return Format("bytes", (Field("value", "BINARY"),))
    return Format("json")


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


def _field(source: Source, field: Field) -> str:
    if source.value.name in ("json", "row"):
        return f"_parsed.`{field.name}`"
    return _simple("value", source.value)


def _simple(column: str, format: Format) -> str:
    if format.name == "string":
        return f"cast({column} AS string)"
    if format.name == "long":
        return f"cast(conv(hex({column}), 16, -10) AS bigint)"
    return column


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
            inner = _field(source, Field(root, None))
            rest = "".join(f".`{part.name}`" for part in column.parts[1:])
            column.replace(sqlglot.parse_one(inner + rest, dialect="spark"))
    return tree.sql("spark")


def _reason(source: Source) -> str:
    cases = []
    if source.key.name == "long":  # first: it is as bad where there is no value
        cases.append("WHEN length(key) <> 8 THEN 'the key is not eight bytes'")
    required = [field.name for field in source.value.schema if field.required]
    if source.value.name == "json" and source.internal is None:
        if source.is_table:
            cases.append("WHEN value IS NULL THEN NULL")
        elif required:
            cases.append("WHEN value IS NULL THEN 'the record has no value'")
        bad = "value IS NOT NULL AND (_parsed IS NULL OR _parsed._bad IS NOT NULL)"
        cases += [
            f"WHEN {bad} AND {_is_wrong(field)} THEN 'the field {field.name} is no {field.type}'"
            for field in source.value.schema
            if "'" not in field.name
        ]
        cases.append(f"WHEN {bad} THEN 'the value is not JSON of the schema'")
        cases.append("WHEN NOT ottla_is_all_json(value) THEN 'there is more behind the JSON'")
        cases += [
            f"WHEN _parsed.`{name}` IS NULL THEN 'the field {name} is missing'" for name in required
        ]
    if source.value.name == "long":
        cases.append("WHEN length(value) <> 8 THEN 'the value is not eight bytes'")
    return f"CASE {' '.join(cases)} END" if cases else "cast(NULL AS string)"


def _is_wrong(field: Field) -> str:
    """Whether a record that is JSON, but not of the schema, has something else in this field."""
    found = f"get_json_object(cast(value AS string), '$[\\'{field.name}\\']')"
    return f"_parsed.`{field.name}` IS NULL AND {found} IS NOT NULL"
