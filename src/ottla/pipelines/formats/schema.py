"""Columns of rows and their types, as an application names them in Spark's DDL."""

from dataclasses import dataclass

from ottla.pipelines.runtime.where import DefinitionError, here


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a row: its type is Spark's name for it, None when only Spark can tell."""

    name: str
    type: str | None
    required: bool = False


Schema = tuple[Field, ...]


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
