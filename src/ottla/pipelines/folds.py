"""The aggregates that sliding windows and tables know, taken apart: function and argument. Pure."""

from dataclasses import dataclass

from ottla.pipelines.definitions import DefinitionError, Where
from ottla.pipelines.expressions import parse

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
