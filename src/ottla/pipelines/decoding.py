"""Records to columns and back, as SQL that both of Spark's engines run.

`columns_of` adds `_reason` (why a record does not decode, null when it does) and `_raw` (its value)
to the usual columns; who carries dead letters keeps them, everybody else drops bad rows.
"""

from ottla.pipelines.definitions import Field, Format, Source
from ottla.pipelines.formats import ddl

TIMESTAMP_HEADER = "ottla.timestamp"
COORDINATES = ("ottla.topic", "ottla.partition", "ottla.offset")
# What a row has that was made from many records: nothing that points at one of them.
NO_ORIGIN = (
    "cast(NULL AS array<struct<key: string, value: binary>>) AS _headers",
    "cast(NULL AS string) AS _topic",
    "cast(NULL AS int) AS _partition",
    "cast(NULL AS bigint) AS _offset",
    "false AS _deleted",
)


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
    ]


def encoded_value(format: Format, columns: list[str]) -> str:
    """The record's value from the row's columns."""
    if format.name == "json":
        names = [field.name for field in format.schema] or columns
        chosen = ", ".join(f"`{name}`" for name in names)
        return f"cast(to_json(struct({chosen}), map('ignoreNullFields', 'false')) AS binary)"
    if format.name == "long":
        return f"unhex(lpad(hex(cast(`{format.column}` AS bigint)), 16, '0'))"
    return f"cast(`{format.column}` AS binary)"


def default_format(columns: list[str], types: dict[str, str]) -> Format:
    """JSON, but the bytes themselves of a lone column called value."""
    if columns == ["value"] and types["value"] in ("string", "binary"):
        return Format("bytes", (Field("value", "BINARY"),))
    return Format("json")


def header(name: str, expression: str) -> str:
    return f"struct('{name}' AS key, cast(cast({expression} AS string) AS binary) AS value)"


def _field(source: Source, field: Field) -> str:
    if source.value.name == "json":
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
    if source.value.name == "json":
        if source.is_table:
            cases.append("WHEN value IS NULL THEN NULL")
        elif required:
            cases.append("WHEN value IS NULL THEN 'the record has no value'")
        cases.append(
            "WHEN value IS NOT NULL AND (_parsed IS NULL OR _parsed._bad IS NOT NULL) "
            "THEN 'the value is not JSON of the schema'"
        )
        cases += [
            f"WHEN _parsed.`{name}` IS NULL THEN 'the field {name} is missing'" for name in required
        ]
    if source.value.name == "long":
        cases.append("WHEN length(value) <> 8 THEN 'the value is not eight bytes'")
    return f"CASE {' '.join(cases)} END" if cases else "cast(NULL AS string)"
