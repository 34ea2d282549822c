"""A stage's nodes as a streaming DataFrame. Joins and Python state are in `joins` and `stateful`.

Every frame here has the node's columns and the columns in `META`, and `_reason`, `_raw` where the
stage carries dead letters along. An error that Spark finds is told with the node's line.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException

from ottla.pipelines import joins, stateful
from ottla.pipelines.decoding import NO_ORIGIN, columns_of, parsed_column
from ottla.pipelines.definitions import (
    META,
    Aggregate,
    Changes,
    DefinitionError,
    Explode,
    Filter,
    ForeignKeyJoin,
    Format,
    GlobalJoin,
    Merge,
    Node,
    Plain,
    Process,
    Project,
    PythonMap,
    Rekey,
    Schema,
    Source,
    StreamJoin,
    Subscribe,
    TableJoin,
)
from ottla.pipelines.windows import interval

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass
class Builder:
    """Builds the frames of one stage. `read` opens a topic; tests and replays pass their own."""

    spark: "SparkSession"
    read: Callable[[Source], "DataFrame"]
    read_now: Callable[[Source], "DataFrame"]  # a topic as it is, for global tables
    dead: frozenset[str] = frozenset()  # topics whose bad rows travel along
    resolved: Mapping[str, Schema] = field(default_factory=dict)  # of intermediate topics
    frames: dict[int, "DataFrame"] = field(default_factory=dict)

    def frame(self, node: Node) -> "DataFrame":
        if id(node) not in self.frames:
            try:
                self.frames[id(node)] = self._make(node)
            except PySparkException as error:
                said = str(error).split("SQLSTATE")[0].strip().rstrip(";")
                raise DefinitionError(node.where, f"Spark refuses this: {said}") from error
        return self.frames[id(node)]

    def _make(self, node: Node) -> "DataFrame":
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
                return stateful.python_map(node, self.frame(node.input), self.carried)
            case Rekey(expression=expression):
                key = f"cast({expression} AS string)"
                return self.frame(node.input).selectExpr(*self._all_but(node, "_key", key))
            case Changes(is_table=is_table):
                frame = self.frame(node.input)
                return frame if is_table else frame.where(self._unless_bad("NOT _deleted"))
            case Merge(parts=parts):
                return self._merge(parts)
            case Aggregate():
                return self._aggregate(node)
            case StreamJoin():
                return joins.stream_join(node, self.frame(node.left), self.frame(node.right))
            case GlobalJoin():
                assert isinstance(node.right, Source)
                right = self.source(node.right, now=True)
                return joins.global_join(node, self.frame(node.left), right)
            case TableJoin():
                return joins.table_join(node, self.frame(node.left), self.frame(node.right))
            case Subscribe():
                return stateful.subscribe(node, self.frame(node.input))
            case ForeignKeyJoin():
                return stateful.foreign_key_join(
                    node, self.frame(node.left), self.frame(node.right)
                )
            case Process():
                return stateful.process(node, self.frame(node.input))
        raise AssertionError(f"no way to build {type(node).__name__}")

    @property
    def carried(self) -> tuple[str, ...]:
        """The columns beside the node's own that a stateless step passes on."""
        return (*META, "_reason", "_raw") if self.dead else META

    def source(self, node: Source, *, now: bool = False) -> "DataFrame":
        raw = self.read_now(node) if now else self.read(node)
        if node.internal is not None and node.topic in self.resolved:
            known = self.resolved[node.topic]
            node = replace(node, schema=known, value=Format("json", known))
        if (parsed := parsed_column(node)) is not None:
            raw = raw.selectExpr("*", f"{parsed} AS _parsed")
        frame = raw.selectExpr(*columns_of(node))
        if node.topic in self.dead:
            return frame
        if self.dead:
            return frame.where("_reason IS NULL")
        return frame.where("_reason IS NULL").drop("_reason", "_raw")

    def _plain(self, frame: "DataFrame") -> "DataFrame":
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

    def _filter(self, node: Filter) -> "DataFrame":
        frame = self.frame(node.input)
        if node.is_table:
            gone = f"_deleted OR NOT coalesce({node.condition}, false)"
            return frame.selectExpr(*self._all_but(node, "_deleted", gone))
        return frame.where(self._unless_bad(f"({node.condition})"))

    def _unless_bad(self, condition: str) -> str:
        """What rows must meet to stay; bad rows stay in any case, for the dead letters."""
        return f"{condition} OR _reason IS NOT NULL" if self.dead else condition

    def _project(self, node: Project) -> "DataFrame":
        columns = [f"{sql} AS `{name}`" for name, sql in node.columns]
        return self.frame(node.input).selectExpr(*columns, *self.carried)

    def _explode(self, node: Explode) -> "DataFrame":
        kept = [f"`{f.name}`" for f in node.input.schema if f.name != node.name]
        array = node.expression
        if self.dead:  # a bad row has nothing to explode, and must pass once
            array = f"if(_reason IS NULL, {array}, array(NULL))"
        made = f"explode({array}) AS `{node.name}`"
        return self.frame(node.input).selectExpr(*kept, made, *self.carried)

    def _merge(self, parts: tuple[Node, ...]) -> "DataFrame":
        """Each part reads its topics by itself: real-time mode refuses to meet a source twice."""
        names = [f"`{field.name}`" for field in parts[0].schema]
        merged = self.frame(parts[0]).selectExpr(*names, *self.carried)
        for part in parts[1:]:
            frame = replace(self, frames={}).frame(part)
            merged = merged.unionByName(frame.selectExpr(*names, *self.carried))
        return merged

    def _aggregate(self, node: Aggregate) -> "DataFrame":
        from pyspark.sql import functions as F

        frame = self.frame(node.input)
        if len(node.keys) == 1:
            frame = frame.where(f"`{node.keys[0]}` IS NOT NULL")
        window = node.window
        if window is not None and window.kind == "sliding":
            return stateful.sliding(node, frame)
        folds = [F.expr(f"{sql} AS `{name}`") for name, sql in node.aggregates]
        folds.append(F.expr("max(_timestamp) AS _latest"))
        keys: list[Any] = [F.col(f"`{name}`") for name in node.keys]
        if window is not None:
            frame = frame.withWatermark("_timestamp", interval(window.grace_ms))
            size = interval(window.size_ms)
            if window.kind == "session":
                keys.append(F.session_window("_timestamp", size).alias("_window"))
            else:
                every = interval(window.every_ms)
                keys.append(F.window("_timestamp", size, every).alias("_window"))
        grouped = frame.groupBy(*keys).agg(*folds)
        return grouped.selectExpr(*aggregate_columns(node))

    def _all_but(self, node: Node, changed: str, sql: str) -> list[str]:
        kept = [f"`{field.name}`" for field in node.schema]
        metas = [name for name in self.carried if name != changed]
        return [*kept, *metas, f"{sql} AS {changed}"]


def aggregate_columns(node: Aggregate) -> list[str]:
    """The columns of an aggregate's result: group, window, folds, and what every row carries."""
    names = [f"`{name}`" for name in node.keys]
    if node.window is not None:
        names += ["_window.start AS window_start", "_window.end AS window_end"]
    names += [f"`{name}`" for name, _ in node.aggregates]
    return [*names, f"{group_key(node)} AS _key", "_latest AS _timestamp", *NO_ORIGIN]


def group_key(node: Aggregate) -> str:
    """One column without a window is its own key as text; anything else is a JSON object."""
    if len(node.keys) == 1 and node.window is None:
        return f"cast(`{node.keys[0]}` AS string)"
    parts = [f"`{name}`" for name in node.keys]
    if node.window is not None:
        parts.append("_window.start AS window_start")
        if node.window.kind in ("session", "sliding"):
            parts.append("_window.end AS window_end")
    return f"to_json(struct({', '.join(parts)}))"
