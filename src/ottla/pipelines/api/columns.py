"""A pyspark Column as SQL text.

Spark's own text of one is for messages: it writes operators as functions, forgets DISTINCT, and a
double looks like a decimal. Here every node is written as the parser would read it.
"""

import math
from collections.abc import Callable
from typing import Any

INFIX = {"=", "==", "<=>", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "&", "|", "^"}
WORDS = {"and", "or"}


class NoText(Exception):
    """The column holds something that SQL has no words for."""


def sql_of(column: Any) -> str:
    """The SQL of a pyspark Column."""
    return _sql(column._jc.node())


def _sql(node: Any) -> str:
    kind = node.getClass().getSimpleName()
    if kind not in _KINDS:
        raise NoText(kind)
    return _KINDS[kind](node)


def _function(node: Any) -> str:
    name: str = node.functionName()
    arguments = [_sql(argument) for argument in _each(node.arguments())]
    if len(arguments) == 2 and (name in INFIX or name in WORDS):
        return f"({arguments[0]} {name} {arguments[1]})"
    if name in ("!", "not"):
        return f"(NOT {arguments[0]})"
    if name == "in":
        return f"({arguments[0]} IN ({', '.join(arguments[1:])}))"
    if not name.replace("_", "").isalnum():
        raise NoText(name)
    return f"{name}({'DISTINCT ' if node.isDistinct() else ''}{', '.join(arguments)})"


def _literal(node: Any) -> str:
    value = node.value()
    if not isinstance(value, float):
        text: str = node.sql()
        return text
    return f"{value!r}D" if math.isfinite(value) else f"double('{value}')"


def _attribute(node: Any) -> str:
    return ".".join(_quoted(part) for part in _each(node.nameParts()))


def _alias(node: Any) -> str:
    [name] = _each(node.name())
    return f"{_sql(node.child())} AS {_quoted(name)}"


def _cast(node: Any) -> str:
    word = "TRY_CAST" if node.sql().startswith("TRY_CAST") else "CAST"
    return f"{word}({_sql(node.child())} AS {node.dataType().sql()})"


def _case(node: Any) -> str:
    branches = [
        f"WHEN {_sql(branch._1())} THEN {_sql(branch._2())}" for branch in _each(node.branches())
    ]
    otherwise = node.otherwise()
    rest = f" ELSE {_sql(otherwise.get())}" if otherwise.isDefined() else ""
    return f"CASE {' '.join(branches)}{rest} END"


def _lambda(node: Any) -> str:
    names = [argument.name() for argument in _each(node.arguments())]
    taken = names[0] if len(names) == 1 else f"({', '.join(names)})"
    return f"{taken} -> {_sql(node.function())}"


def _text(node: Any) -> str:
    text: str = node.sql()
    return text


_KINDS: dict[str, Callable[[Any], str]] = {
    "UnresolvedFunction": _function,
    "Literal": _literal,
    "UnresolvedAttribute": _attribute,
    "UnresolvedStar": _text,
    "Alias": _alias,
    "Cast": _cast,
    "CaseWhenOtherwise": _case,
    "UnresolvedExtractValue": lambda node: f"{_sql(node.child())}[{_sql(node.extraction())}]",
    "SqlExpression": lambda node: f"({node.expression()})",
    "LambdaFunction": _lambda,
    "UnresolvedNamedLambdaVariable": lambda node: str(node.name()),
}


def _each(seq: Any) -> list[Any]:
    return [seq.apply(place) for place in range(seq.size())]


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
