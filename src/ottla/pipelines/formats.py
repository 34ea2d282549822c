"""Formats of keys and values, as an application names them. Decoding itself is in `decoding`."""

from ottla.pipelines.definitions import DefinitionError, Field, Format, here


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


def parse_schema(ddl: str) -> tuple[Field, ...]:
    import sqlglot
    from sqlglot import exp

    try:
        table = sqlglot.parse_one(f"CREATE TABLE t ({ddl})", dialect="spark")
        columns = table.this.expressions
        assert all(isinstance(column, exp.ColumnDef) and column.kind for column in columns)
    except (sqlglot.errors.SqlglotError, AssertionError, AttributeError) as error:
        raise DefinitionError(
            here(), f"{ddl!r} is no schema; write it like 'customer STRING, amount DOUBLE'."
        ) from error
    for column in columns:
        if column.name.startswith("_"):
            raise DefinitionError(
                here(), f"A field cannot be called {column.name}: names that begin with _ are ours."
            )
    return tuple(
        Field(
            column.name,
            column.kind.sql("spark"),
            any(isinstance(c.kind, exp.NotNullColumnConstraint) for c in column.constraints),
        )
        for column in columns
    )


def ddl(schema: tuple[Field, ...]) -> str:
    """The schema as Spark reads it. Required fields are checked by us, so that we can say which."""
    return ", ".join(f"`{field.name}` {field.type}" for field in schema)
