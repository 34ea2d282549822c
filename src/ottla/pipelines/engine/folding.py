"""The frames around the classes in `python_folds`: rows in, results by group and window out."""

from typing import TYPE_CHECKING

from ottla.pipelines.api.definitions import Aggregate, PythonAggregate, Window
from ottla.pipelines.api.windows import interval
from ottla.pipelines.engine.decoding import counting_late
from ottla.pipelines.engine.python_folds import Folding, GroupFolder, GrowingSessions, SessionFolder
from ottla.pipelines.engine.stateful import TIME, folded
from ottla.pipelines.formats import values

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

PLACE = (TIME, "_partition", "_offset")
WINDOW = "struct(timestamp_millis(_start) AS start, timestamp_millis(_end) AS end) AS _window"


def python_aggregate(node: PythonAggregate, frame: "DataFrame") -> "DataFrame":
    """The user's functions over the rows of each group and window."""
    from pyspark.sql.types import StructType

    names = [field.name for field in node.input.schema]
    gives = [name for name, _ in node.aggregates]
    if node.zero is None:  # reduce: as its rows are
        made = StructType([frame.schema[name] for name in gives])
        types = values.ddl(made)
    else:
        types = ", ".join(f"{values.name(name)} {type}" for name, type in node.aggregates)
    call = "reduce" if node.zero is None else "aggregate"
    folding = Folding(call, node.zero, node.function, node.merge, names, gives)
    group, group_type = _group(node, frame)
    columns = [f"{group} AS _g", *map(values.name, names), *PLACE]
    window = node.window
    mode = "Append" if node.final else "Update"
    answer = "_g string, _start bigint, _end bigint, _time bigint"
    if window is not None and window.kind == "session":
        timed = frame.withWatermark("_timestamp", interval(window.grace_ms)).selectExpr(*columns)
        folder = SessionFolder(folding, types, window.size_ms, growing=not node.final)
        told = timed.groupBy("_g").transformWithState(
            folder, f"{answer}, _gone boolean, {types}, _late bigint", mode, "EventTime"
        )
    else:
        windowed = _windowed(window, frame).selectExpr(*columns, "_start", "_end")
        told = windowed.groupBy("_g", "_start", "_end").transformWithState(
            GroupFolder(folding, types, final=node.final),
            f"{answer}, {types}, _late bigint",
            mode,
            "None" if window is None else "EventTime",
        ).selectExpr("*", "false AS _gone")  # fmt: skip
    fields = [values.name(name) for name in gives]
    return _results(node, counting_late(told), group_type, fields)


def growing_sessions(node: Aggregate, frame: "DataFrame") -> "DataFrame":
    """Spark's aggregates over sessions, told again whenever one changes."""
    from pyspark.sql.types import StructType

    assert node.window is not None
    group, group_type = _group(node, frame)
    names = [name for name in frame.columns if not name.startswith("_")]
    row = StructType([frame.schema[name] for name in names])
    timed = frame.withWatermark("_timestamp", interval(node.window.grace_ms)).selectExpr(
        f"{group} AS _g", f"{values.row_text(values.struct_of(names))} AS _row", *PLACE
    )
    made = timed.groupBy("_g").transformWithState(
        GrowingSessions(node.window.size_ms),
        "_g string, _rows array<string>, _start bigint, _end bigint, _time bigint, _gone boolean, "
        "_late bigint",
        "Update",
        "EventTime",
    )
    made = counting_late(made)
    inside = f"transform(_rows, one -> {values.struct_from_text('one', row)}) AS _rows"
    told = folded(made.selectExpr("_g", inside, "_start", "_end", "_time", "_gone"), row,
                  list(node.aggregates))  # fmt: skip
    return _results(node, told, group_type, ["_result.*"])


def _windowed(window: Window | None, frame: "DataFrame") -> "DataFrame":
    """A row for each window that it falls into, with its ends in milliseconds."""
    from pyspark.sql import functions as F

    from ottla.pipelines.engine.build import with_zoned_windows

    if window is None:
        return frame.selectExpr(
            "*", "cast(NULL AS bigint) AS _start", "cast(NULL AS bigint) AS _end"
        )
    timed = frame.withWatermark("_timestamp", interval(window.grace_ms))
    if window.time_zone is not None:
        timed = with_zoned_windows(window, timed)
    else:
        spans = (interval(ms) for ms in (window.size_ms, window.every_ms, window.offset_ms))
        timed = timed.withColumn("_window", F.window("_timestamp", *spans))
    ends = ("unix_millis(_window.start) AS _start", "unix_millis(_window.end) AS _end")
    return timed.selectExpr("*", *ends)


def _group(node: Aggregate, frame: "DataFrame") -> "tuple[str, StructType]":
    """The group as text, and the type to read it with."""
    from pyspark.sql.types import StructType

    type = StructType([frame.schema[key] for key in node.keys])
    return values.row_text(values.struct_of(node.keys)), type


def _results(
    node: Aggregate, told: "DataFrame", group: "StructType", fields: list[str]
) -> "DataFrame":
    from ottla.pipelines.engine.build import aggregate_columns

    whole = told.selectExpr(
        f"{values.struct_from_text('_g', group)} AS _g", *_unstarred(fields),
        *([WINDOW] if node.window is not None else []),
        "timestamp_millis(_time) AS _latest", "_gone",
    ).selectExpr("_g.*", *fields, *(["_window"] if node.window is not None else []),
                 "_latest", "_gone")  # fmt: skip
    *columns, _ = aggregate_columns(node, whole.schema)
    return whole.selectExpr(*columns, "_gone AS _deleted")


def _unstarred(fields: list[str]) -> list[str]:
    return [field.removesuffix(".*") for field in fields]
