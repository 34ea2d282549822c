"""`.df`: a point of an application as the user's own DataFrame."""

from typing import TYPE_CHECKING

from ottla.pipelines.definitions import (
    STATEFUL,
    Application,
    DefinitionError,
    Field,
    Node,
    OutputMode,
    StatefulTransform,
    Transform,
    Where,
    walk,
)

if TYPE_CHECKING:
    from collections.abc import Callable

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
STATE = ("Aggregate", "Join", "Deduplicate", "FlatMapGroups", "TransformWithState")


def frame_of(application: Application, node: Node) -> "DataFrame":
    """The node's columns and the columns that begin with `_`, as a streaming DataFrame."""
    from ottla.errors import OttlaError
    from ottla.pipelines.build import Builder, good
    from ottla.pipelines.choosing import start_spark
    from ottla.pipelines.queries import Reading

    states = [at for at in walk(node) if isinstance(at, STATEFUL)]
    if len(states) > 1:
        raise OttlaError(
            f"{states[1].where}: .df cannot pass two operators with state; write the first to a "
            "topic with to() and read it again."
        )
    spark = start_spark(application)
    reading = Reading(spark, application)
    return good(Builder(spark, reading.stream, reading.now).frame(node))


def analysed(
    application: Application,
    node: Node,
    function: "Callable[[DataFrame], DataFrame]",
    where: Where,
) -> Transform:
    """The function as a node, with what Spark's analysis says about what it gives."""
    made = function(frame_of(application, node))
    plan = made._jdf.queryExecution().analyzed().toString()
    found = next((words for name, words in OBSTACLES.items() if name in plan), None)
    kind = StatefulTransform if any(name in plan for name in STATE) else Transform
    fields = (f for f in made.schema if not f.name.startswith("_"))
    return kind(
        where=where,
        schema=tuple(Field(f.name, f.dataType.simpleString().upper()) for f in fields),
        input=node,
        function=function,
        obstacle=found,
        output_mode=output_mode_of(made),
    )


def output_mode_of(frame: "DataFrame") -> OutputMode:
    """Updates for what folds rows together: without a watermark Spark has nothing to append."""
    plan = frame._jdf.queryExecution().analyzed().toString()
    return "update" if "Aggregate" in plan or "TransformWithState" in plan else "append"


def check_expressions(frame: "DataFrame", expressions: list[str], where: Where) -> None:
    """Let Spark say at once, with the user's line, what it cannot make of them."""
    from pyspark.errors import PySparkException

    from ottla.pipelines.build import refusal

    for sql in expressions:
        try:
            frame.selectExpr(sql)
        except PySparkException as error:
            raise DefinitionError(where, refusal(error)) from error
