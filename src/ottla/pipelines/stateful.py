"""Operators that run in Python workers: the frames around the classes in `keyed`."""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ottla.pipelines.decoding import NO_ORIGIN
from ottla.pipelines.definitions import (
    Aggregate,
    ForeignKeyJoin,
    Node,
    Process,
    PythonMap,
    Schema,
    Subscribe,
)
from ottla.pipelines.folds import parse_fold
from ottla.pipelines.formats import ddl, parse_schema
from ottla.pipelines.keyed import Custom, ForeignJoiner, SlidingFolder, Subscriber
from ottla.pipelines.processors import uses_timers
from ottla.pipelines.windows import interval

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

TIME = "unix_millis(_timestamp) AS _time"
# Microseconds, so that a row that passes through text comes out as it went in.
JSON_OPTIONS = "map('timestampFormat', \"yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX\")"


def subscribe(node: Subscribe, frame: "DataFrame") -> "DataFrame":
    rows = frame.where("_key IS NOT NULL").selectExpr(
        "cast(_key AS string) AS _key",
        f"cast({node.on} AS string) AS _on",
        f"if(_deleted, NULL, {_row(node.input.schema)}) AS _row",
        TIME,
        "_partition",
        "_offset",
    )
    made = rows.groupBy("_key").transformWithState(
        Subscriber(node.kind),
        "_key string, pk string, row string, silent boolean, version bigint, _time bigint",
        "Update",
        "None",
    )
    return made.selectExpr(
        "pk", "row", "silent", "version", "_key",
        "timestamp_millis(_time) AS _timestamp", *NO_ORIGIN,
    )  # fmt: skip


def foreign_key_join(node: ForeignKeyJoin, left: "DataFrame", right: "DataFrame") -> "DataFrame":
    lefts = left.selectExpr(
        "_key", "'l' AS _side", "row AS _row", TIME, "_partition", "_offset",
        "pk AS _pk", "silent AS _silent", "version AS _version",
    )  # fmt: skip
    rights = _side(node.right, right, "r")
    made = (
        lefts.unionByName(rights, allowMissingColumns=True)
        .groupBy("_key")
        .transformWithState(
            ForeignJoiner(node.kind),
            "_key string, _l string, _r string, _time bigint, _version bigint, _deleted boolean",
            "Update",
            "None",
        )
    )
    parsed = made.selectExpr(
        "*",
        f"from_json(_l, '{_quoted(node.left_schema)}', {JSON_OPTIONS}) AS _left",
        f"from_json(_r, '{_frame_ddl(right, node.right.schema)}', {JSON_OPTIONS}) AS _right",
    )
    return parsed.selectExpr(
        *(f"_left.`{f.name}` AS `{f.name}`" for f in node.left_schema),
        *(f"_right.`{f.name}` AS `{f.name}`" for f in node.right.schema),
        "_key",
        "timestamp_millis(_time) AS _timestamp",
        *NO_ORIGIN[:3],
        "_version AS _offset",
        "_deleted",
    )


def sliding(node: Aggregate, frame: "DataFrame") -> "DataFrame":
    assert node.window is not None
    folds = [(name, parse_fold(sql, node.where)) for name, sql in node.aggregates]
    arguments = ", ".join(f"{fold.argument} AS `{name}`" for name, fold in folds)
    group = ", ".join(f"`{key}`" for key in node.keys)
    rows = frame.selectExpr(
        f"to_json(struct({group}), map('ignoreNullFields', 'false')) AS _group",
        f"to_json(struct({arguments})) AS _row",
        TIME,
        "_partition",
        "_offset",
    )
    made = rows.groupBy("_group").transformWithState(
        SlidingFolder(
            node.window.size_ms, node.window.grace_ms, [(n, f.function) for n, f in folds]
        ),
        "_g string, _result string, _start bigint, _end bigint, _time bigint",
        "Update",
        "None",
    )
    types = frame.schema
    groups = ", ".join(f"`{key}` {types[key].dataType.simpleString()}" for key in node.keys)
    results = ", ".join(f"`{f.name}` {f.type or 'DOUBLE'}" for f in node.schema[-len(folds) :])
    from ottla.pipelines.build import aggregate_columns

    window = "struct(timestamp_millis(_start) AS start, timestamp_millis(_end) AS end) AS _window"
    return (
        made.selectExpr(
            f"from_json(_g, '{groups}') AS _g",
            f"from_json(_result, '{results}') AS _result",
            window,
            "timestamp_millis(_time) AS _latest",
        )
        .selectExpr("_g.*", "_result.*", "_window", "_latest")
        .selectExpr(*aggregate_columns(node))
    )


def process(node: Process, frame: "DataFrame") -> "DataFrame":
    outputs = [field.name for field in node.schema]
    states = {
        name: [field.name for field in parse_schema(schema)]
        for name, schema in node.processor.state.items()
    }
    names = [field.name for field in node.input.schema]
    with_timers = uses_timers(node.processor)
    if with_timers:
        frame = frame.withWatermark("_timestamp", interval(node.grace_ms))
    rows = frame.where("_key IS NOT NULL").selectExpr(
        "cast(_key AS string) AS _key", *(f"`{name}`" for name in names),
        TIME, "_partition", "_offset", "_timestamp",
    )  # fmt: skip
    made = rows.groupBy("_key").transformWithState(
        Custom(node.processor, names, outputs, states),
        f"_key string, _time bigint, {ddl(node.schema)}",
        "Update",
        "EventTime" if with_timers else "None",
    )
    return made.selectExpr(
        *(f"`{name}`" for name in outputs), "_key",
        "timestamp_millis(_time) AS _timestamp", *NO_ORIGIN,
    )  # fmt: skip


def python_map(node: PythonMap, frame: "DataFrame", carried: Iterable[str]) -> "DataFrame":
    """The function over rows as dictionaries; what a row carries besides stays as it is."""
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import StructType

    kept = list(carried)
    if node.kind == "peek":
        fields = [frame.schema[field.name] for field in node.schema]
    else:
        fields = list(StructType.fromDDL(ddl(node.schema)))  # type: ignore[call-overload]
    schema = StructType([*fields, *(frame.schema[name] for name in kept)])
    names = [field.name for field in node.input.schema]
    runner = _runner(node.function, node.kind, names, kept, to_arrow_schema(schema, timezone="UTC"))
    return frame.selectExpr(*(f"`{n}`" for n in names), *kept).mapInArrow(runner, schema)


def _runner(
    function: Callable[[dict[str, Any]], Any],
    kind: str,
    names: list[str],
    kept: list[str],
    schema: "pa.Schema",
) -> "Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]":
    def results(row: dict[str, Any]) -> Iterable[dict[str, Any]]:
        if row.get("_reason") is not None:  # a dead letter passes by
            return ({},)
        fields = {name: row[name] for name in names}
        fields["_key"] = row["_key"]
        made = function(fields)
        if kind == "peek":
            return ({name: row[name] for name in names},)
        if kind == "flat_map":
            return made or ()
        return () if made is None else (made,)

    def run(batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        import pyarrow as pa

        for batch in batches:
            rows = [
                made | {name: row[name] for name in kept}
                for row in batch.to_pylist()
                for made in results(row)
            ]
            yield pa.RecordBatch.from_pylist(rows, schema=schema)

    return run


def _side(node: Node, frame: "DataFrame", side: str) -> "DataFrame":
    return frame.where("_key IS NOT NULL").selectExpr(
        "cast(_key AS string) AS _key",
        f"'{side}' AS _side",
        f"if(_deleted, NULL, {_row(node.schema)}) AS _row",
        TIME,
        "_partition",
        "_offset",
    )


def _row(schema: Schema) -> str:
    names = ", ".join(f"`{field.name}`" for field in schema)
    return f"to_json(struct({names}), {JSON_OPTIONS})"


def _frame_ddl(frame: "DataFrame", schema: Schema) -> str:
    types = frame.schema
    return ", ".join(f"`{f.name}` {types[f.name].dataType.simpleString()}" for f in schema)


def _quoted(schema: Schema) -> str:
    return ddl(schema).replace("'", "\\'")
