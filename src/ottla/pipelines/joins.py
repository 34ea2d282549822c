"""Joins that Spark runs by itself: streams within a time, global tables, tables in real time."""

from typing import TYPE_CHECKING

from ottla.pipelines.decoding import NO_ORIGIN
from ottla.pipelines.definitions import (
    Changes,
    GlobalJoin,
    Node,
    Schema,
    StreamJoin,
    TableJoin,
    walk,
)
from ottla.pipelines.windows import interval

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

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
    how = "inner" if node.kind == "inner" else "left_outer"
    fields = [f"_row.`{field.name}` AS `{field.name}`" for field in node.right.schema]
    carried = [name for name in left.columns if name.startswith("_")]
    return left.join(F.broadcast(latest), condition, how).selectExpr(
        *_names(node.left.schema), *fields, *carried
    )


def row_by_row(node: TableJoin, left: "DataFrame", right: "DataFrame") -> "DataFrame":
    """A join by key as an aggregate over the tagged union of both sides.

    Real-time mode updates an aggregate for every input row, so each row meets the state as it is:
    the newest row of each table by its offset, and the row that has just come.
    """
    from pyspark.sql import functions as F

    lefts = _tagged(node.left, left, "l")
    union = lefts.unionByName(_tagged(node.right, right, "r"), allowMissingColumns=True)
    folded = union.groupBy("_key").agg(
        F.expr(_newest(node.left, "l") if node.left.is_table else "last(l) AS l"),
        F.expr(_newest(node.right, "r")),
        F.expr("last(_side) AS _side"),
        F.expr("last(_timestamp) AS _timestamp"),
        F.expr("last(_from) AS _from"),
    )
    fields = [f"{_if_there('l', name)} AS `{name}`" for name in _plain(node.left.schema)]
    fields += [f"{_if_there('r', name)} AS `{name}`" for name in _plain(node.right.schema)]
    if node.is_table:
        origin = [*NO_ORIGIN[:-1], f"{_gone(node.kind)} AS _deleted"]
        return folded.selectExpr(*fields, "_key", "_timestamp", *origin)
    kept = folded.where("_side = 'l'")
    if node.kind == "inner":
        kept = kept.where("r IS NOT NULL AND NOT r._deleted")
    origin = [f"_from.{name} AS {name}" for name in ("_headers", "_topic", "_partition", "_offset")]
    return kept.selectExpr(*fields, "_key", "_timestamp", *origin, "false AS _deleted")


def _tagged(node: Node, frame: "DataFrame", side: str) -> "DataFrame":
    """The side's rows as structs in a column of their own."""
    row = f"struct({', '.join([*_names(node.schema), '_deleted'])})"
    return frame.where("_key IS NOT NULL").selectExpr(
        "cast(_key AS string) AS _key",
        f"'{side}' AS _side",
        f"{row} AS {side}",
        "_timestamp",
        "_offset AS _order",
        "struct(_headers, _topic, _partition, _offset) AS _from",
    )


def _newest(table: Node, side: str) -> str:
    """The table's row that counts: by offset, or as it came where a key has several partitions."""
    rekeyed = any(isinstance(at, Changes) and not at.input.is_table for at in walk(table))
    fold = f"last({side})" if rekeyed else f"max_by({side}, _order)"
    return f"{fold} FILTER (WHERE _side = '{side}') AS {side}"


def _if_there(side: str, name: str) -> str:
    return f"if({side}._deleted, NULL, {side}.`{name}`)"


def _gone(kind: str) -> str:
    """Whether the joined table has no row for this key (any more)."""
    left, right = (f"({side} IS NULL OR {side}._deleted)" for side in ("l", "r"))
    if kind == "inner":
        return f"({left} OR {right})"
    return left if kind == "left" else f"({left} AND {right})"


def _names(schema: Schema) -> list[str]:
    return [f"`{field.name}`" for field in schema]


def _plain(schema: Schema) -> list[str]:
    return [field.name for field in schema]
