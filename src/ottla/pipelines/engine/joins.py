"""Joins that run in the JVM: streams within a time, global tables, tables by key."""

from typing import TYPE_CHECKING, Any

from ottla.pipelines.api.definitions import GlobalJoin, Node, StreamJoin, TableJoin
from ottla.pipelines.api.windows import interval
from ottla.pipelines.engine.decoding import NO_ORIGIN, counting_dropped
from ottla.pipelines.formats.schema import Schema
from ottla.pipelines.formats.values import is_common, row_bytes, struct_from_bytes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

TABLE, STREAM = 0, 1  # ranks: at the same time the right side, a table, goes first
NO_KEY = "'\\0no key\\0'"  # stands for the key of a row that has none
SPARK_KIND = {"inner": "inner", "left": "left_outer", "outer": "full_outer"}


def stream_join(node: StreamJoin, left: "DataFrame", right: "DataFrame") -> "DataFrame":
    """Pairs by key whose times are near enough; without a partner once none can come any more."""
    from pyspark.sql import functions as F

    grace = interval(node.grace_ms)
    lefts = left.selectExpr(
        *_names(node.left.schema), "cast(_key AS string) AS _lkey", "_timestamp AS _ltime"
    ).withWatermark("_ltime", grace)
    rights = right.selectExpr(
        *_names(node.right.schema), "cast(_key AS string) AS _rkey", "_timestamp AS _rtime"
    ).withWatermark("_rtime", grace)
    near = F.expr(
        f"_lkey = _rkey AND _rtime >= _ltime - INTERVAL {node.before_ms} MILLISECONDS "
        f"AND _rtime <= _ltime + INTERVAL {node.after_ms} MILLISECONDS"
    )
    return lefts.join(rights, near, SPARK_KIND[node.kind]).selectExpr(
        *_names(node.schema),
        "coalesce(_lkey, _rkey) AS _key",
        "greatest(_ltime, _rtime) AS _timestamp",
        *NO_ORIGIN,
    )


def global_join(node: GlobalJoin, left: "DataFrame", right: "DataFrame") -> "DataFrame":
    """Each row with the table's row for `on`; Spark reads the table again for every batch."""
    from pyspark.sql import functions as F

    latest = (
        right.selectExpr(
            "cast(_key AS string) AS _gkey",
            f"struct({', '.join(_names(node.right.schema))}) AS _row",
            "_offset",
            "_deleted",
        )
        .groupBy("_gkey")
        .agg(F.expr("max_by(if(_deleted, NULL, _row), _offset) AS _row"))
        .where("_row IS NOT NULL")
    )
    condition = F.expr(f"cast({node.on} AS string) = _gkey")
    bad_rows = node.kind == "inner" and "_reason" in left.columns  # they pass by, and find nothing
    how = "inner" if node.kind == "inner" and not bad_rows else "left_outer"
    fields = [f"_row.`{field.name}` AS `{field.name}`" for field in node.right.schema]
    carried = [name for name in left.columns if name.startswith("_")]
    joined = left.join(F.broadcast(latest), condition, how)
    if bad_rows:
        joined = joined.where("_row IS NOT NULL OR _reason IS NOT NULL")
    return joined.selectExpr(*_names(node.left.schema), *fields, *carried)


def table_join(node: TableJoin, left: "DataFrame", right: "DataFrame") -> "DataFrame":
    """A stream with a table's latest row, or two tables: a state machine of ours in the JVM.

    Spark has no such join, and Python state would cost several times as much. Rows of both sides go
    there tagged, each side's fields as a struct, and come back joined, in both engines alike.
    """
    from pyspark.sql import DataFrame
    from pyspark.sql.functions import expr

    origin = not node.is_table  # a stream's row keeps where it comes from
    keyless = node.kind == "left" and not node.is_table  # as Kafka Streams has it
    lefts = _tagged(node.left, left, STREAM, "l", origin=origin, keyless=keyless)
    rights = _tagged(node.right, right, TABLE, "r", origin=False, keyless=False)
    union = lefts.unionByName(rights, allowMissingColumns=True)
    jvm: Any = left.sparkSession._jvm
    made = jvm.ottla.TableJoiner.join(union._jdf, node.kind, node.left.is_table)
    joined = DataFrame(made, left.sparkSession)
    for side, frame, of in (("l", left, node.left), ("r", right, node.right)):
        joined = joined.withColumn(side, expr(_unpacked(side, _row_type(of, frame))))
    return joined.selectExpr(
        *(f"l.`{field.name}` AS `{field.name}`" for field in node.left.schema),
        *(f"r.`{field.name}` AS `{field.name}`" for field in node.right.schema),
        f"if(startswith(_key, {NO_KEY}), NULL, _key) AS _key" if keyless else "_key",
        "timestamp_millis(time) AS _timestamp",
        "headers AS _headers",
        "topic AS _topic",
        "partition AS _partition",
        "offset AS _offset",
        "gone AS _deleted",
    )


def _tagged(
    node: Node, frame: "DataFrame", rank: int, side: str, *, origin: bool, keyless: bool
) -> "DataFrame":
    """The side's rows as TableJoiner takes them: the row is a struct, null for a deletion.

    `keyless`: rows without a key pass too, under one that no row of the other side has.
    """
    struct = _packed(f"struct({', '.join(_names(node.schema))})", _row_type(node, frame))
    row = f"if(_deleted, NULL, {struct})"
    headers = "array<struct<key: string, value: binary>>"
    key = "cast(_key AS string)"
    if keyless:  # spread over the tasks, as their partitions are
        key = f"coalesce({key}, concat({NO_KEY}, coalesce(_partition, 0)))"
    else:
        frame = counting_dropped(frame, "_key IS NOT NULL").where("_key IS NOT NULL")
    return frame.selectExpr(
        f"{key} AS _key",
        "unix_millis(_timestamp) AS time",
        f"{rank} AS rank",
        "coalesce(_partition, 0) AS partition",
        "coalesce(_offset, 0L) AS offset",
        f"{'_topic' if origin else 'cast(NULL AS string)'} AS topic",
        f"{'_headers' if origin else f'cast(NULL AS {headers})'} AS headers",
        f"{row} AS {side}",
    )


def _row_type(node: Node, frame: "DataFrame") -> "StructType":
    return frame.selectExpr(*_names(node.schema)).schema


def _packed(struct: str, type: "StructType") -> str:
    """The row as a state takes it: as it is, or else as bytes."""
    return struct if is_common(type) else f"struct({row_bytes(struct)} AS row)"


def _unpacked(side: str, type: "StructType") -> str:
    if is_common(type):
        return side
    return f"if({side} IS NULL, NULL, {struct_from_bytes(f'{side}.row', type)})"


def _names(schema: Schema) -> list[str]:
    return [f"`{field.name}`" for field in schema]
