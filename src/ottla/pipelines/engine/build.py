"""A stage's nodes as a streaming DataFrame. Joins and Python state are in `joins` and `stateful`.

Every frame here has the node's columns and the columns in `META`, and those in `LETTER` where
the stage carries dead letters along. An error that Spark finds is told with the node's line.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from ottla.pipelines.api.definitions import (
    META,
    Aggregate,
    Changes,
    Deduplicate,
    Explode,
    Filter,
    ForeignKeyJoin,
    GlobalJoin,
    Merge,
    Node,
    Plain,
    Process,
    Project,
    PythonAggregate,
    PythonMap,
    Rekey,
    Source,
    StreamJoin,
    Subscribe,
    TableAggregate,
    TableJoin,
    Transform,
    Window,
    walk,
)
from ottla.pipelines.api.windows import interval
from ottla.pipelines.engine import folding, joins, stateful, zoned
from ottla.pipelines.engine.decoding import (
    LETTER,
    NO_ORIGIN,
    columns_of,
    counting_dropped,
    with_letter,
)
from ottla.pipelines.formats import values
from ottla.pipelines.planning.signatures import signature
from ottla.pipelines.planning.stages import buries
from ottla.pipelines.runtime.where import DefinitionError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType


WATERMARK_DELAY = "spark.watermarkDelayMs"  # Spark's own mark of a column of event time


@dataclass
class Builder:
    """Builds the frames of one stage. `read` opens a topic; tests and replays pass their own."""

    spark: "SparkSession"
    read: Callable[[Source], DataFrame]
    read_now: Callable[[Source], DataFrame]  # a topic as it is, for global tables
    dead: frozenset[str] = frozenset()  # topics whose bad rows travel along
    letters: bool = False  # whether rows may be bad at all, and carry what a dead letter needs
    resolved: "Mapping[str, Sequence[StructType]]" = field(default_factory=dict)  # of what stages
    # write: of this run, then of earlier ones
    frames: dict[Node, DataFrame] = field(default_factory=dict)
    told: frozenset[str] = frozenset()  # what has told of its bad rows in another branch

    def frame(self, node: Node) -> DataFrame:
        if node not in self.frames:
            try:
                self.frames[node] = self._make(node)
            except PySparkException as error:
                raise DefinitionError(node.where, refusal(error)) from error
        return self.frames[node]

    def _make(self, node: Node) -> DataFrame:
        match node:
            case Source():
                return self.source(node)
            case Plain(frame=frame):
                return self._plain(frame)
            case Filter():
                return self._filter(node)
            case Project():
                return self._project(node)
            case Explode():
                return self._explode(node)
            case PythonMap():
                return self._once(node, stateful.python_map(node, self.frame(node.input)))
            case Transform(function=function):
                return self._plain(function(good(self.frame(node.input))))
            case Deduplicate():
                return self._deduplicate(node)
            case Rekey(expression=expression):
                key = f"cast({expression} AS string)"
                return all_but(self.frame(node.input), node, "_key", key)
            case Changes(is_table=is_table):
                frame = self.frame(node.input)
                return frame if is_table else frame.where(unless_bad(frame, "NOT _deleted"))
            case Merge(parts=parts):
                return self._merge(parts)
            case TableAggregate():
                return stateful.table_aggregate(node, self.frame(node.input))
            case Aggregate():
                return self._aggregate(node)
            case StreamJoin():
                return joins.stream_join(
                    node, good(self.frame(node.left)), good(self.frame(node.right))
                )
            case GlobalJoin():
                assert isinstance(node.right, Source)
                right = self.source(node.right, now=True)
                return joins.global_join(node, self.frame(node.left), right)
            case TableJoin():
                return joins.table_join(
                    node, good(self.frame(node.left)), good(self.frame(node.right))
                )
            case Subscribe():
                return stateful.subscribe(node, good(self.frame(node.input)))
            case ForeignKeyJoin():
                return stateful.foreign_key_join(
                    node, good(self.frame(node.left)), good(self.frame(node.right))
                )
            case Process():
                return stateful.process(node, self.frame(node.input))
        raise AssertionError(f"no way to build {type(node).__name__}")

    def source(self, node: Source, *, now: bool = False) -> DataFrame:
        raw = self.read_now(node) if now else self.read(node)
        node.value.prepare(self.spark)
        types = self.resolved[node.topic] if node.internal is not None else ()
        if (parsed := node.value.parsed(types)) is not None:
            raw = raw.selectExpr("*", f"{parsed} AS _parsed")
        node.key.prepare(self.spark)
        if (parsed := node.key.parsed_key()) is not None:
            raw = raw.selectExpr("*", f"{parsed} AS _parsed_key")
        frame = raw.selectExpr(*columns_of(node))
        if node.topic in self.dead:
            return frame
        if self.letters:
            return frame.where("_reason IS NULL")
        return frame.where("_reason IS NULL").drop(*LETTER)

    def _plain(self, frame: DataFrame) -> DataFrame:
        """A frame of the user's own gets the columns it lacks."""
        have = set(frame.columns)
        defaults = {
            "_key": "cast(NULL AS string)",
            "_timestamp": "current_timestamp()",
            "_headers": "cast(NULL AS array<struct<key: string, value: binary>>)",
            "_topic": "cast(NULL AS string)",
            "_partition": "cast(NULL AS int)",
            "_offset": "cast(NULL AS bigint)",
            "_deleted": "false",
        }
        missing = [f"{sql} AS {name}" for name, sql in defaults.items() if name not in have]
        return frame.selectExpr("*", *missing)

    def _filter(self, node: Filter) -> DataFrame:
        frame = self.frame(node.input)
        if node.is_table:
            gone = f"_deleted OR NOT coalesce({node.condition}, false)"
            return all_but(frame, node, "_deleted", gone)
        return frame.where(unless_bad(frame, f"({node.condition})"))

    def _project(self, node: Project) -> DataFrame:
        columns = [f"{sql} AS `{name}`" for name, sql in node.columns]
        frame = self.frame(node.input)
        return frame.selectExpr(*columns, *carried(frame))

    def _explode(self, node: Explode) -> DataFrame:
        kept = [f"`{f.name}`" for f in node.input.schema if f.name not in (node.name, node.key)]
        many = node.expression
        frame = self.frame(node.input)
        if is_carrying(frame):  # a bad row has nothing to explode, and must pass once
            one = "array(NULL)" if node.key is None else "map('', NULL)"
            if node.key is not None:
                kind = frame.selectExpr(many).schema[0].dataType.simpleString()
                one = f"cast(map('0', NULL) AS {kind})"
            many = f"if(_reason IS NULL, {many}, {one})"
        names = [values.name(name) for name in (node.key, node.name) if name is not None]
        made = f"{'explode_outer' if node.outer else 'explode'}({many}) AS ({', '.join(names)})"
        return frame.selectExpr(*kept, made, *carried(frame))

    def _deduplicate(self, node: Deduplicate) -> DataFrame:
        frame = good(self.frame(node.input))
        if node.within_ms is None:
            return frame.dropDuplicates(list(node.on))
        timed = frame.withWatermark("_timestamp", interval(node.within_ms))
        return timed.dropDuplicatesWithinWatermark(list(node.on))

    def _merge(self, parts: tuple[Node, ...]) -> DataFrame:
        """Each part reads its topics by itself: real-time mode refuses to meet a source twice.

        Where branches of one stream come together again, the first tells of its bad rows.
        """
        names = [f"`{field.name}`" for field in parts[0].schema]
        frames = []
        dead, told = self.dead, self.told
        for part in parts:
            frames.append(replace(self, frames={}, dead=dead, told=told).frame(part))
            dead -= {at.topic for at in walk(part) if isinstance(at, Source)}
            told |= {identity(at) for at in walk(part) if buries(at)}
        columns = [*names, *(LETTER if any(map(is_carrying, frames)) else ()), *META]
        whole = [frame.selectExpr(*columns) for frame in map(with_letter, frames)]
        return reduce(DataFrame.unionByName, whole)

    def _once(self, node: Node, frame: DataFrame) -> DataFrame:
        """The node's rows, without the bad ones where another branch has them."""
        if identity(node) in self.told and is_carrying(frame):
            return frame.where("_reason IS NULL")
        return frame

    def _aggregate(self, node: Aggregate) -> DataFrame:
        from pyspark.sql import functions as F

        frame = good(self.frame(node.input))
        whole = " AND ".join(f"{values.name(key)} IS NOT NULL" for key in node.keys)
        frame = counting_dropped(frame, whole).where(whole)
        window = node.window
        if isinstance(node, PythonAggregate):
            return folding.python_aggregate(node, frame)
        if window is not None and window.kind == "sliding":
            return stateful.sliding(node, frame)
        if window is not None and window.growing and not node.final:
            return folding.growing_sessions(node, frame)
        folds = [F.expr(f"{sql} AS `{name}`") for name, sql in node.aggregates]
        folds.append(F.expr("max(_timestamp) AS _latest"))
        keys: list[Any] = [F.col(f"`{name}`") for name in node.keys]
        if window is not None:
            frame = frame.withWatermark("_timestamp", interval(window.grace_ms))
            size = interval(window.size_ms)
            if window.time_zone is not None:
                frame = with_zoned_windows(window, frame)
                keys.append(F.col("_window"))
            elif window.kind == "session":
                keys.append(F.session_window("_timestamp", size).alias("_window"))
            else:
                every = interval(window.every_ms)
                start = interval(window.offset_ms)
                keys.append(F.window("_timestamp", size, every, start).alias("_window"))
        grouped = frame.groupBy(*keys).agg(*folds)
        return grouped.selectExpr(*aggregate_columns(node, grouped.schema))


def identity(node: Node) -> str:
    """The same for what was written in one place: cutting a plan copies nodes."""
    return f"{node.where} {signature(node)}"


def with_zoned_windows(window: Window, frame: DataFrame) -> DataFrame:
    """A row for each window it falls into, in `_window`, which closes as Spark's own windows do."""
    from pyspark.sql import functions as F

    found = frame.selectExpr("*", f"explode({zoned.windows(window, '_timestamp')}) AS _window")
    # What tells Spark that a group is over when the watermark has passed its end.
    marked = F.col("_window").alias("_window", metadata={WATERMARK_DELAY: window.grace_ms})
    kept = [F.col(values.name(name)) for name in found.columns if name != "_window"]
    return found.select(*kept, marked)


def is_carrying(frame: DataFrame) -> bool:
    """Whether its rows may be bad, and carry what a dead letter needs."""
    return "_reason" in frame.columns


def carried(frame: DataFrame) -> tuple[str, ...]:
    """The columns beside the node's own that a stateless step passes on."""
    return (*META, *LETTER) if is_carrying(frame) else META


def good(frame: DataFrame) -> DataFrame:
    """The rows that an operator with state takes; the plan sees to it that none is lost here."""
    return frame.where("_reason IS NULL").drop(*LETTER) if is_carrying(frame) else frame


def unless_bad(frame: DataFrame, condition: str) -> str:
    """What rows must meet to stay; bad rows stay in any case, for the dead letters."""
    return f"{condition} OR _reason IS NOT NULL" if is_carrying(frame) else condition


def all_but(frame: DataFrame, node: Node, changed: str, sql: str) -> DataFrame:
    kept = [values.name(field.name) for field in node.schema]
    metas = [name for name in carried(frame) if name != changed]
    return frame.selectExpr(*kept, *metas, f"{sql} AS {changed}")


def refusal(error: PySparkException) -> str:
    """Spark's own sentence, without its code, the plan and what else comes below it."""
    said = re.sub(r"^\[[A-Z0-9_.]+\] ", "", str(error)).split("SQLSTATE")[0].split("\n")[0]
    return f"Spark refuses this: {said.strip().rstrip(';')}"


def aggregate_columns(node: Aggregate, types: "StructType") -> list[str]:
    """The columns of an aggregate's result: group, window, folds, and what every row carries."""
    names = [f"`{name}`" for name in node.keys]
    if node.window is not None:
        names += ["_window.start AS window_start", "_window.end AS window_end"]
    names += [f"`{name}`" for name, _ in node.aggregates]
    return [*names, f"{group_key(node, types)} AS _key", "_latest AS _timestamp", *NO_ORIGIN]


def group_key(node: Aggregate, types: "StructType") -> str:
    """One column without a window is its own key as text; anything else is a JSON object."""
    if len(node.keys) == 1 and node.window is None:
        return f"cast(`{node.keys[0]}` AS string)"
    parts = [
        f"{values.json_value(values.name(key), types[key].dataType)} AS {values.name(key)}"
        for key in node.keys
    ]
    if node.window is not None:
        parts.append("_window.start AS window_start")
        if node.window.kind in ("session", "sliding"):
            parts.append("_window.end AS window_end")
    return f"to_json(struct({', '.join(parts)}))"
