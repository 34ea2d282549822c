"""Operators that run in Python workers: the frames around the classes in `keyed`."""

from typing import TYPE_CHECKING, Any

from ottla.pipelines.api.definitions import (
    Aggregate,
    ForeignKeyJoin,
    Node,
    Process,
    PythonMap,
    Subscribe,
    TableAggregate,
)
from ottla.pipelines.api.folds import parse_fold, subtracts
from ottla.pipelines.api.processors import uses_timers
from ottla.pipelines.api.windows import interval
from ottla.pipelines.engine.calls import Calls
from ottla.pipelines.engine.decoding import (
    LETTER,
    LETTER_ORIGIN,
    LETTER_TYPES,
    NO_ORIGIN,
    counting_dropped,
    counting_late,
    with_letter,
)
from ottla.pipelines.engine.keyed import (
    Custom,
    ForeignJoiner,
    SlidingFolder,
    Subscriber,
    TableFolder,
)
from ottla.pipelines.engine.subtracting import Subtracting, Total, scale_of
from ottla.pipelines.formats import values
from ottla.pipelines.formats.schema import ddl, parse_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

TIME = "unix_millis(_timestamp) AS _time"


def subscribe(node: Subscribe, frame: "DataFrame") -> "DataFrame":
    row, type = _row(node.input, frame)
    rows = frame.where("_key IS NOT NULL").selectExpr(
        "cast(_key AS string) AS _key",
        f"cast({node.on} AS string) AS _on",
        f"{row} AS _row",
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
        "pk", f"{values.struct_from_text('row', type)} AS row", "silent", "version", "_key",
        "timestamp_millis(_time) AS _timestamp", *NO_ORIGIN,
    )  # fmt: skip


def foreign_key_join(node: ForeignKeyJoin, left: "DataFrame", right: "DataFrame") -> "DataFrame":
    left_type: StructType = left.schema["row"].dataType  # type: ignore[assignment]
    lefts = left.selectExpr(
        "_key", "'l' AS _side", f"{values.row_text('row')} AS _row", TIME, "_partition", "_offset",
        "pk AS _pk", "silent AS _silent", "version AS _version",
    )  # fmt: skip
    row, right_type = _row(node.right, right)
    rights = right.where("_key IS NOT NULL").selectExpr(
        "cast(_key AS string) AS _key", "'r' AS _side", f"{row} AS _row",
        TIME, "_partition", "_offset",
    )  # fmt: skip
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
        f"{values.struct_from_text('_l', left_type)} AS _left",
        f"{values.struct_from_text('_r', right_type)} AS _right",
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
    """Python finds the windows and the rows in them, Spark folds those."""
    from pyspark.sql.types import StructType

    from ottla.pipelines.engine.build import aggregate_columns

    assert node.window is not None
    folds = [(name, parse_fold(sql, node.where)) for name, sql in node.aggregates]
    taken = frame.selectExpr(*(f"{fold.argument} AS `{name}`" for name, fold in folds)).schema
    group = StructType([frame.schema[key] for key in node.keys])
    in_json = values.is_common(group)
    struct = values.struct_of(node.keys)
    arguments = ", ".join(f"{fold.argument} AS `{name}`" for name, fold in folds)
    rows = frame.selectExpr(
        f"{values.json_of(group) if in_json else values.row_text(struct)} AS _group",
        f"{values.row_text(f'struct({arguments})')} AS _row",
        TIME,
        "_partition",
        "_offset",
    )
    made = rows.groupBy("_group").transformWithState(
        SlidingFolder(node.window.size_ms, node.window.grace_ms),
        "_g string, _rows array<string>, _start bigint, _end bigint, _time bigint, _late bigint",
        "Update",
        "None",
    )
    made = counting_late(made)
    window = "struct(timestamp_millis(_start) AS start, timestamp_millis(_end) AS end) AS _window"
    slid = made.selectExpr(
        f"{values.struct_from_text('_g', group)} AS _g",
        f"transform(_rows, one -> {values.struct_from_text('one', taken)}) AS _rows",
        window,
        "timestamp_millis(_time) AS _latest",
    )
    calls = [
        (name, "count(1)" if fold.function == "count_all" else f"{fold.function}(`{name}`)")
        for name, fold in folds
    ]
    results = folded(slid, taken, calls)
    whole = results.selectExpr("_g.*", "_result.*", "_window", "_latest")
    return whole.selectExpr(*aggregate_columns(node, whole.schema))


def table_aggregate(node: TableAggregate, frame: "DataFrame") -> "DataFrame":
    """Python keeps the rows of each group, Spark folds them when they have changed."""
    from pyspark.sql.types import StructType

    from ottla.pipelines.engine.build import aggregate_columns

    row: StructType = frame.schema["row"].dataType  # type: ignore[assignment]
    group = StructType([row[key] for key in node.keys])
    if subtracts(node.aggregates, node.members, node.where):
        return _subtracted(node, frame, row, group)
    rows = frame.selectExpr(
        "_key AS _group", "pk AS _pk", f"{values.row_text('row')} AS _row",
        TIME, "_partition", "_offset",
    )  # fmt: skip
    made = rows.groupBy("_group").transformWithState(
        TableFolder(), "_g string, _rows array<string>, _time bigint", "Update", "None"
    )
    members = made.selectExpr(
        f"{values.struct_from_text('_g', group)} AS _g",
        f"transform(_rows, one -> {values.struct_from_text('one', row)}) AS _rows",
        "timestamp_millis(_time) AS _latest",
    )
    results = folded(members, row, list(node.aggregates))
    whole = results.selectExpr("_g.*", "_result.*", "_latest", "size(_rows) = 0 AS _gone")
    *columns, _ = aggregate_columns(node, whole.schema)
    return whole.selectExpr(*columns, "_gone AS _deleted")


def _subtracted(
    node: TableAggregate, frame: "DataFrame", row: "StructType", group: "StructType"
) -> "DataFrame":
    """Python keeps totals, and what each row gave to them: a change costs the same in any group."""
    from pyspark.sql import functions as F

    from ottla.pipelines.engine.build import aggregate_columns

    folds = [(name, parse_fold(sql, node.where)) for name, sql in node.aggregates]
    empty = frame.sparkSession.createDataFrame([], row)
    results = empty.groupBy().agg(*(F.expr(f"{s} AS `{n}`") for n, s in node.aggregates)).schema
    totals, gives = [], []
    for at, (name, fold) in enumerate(folds):
        counted = fold.function in ("count_all", "count")
        argument = f"if({fold.argument} IS NULL, NULL, true)" if counted else fold.argument
        given = empty.selectExpr(argument).schema[0].dataType.simpleString()
        told = results[name].dataType.simpleString()
        scale = scale_of(told) if told.startswith("decimal") else None
        totals.append(Total(name, fold.function, given, told, scale))
        gives.append(f"{argument} AS a{at}")
    rows = frame.selectExpr(
        "_key AS _group", "pk AS _pk", "row IS NOT NULL AS _there", TIME, "_partition", "_offset",
        "row.*",
    ).selectExpr("_group", "_pk", "_there", "_time", "_partition", "_offset", *gives)  # fmt: skip
    types = ", ".join(f"{values.name(total.name)} {total.result}" for total in totals)
    made = rows.groupBy("_group").transformWithState(
        Subtracting(totals), f"_g string, _count bigint, _time bigint, {types}", "Update", "None"
    )
    names = [values.name(total.name) for total in totals]
    whole = made.selectExpr(
        f"{values.struct_from_text('_g', group)} AS _g", *names,
        "timestamp_millis(_time) AS _latest", "_count = 0 AS _gone",
    ).selectExpr("_g.*", *names, "_latest", "_gone")  # fmt: skip
    *columns, _ = aggregate_columns(node, whole.schema)
    return whole.selectExpr(*columns, "_gone AS _deleted")


def folded(frame: "DataFrame", type: "StructType", folds: list[tuple[str, str]]) -> "DataFrame":
    """The frame with `_result`: aggregates (name, SQL) over the structs of `type` in `_rows`."""
    from pyspark.sql import functions as F
    from pyspark.sql.classic.column import Column

    spark = frame.sparkSession
    named = [F.expr(sql).alias(name) for name, sql in folds]
    template: Any = spark.createDataFrame([], type).groupBy().agg(*named)
    jvm: Any = spark._jvm
    rows: Any = F.col("_rows")
    result = Column(jvm.ottla.Folding.fold(template._jdf, rows._jc))
    return frame.withColumn("_result", result)


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
    letters = node.on_error == "dead_letter"
    origin = ("_topic", *LETTER) if letters else ()
    if letters:
        frame = with_letter(frame)
    frame = counting_dropped(frame, "_key IS NOT NULL").where("_key IS NOT NULL")
    rows = frame.selectExpr(
        "cast(_key AS string) AS _key", *(f"`{name}`" for name in names),
        TIME, "_partition", "_offset", "_timestamp", *origin,
    )  # fmt: skip
    columns = f"_key string, _time bigint, {ddl(node.schema)}"
    if letters:
        columns += f", {LETTER_TYPES}"
    made = rows.groupBy("_key").transformWithState(
        Custom(node.processor, names, outputs, states, node.on_error),
        columns,
        "Update",
        "EventTime" if with_timers else "None",
    )
    return made.selectExpr(
        *(f"`{name}`" for name in outputs), "_key",
        "timestamp_millis(_time) AS _timestamp", *(NO_ORIGIN if not letters else LETTER_ORIGIN),
    )  # fmt: skip


def python_map(node: PythonMap, frame: "DataFrame") -> "DataFrame":
    """The function over rows as dictionaries; what a row carries besides stays as it is."""
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import StructType

    if node.on_error == "dead_letter":
        frame = with_letter(frame)
    kept = [name for name in frame.columns if name.startswith("_")]
    if node.kind == "peek":
        fields = [frame.schema[field.name] for field in node.schema]
    else:
        fields = list(StructType.fromDDL(ddl(node.schema)))  # type: ignore[call-overload]
    schema = StructType([*fields, *(frame.schema[name] for name in kept)])
    names = [field.name for field in node.input.schema]
    calls = Calls(node.function, node.kind, names, [f.name for f in fields], kept, node.on_error)
    runner = calls.over(to_arrow_schema(schema, timezone="UTC"))
    return frame.selectExpr(*(f"`{n}`" for n in names), *kept).mapInArrow(runner, schema)


def _row(node: Node, frame: "DataFrame") -> "tuple[str, StructType]":
    """The node's fields as text, null for a deletion, and the type to read it with."""
    from pyspark.sql.types import StructType

    names = [field.name for field in node.schema]
    text = values.row_text(values.struct_of(names))
    return f"if(_deleted, NULL, {text})", StructType([frame.schema[name] for name in names])
