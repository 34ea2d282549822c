"""`.df`: a point of an application as the user's own DataFrame."""

import os
from typing import TYPE_CHECKING

from ottla.pipelines.definitions import STATEFUL, Application, Node, OutputMode, walk

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def frame_of(application: Application, node: Node) -> "DataFrame":
    """The node's columns and the columns that begin with `_`, as a streaming DataFrame."""
    from ottla.errors import OttlaError
    from ottla.pipelines.build import Builder
    from ottla.pipelines.queries import Reading
    from ottla.pipelines.spark import LOCAL_MASTER, SparkSettings, session

    states = [at for at in walk(node) if isinstance(at, STATEFUL)]
    if len(states) > 1:
        raise OttlaError(
            f"{states[1].where}: .df cannot pass two operators with state; write the first to a "
            "topic with to() and read it again."
        )
    settings = SparkSettings(
        name=application.name,
        master=os.environ.get("OTTLA_MASTER", LOCAL_MASTER),
        parallelism=application.parallelism,
    )
    spark = session(settings)
    reading = Reading(spark, application)
    return Builder(spark, reading.stream, reading.now).frame(node)


def output_mode_of(frame: "DataFrame") -> OutputMode:
    """Updates for what folds rows together: without a watermark Spark has nothing to append."""
    plan = frame._jdf.queryExecution().analyzed().toString()
    return "update" if "Aggregate" in plan or "TransformWithState" in plan else "append"
