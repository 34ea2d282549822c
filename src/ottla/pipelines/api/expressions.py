"""Checking SQL expressions against a schema before Spark starts.

Expressions are Spark SQL, as in `selectExpr`. Columns that do not exist and sentences that do not
parse are told with the line that wrote them; types are inferred where that is possible, and left
to Spark where it is not.
"""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ottla.pipelines.api.columns import NoText, sql_of
from ottla.pipelines.api.definitions import META, META_TYPES
from ottla.pipelines.formats.schema import Field, Schema
from ottla.pipelines.runtime.where import DefinitionError, Where

if TYPE_CHECKING:
    from pyspark.sql import Column
    from sqlglot import exp

UNKNOWN = ("UNKNOWN", "NULL", "")
WHOLE_NUMBERS = ("TINYINT", "SMALLINT", "INT", "BIGINT", "BYTE", "SHORT", "INTEGER", "LONG")
TIMES = ("TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ", "DATE")


@dataclass(frozen=True, slots=True)
class Expr:
    """An expression where plain text would be a name."""

    sql: str


if TYPE_CHECKING:
    # In SQL, as expr() marks it, or as pyspark writes it once Spark runs.
    Expression = str | Expr | Column


def expr(sql: str) -> Expr:
    """Mark SQL where plain text is a name: `to(expr("concat('orders-', country)"))`."""
    return Expr(sql)


def text_of(expression: "Expression", where: Where) -> str:
    """The expression as SQL: as it was written, or as Spark writes a pyspark Column."""
    if isinstance(expression, str):
        return expression
    if isinstance(expression, Expr):
        return expression.sql
    if getattr(expression, "_jc", None) is None:
        raise DefinitionError(
            where, f"{expression!r} is no expression: write it as text, like 'amount > 3'."
        )
    try:
        return sql_of(expression)
    except NoText as error:
        raise DefinitionError(
            where, f"SQL has no words for {error} in {expression}: use it in transform()."
        ) from None


def star(sql: str, schema: Schema, where: Where) -> list[str] | None:
    """The columns that `*` or `s.*` stands for; None for anything else."""
    from sqlglot import exp

    if sql.strip() == "*":
        return [f"`{field.name}`" for field in schema]
    if not sql.strip().endswith(".*"):
        return None
    inner = sql.strip()[:-2]
    found = type_of(inner, schema, where)
    type = exp.DataType.build(found, dialect="spark") if found else None
    if type is None or not type.is_type(exp.DataType.Type.STRUCT):
        told = f"it is {found}" if found else "only Spark can tell its type: name its fields"
        raise DefinitionError(where, f"{sql!r} takes the fields of a struct; {told}.")
    return [f"{inner}.`{field.name}`" for field in type.expressions]


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


def element_types(found: str | None, count: int) -> list[str | None]:
    """The types inside an array (one) or a map (two); None where only Spark can tell."""
    from sqlglot import exp

    inner = exp.DataType.build(found, dialect="spark").expressions if found else []
    names = [str(one.sql("spark")) for one in inner]
    return [*names] if len(names) == count else [None] * count


def name_of(sql: str, where: Where) -> str | None:
    """What the result is called: its alias, or the column it names."""
    from sqlglot import exp

    parsed = parse(sql, where)
    if isinstance(parsed, exp.Alias | exp.Column | exp.Dot):
        return parsed.alias_or_name
    return None


def without_alias(sql: str, where: Where) -> str:
    """The expression as it was written, up to its alias."""
    from sqlglot import exp, tokenize

    if not isinstance(parse(sql, where), exp.Alias):
        return sql
    tokens = tokenize(sql, dialect="spark")
    before = tokens[-2] if tokens[-2].text.upper() == "AS" else tokens[-1]
    return sql[: before.start].rstrip()


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
    if parsed.find(exp.Distinct) is not None:
        raise DefinitionError(
            where,
            f"{sql!r} would have to remember every value, which Spark does not do in a stream: "
            "take approx_count_distinct(x), or size(collect_set(x)) where there are few.",
        )
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
