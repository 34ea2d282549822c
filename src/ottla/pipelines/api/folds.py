"""The aggregates that sliding windows and tables know, taken apart: function and argument. Pure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ottla.pipelines.api.expressions import parse, type_of
from ottla.pipelines.formats.schema import Schema
from ottla.pipelines.runtime.where import DefinitionError, Where

WIDEST = 18  # digits of a decimal: sums have ten more, and must not reach Spark's 38
KNOWN = "count, sum, min, max, avg and collect_list"


@dataclass(frozen=True, slots=True)
class Fold:
    function: str
    argument: str


def parse_fold(sql: str, where: Where) -> Fold:
    """`sum(price * quantity)` as its function and the expression each row contributes."""
    from sqlglot import exp

    tree = parse(sql, where)
    names: dict[type[exp.Expression], str] = {
        exp.Count: "count",
        exp.Sum: "sum",
        exp.Min: "min",
        exp.Max: "max",
        exp.Avg: "avg",
        exp.ArrayAgg: "collect_list",
    }
    function = names.get(type(tree))
    argument = tree.this
    if function is None or isinstance(argument, exp.Distinct):
        raise DefinitionError(where, f"{sql!r} cannot be folded here: there are {KNOWN}.")
    if function == "count" and isinstance(argument, exp.Star):
        return Fold("count_all", "1")
    return Fold(function, argument.sql("spark"))


def subtracts(folds: Iterable[tuple[str, str]], schema: Schema, where: Where) -> bool:
    """Whether a row's part can be taken out of each result again, to the last digit.

    So it is with whole numbers and decimals that are not too wide. Not with floating point, where
    what was added does not come out again, nor with what must look at the other rows (min, max).
    """
    return all(_subtracts(parse_fold(sql, where), schema, where) for _, sql in folds)


def _subtracts(fold: Fold, schema: Schema, where: Where) -> bool:
    if fold.function in ("count_all", "count"):
        return True
    type = (type_of(fold.argument, schema, where) or "").upper()
    if fold.function == "sum" and type == "BIGINT":
        return True  # an average of those is computed in floating point
    if fold.function not in ("sum", "avg"):
        return False
    if found := re.fullmatch(r"DECIMAL\((\d+)(?:, *(\d+))?\)", type):
        return int(found[1]) <= WIDEST
    return type in ("TINYINT", "SMALLINT", "INT")
