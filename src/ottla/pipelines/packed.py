"""Rows of one key in one piece, in and out of Python state.

PySpark hands rows to Python state one by one, converting cell by cell, which costs more than any
join. So the rows of a batch are packed by key before they are shuffled, and a key's results come
back as one JSON array, which Spark takes apart. A packed row is a tuple of `Item`'s fields.
"""

import heapq
import marshal
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import pyarrow as pa

PACKED = "_key string, _rows binary"
RESULTS_MAX = 5_000  # in one array
TABLE, STREAM = 0, 1  # ranks: at the same time the right side, a table, goes first


class Item(NamedTuple):
    """What decides the order comes first. The row is JSON text, None for a deletion."""

    time: int
    rank: int
    partition: int
    offset: int
    row: str | None


def pack(batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
    """For `mapInArrow`: columns `_key` and those of `Item`, to `PACKED`."""
    import pyarrow as pa

    for batch in batches:
        columns = [batch.column(name).to_pylist() for name in ("_key", *Item._fields)]
        keys, packed = [], []
        for key, rows in pack_rows(columns[0], zip(*columns[1:], strict=True)):
            keys.append(key)
            packed.append(rows)
        yield pa.RecordBatch.from_arrays(
            [pa.array(keys, pa.string()), pa.array(packed, pa.binary())], ["_key", "_rows"]
        )


def pack_rows(keys: Iterable[str], items: Iterable[tuple[Any, ...]]) -> Iterator[tuple[str, bytes]]:
    """One piece for each key and partition, its rows in the order in which they came."""
    pieces: dict[tuple[str, int, int], list[tuple[Any, ...]]] = {}
    for key, item in zip(keys, items, strict=True):
        place = (key, item[1], item[2])
        if (piece := pieces.get(place)) is None:
            piece = pieces[place] = []
        piece.append(item)
    for (key, _, _), piece in pieces.items():
        yield key, marshal.dumps(piece, 2)  # later versions look for what repeats: nothing does


def by_time(packed: Iterable[bytes]) -> Iterator[Item]:
    """All rows of a key: each partition in the order of its offsets, the oldest head first."""
    partitions: dict[tuple[int, int], list[list[Item]]] = {}
    for blob in packed:
        piece = marshal.loads(blob)
        partitions.setdefault(piece[0][1:3], []).append(piece)
    queues = []
    for pieces in partitions.values():
        pieces.sort(key=lambda piece: piece[0][3])
        queues.append([item for piece in pieces for item in piece])
    return iter(queues[0]) if len(queues) == 1 else heapq.merge(*queues)


def json_arrays(results: Iterable[str]) -> Iterator[str]:
    """The results, each a JSON object, as arrays of bounded length."""
    chunk: list[str] = []
    for result in results:
        chunk.append(result)
        if len(chunk) == RESULTS_MAX:
            yield f"[{','.join(chunk)}]"
            chunk = []
    if chunk:
        yield f"[{','.join(chunk)}]"
