"""`.df`: a point of an application as the user's own DataFrame."""

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ottla.pipelines.api.definitions import (
    STATEFUL,
    Application,
    Node,
    OnError,
    OutputMode,
    Plain,
    Source,
    StatefulPlain,
    StatefulTransform,
    Transform,
    walk,
)
from ottla.pipelines.formats.schema import Field, Schema
from ottla.pipelines.runtime.where import DefinitionError, Where

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pyspark.sql import DataFrame

# Operators in Spark's plan of a transform() that real-time mode does not run, and its reasons.
OBSTACLES = {
    "PythonUDF": "transform() calls a Python function",
    "MapIn": "transform() calls a Python function",
    "ArrowEval": "transform() calls a Python function",
    "FlatMapGroups": "transform() keeps state in Python",
    "TransformWithState": "transform() keeps state",
    "Join": "transform() joins",
    "DeduplicateWithinWatermark": "transform() drops duplicates within a time",
    "session_window": "session windows are not in it",
}
# Operators that treat each row by itself: a record that fails in them can be told from others.
BY_ROW = {
    "Project", "Filter", "Generate", "SubqueryAlias", "MapInPandas", "MapInArrow", "ResolvedHint",
}  # fmt: skip
STATE = ("Aggregate", "Join", "Deduplicate", "FlatMapGroups", "TransformWithState")


def frame_of(application: Application, node: Node) -> "DataFrame":
    """The node's columns and the columns that begin with `_`, as a streaming DataFrame."""
    from ottla.errors import OttlaError
    from ottla.pipelines.engine.build import Builder, good
    from ottla.pipelines.engine.choosing import start_spark
    from ottla.pipelines.engine.queries import Reading

    states = [at for at in walk(node) if isinstance(at, STATEFUL)]
    if len(states) > 1:
        raise OttlaError(
            f"{states[1].where}: .df cannot pass two operators with state; write the first to a "
            "topic with to() and read it again."
        )
    spark = start_spark(application)
    reading = Reading(spark, application)
    return good(Builder(spark, reading.stream, reading.now).frame(node))


@dataclass(frozen=True)
class Analysed:
    """A transform(), and what Spark's analysis says about how it treats rows."""

    node: Transform
    folding: str | None  # the operator that lets rows meet; None: each is treated by itself


def analysed(
    application: Application,
    node: Node,
    function: "Callable[[DataFrame], DataFrame]",
    where: Where,
) -> Analysed:
    """The function as a node, with what Spark's analysis says about what it gives."""
    given = frame_of(application, node)
    made = function(given)
    plan = made._jdf.queryExecution().analyzed().toString()
    found = next((words for name, words in OBSTACLES.items() if name in plan), None)
    kind = StatefulTransform if any(name in plan for name in STATE) else Transform
    transform = kind(
        where=where,
        schema=_fields(made),
        input=node,
        function=function,
        obstacle=found,
        output_mode=output_mode_of(made),
    )
    added = _operators(made) - _operators(given)
    return Analysed(transform, next((name for name in added if name not in BY_ROW), None))


def plain_node(frame: "DataFrame", reads: "Iterable[Source]", where: Where) -> Plain:
    """A frame of the user's own, to go on from."""
    plan = frame._jdf.queryExecution().analyzed().toString()
    kind = StatefulPlain if any(name in plan for name in STATE) else Plain
    return kind(
        where=where,
        schema=_fields(frame),
        frame=frame,
        reads=tuple(reads),
        output_mode=output_mode_of(frame),
    )


def _fields(frame: "DataFrame") -> Schema:
    columns = (column for column in frame.schema if not column.name.startswith("_"))
    return tuple(Field(one.name, one.dataType.simpleString().upper()) for one in columns)


def _operators(frame: "DataFrame") -> "Counter[str]":
    """The operators of Spark's analysed plan, by name."""
    found: Counter[str] = Counter()
    waiting = [frame._jdf.queryExecution().analyzed()]
    while waiting:
        plan = waiting.pop()
        found[plan.nodeName()] += 1
        children = plan.children()
        waiting += [children.apply(index) for index in range(children.size())]
    return found


def guarded(found: Analysed, asked: OnError | None, default: OnError) -> Transform:
    """The node with what becomes of a record it fails on, as far as such a record can be told.

    The application's default is for those that can be; who asks for it here must hear why not.
    """
    node = found.node
    chosen = asked or default
    if chosen == "fail":
        return node
    if found.folding is None and not isinstance(node, StatefulTransform):
        return replace(node, on_error=chosen)
    if asked is None:
        return node
    raise DefinitionError(
        node.where,
        f"on_error sets records aside that fail by themselves, and in this transform() rows meet "
        f"({found.folding or 'it keeps state'}): put what may fail into a transform() or map() of "
        "its own, before it.",
    )


def output_mode_of(frame: "DataFrame") -> OutputMode:
    """Updates for what folds rows together: without a watermark Spark has nothing to append."""
    plan = frame._jdf.queryExecution().analyzed().toString()
    return "update" if "Aggregate" in plan or "TransformWithState" in plan else "append"


def check_expressions(frame: "DataFrame", expressions: list[str], where: Where) -> None:
    """Let Spark say at once, with the user's line, what it cannot make of them."""
    from pyspark.errors import PySparkException

    from ottla.pipelines.engine.build import refusal

    for sql in expressions:
        try:
            frame.selectExpr(sql)
        except PySparkException as error:
            raise DefinitionError(where, refusal(error)) from error
