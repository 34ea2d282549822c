"""Joins by key in the JVM, against plain Python: many drawn histories in one run of Spark.

Each key is a history of its own, whose rows come out of order from several partitions. Spark runs
the state machine over a frame that is whole, so every key begins without state.
"""

import random
from typing import Any, NamedTuple

import pytest

from ottla.pipelines.engine.joins import STREAM, TABLE
from ottla.pipelines.runtime import sessions

HISTORIES = 300
HEADERS = "array<struct<key: string, value: binary>>"
SCHEMA = (
    "_key string, time bigint, rank int, partition int, offset bigint, topic string, "
    f"headers {HEADERS}, l struct<n: int>, r struct<n: int>"
)


class Item(NamedTuple):
    time: int
    rank: int
    partition: int
    offset: int
    row: int | None


def draw(chance: random.Random, *, deletes_left: bool) -> list[Item]:
    ends: dict[tuple[int, int], int] = {}
    items = []
    for _ in range(chance.randint(1, 30)):
        place = (chance.choice((TABLE, STREAM)), chance.randint(0, 2))
        ends[place] = ends.get(place, -1) + 1
        may_delete = place[0] == TABLE or deletes_left
        row = None if may_delete and chance.random() < 0.3 else chance.randint(0, 9)
        items.append(Item(chance.randint(0, 9), *place, ends[place], row))
    return items


def in_order(items: list[Item]) -> list[Item]:
    """Partition by partition in the order of offsets; of the heads the oldest, tables at a tie."""
    queues: dict[tuple[int, int], list[Item]] = {}
    for item in sorted(items, key=lambda item: item.offset):
        queues.setdefault((item.rank, item.partition), []).append(item)
    ordered = []
    while waiting := [queue for queue in queues.values() if queue]:
        ordered.append(min(waiting, key=lambda queue: queue[0][:3]).pop(0))
    return ordered


def model(items: list[Item], kind: str, left_is_table: bool) -> list[tuple[Any, ...]]:
    left = right = None
    was = False
    made: list[tuple[Any, ...]] = []
    for item in in_order(items):
        if item.rank == TABLE:
            right = item.row
        else:
            left = item.row
        if item.rank == TABLE and not left_is_table:
            continue
        there = {
            "inner": left is not None and right is not None,
            "left": left is not None,
            "outer": left is not None or right is not None,
        }[kind]
        if there or (left_is_table and was):  # who never had a row has none to be deleted
            made.append((left if there else None, right if there else None, not there, item.offset))
        was = there
    return made


@pytest.mark.parametrize(
    ("kind", "left_is_table"),
    [("inner", False), ("left", False), ("inner", True), ("left", True), ("outer", True)],
)
def test_every_row_meets_the_other_side_as_it_was(kind: str, left_is_table: bool) -> None:
    from pyspark.sql import DataFrame

    chance = random.Random(kind)
    histories = {f"k{n}": draw(chance, deletes_left=left_is_table) for n in range(HISTORIES)}
    rows = [
        (key, item.time, item.rank, item.partition, item.offset, None, None, *_sides(item))
        for key, items in histories.items()
        for item in items
    ]
    chance.shuffle(rows)
    spark = sessions.session()
    union = spark.createDataFrame(rows, SCHEMA)
    jvm: Any = spark._jvm
    joined = DataFrame(jvm.ottla.TableJoiner.join(union._jdf, kind, left_is_table), spark)
    found: dict[str, list[tuple[Any, ...]]] = {key: [] for key in histories}
    for row in joined.selectExpr("_key", "l.n AS l", "r.n AS r", "gone", "offset").collect():
        found[row["_key"]].append((row["l"], row["r"], row["gone"], row["offset"]))
    for key, items in histories.items():
        assert found[key] == model(items, kind, left_is_table), items


def _sides(item: Item) -> tuple[Any, Any]:
    row = None if item.row is None else (item.row,)
    return (None, row) if item.rank == TABLE else (row, None)
