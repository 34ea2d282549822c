"""Formats of keys and values, as an application names them. Decoding itself is in `decoding`."""

from ottla.pipelines.formats.schema import Field, Format, parse_schema


def json(schema: str = "") -> Format:
    """An object per record. The schema is Spark's DDL: `"customer STRING NOT NULL, amount DOUBLE"`.

    A record that is no such object, or lacks a field marked NOT NULL, goes to the dead letters.
    For writing, the schema may be left out: all columns are written.
    """
    return Format("json", parse_schema(schema) if schema else ())


def string(column: str = "value") -> Format:
    """UTF-8 text, in one column."""
    return Format("string", (Field(column, "STRING"),), column)


def bytes(column: str = "value") -> Format:
    """The bytes as they are, in one column."""
    return Format("bytes", (Field(column, "BINARY"),), column)


def long(column: str = "value") -> Format:
    """Eight bytes, big end first, as Kafka's LongSerializer writes them."""
    return Format("long", (Field(column, "BIGINT"),), column)
