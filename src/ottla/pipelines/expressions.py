"""Checking SQL expressions against a schema before Spark starts.

Expressions are Spark SQL, as in `selectExpr`. Columns that do not exist and sentences that do not
parse are told with the line that wrote them; types are inferred where that is possible, and left
to Spark where it is not.
"""

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ottla.pipelines.definitions import (
    META,
    META_TYPES,
    DefinitionError,
    Field,
    Schema,
    Where,
)

if TYPE_CHECKING:
    from sqlglot import exp

UNKNOWN = ("UNKNOWN", "NULL", "")
WHOLE_NUMBERS = ("TINYINT", "SMALLINT", "INT", "BIGINT", "BYTE", "SHORT", "INTEGER", "LONG")
TIMES = ("TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ", "DATE")


def parse(sql: str, where: Where) -> "exp.Expression":
    """One expression, with its alias if it has one."""
    import sqlglot

    try:
        select = sqlglot.parse_one(f"SELECT {sql}", dialect="spark")
    except sqlglot.errors.SqlglotError as error:
        raise DefinitionError(where, f"{sql!r} is no SQL expression.") from error
    expressions = select.args.get("expressions") or []
    extras = [name for name, value in select.args.items() if value and name != "expressions"]
    if len(expressions) != 1 or extras:
        raise DefinitionError(where, f"{sql!r} is not one SQL expression.")
    found: exp.Expression = expressions[0]
    return found


def type_of(sql: str, schema: Schema, where: Where) -> str | None:
    """The expression's type, None when only Spark can tell. Unknown columns are an error."""
    from sqlglot import exp, parse_one
    from sqlglot.errors import SqlglotError
    from sqlglot.optimizer.annotate_types import annotate_types
    from sqlglot.optimizer.qualify import qualify

    parsed = parse(sql, where)
    known = {field.name: field.type for field in schema} | dict(META_TYPES)
    for column in parsed.find_all(exp.Column):
        root = column.parts[0].name
        if root not in known and root.lower() not in {name.lower() for name in known}:
            raise DefinitionError(where, _unknown(root, schema, sql))
    columns = {name: type_ for name, type_ in known.items() if type_ is not None}
    try:
        select = parse_one(f"SELECT {sql} FROM t", dialect="spark")
        qualified = qualify(
            select, schema={"t": columns}, dialect="spark", validate_qualify_columns=False
        )
        annotated = annotate_types(qualified, schema={"t": columns}, dialect="spark")
        found = annotated.expressions[0].type
    except SqlglotError:
        return None
    name = found.sql("spark") if found is not None else ""
    return None if name in UNKNOWN else name


def name_of(sql: str, where: Where) -> str | None:
    """What the result is called: its alias, or the column it names."""
    from sqlglot import exp

    parsed = parse(sql, where)
    if isinstance(parsed, exp.Alias | exp.Column | exp.Dot):
        return parsed.alias_or_name
    return None


def without_alias(sql: str, where: Where) -> str:
    from sqlglot import exp

    parsed = parse(sql, where)
    return parsed.this.sql("spark") if isinstance(parsed, exp.Alias) else sql


def check_columns(names: Iterable[str], schema: Schema, where: Where) -> None:
    known = {field.name for field in schema} | set(META)
    for name in names:
        if name not in known:
            raise DefinitionError(where, _unknown(name, schema, None))


def check_type(sql: str, types: Iterable[str], wanted: str, schema: Schema, where: Where) -> None:
    """Refuse an expression of another type; one whose type only Spark can tell passes."""
    found = type_of(sql, schema, where)
    if found is not None and found not in types:
        raise DefinitionError(where, f"{sql!r} is {found}, not {wanted}.")


def check_condition(sql: str, schema: Schema, where: Where) -> None:
    check_type(sql, ("BOOLEAN",), "a condition", schema, where)


def is_aggregate(sql: str, where: Where) -> bool:
    """Whether it folds rows; functions that the parser does not know are left to Spark."""
    from sqlglot import exp

    parsed = parse(sql, where)
    return any(parsed.find_all(exp.AggFunc, exp.Anonymous))


def typed(name: str, sql: str, schema: Schema, where: Where) -> Field:
    if name.startswith("_"):
        raise DefinitionError(where, f"A column cannot be called {name}: names with _ are ours.")
    return Field(name, type_of(sql, schema, where))


def _unknown(name: str, schema: Schema, sql: str | None) -> str:
    names = [field.name for field in schema]
    near = difflib.get_close_matches(name, names, n=1)
    inside = f" in {sql!r}" if sql and sql != name else ""
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(names) or 'none'}."
    return f"there is no column {name}{inside}: {hint}"
