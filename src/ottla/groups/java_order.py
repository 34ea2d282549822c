"""The order of Java's collections, by which Kafka's coordinator decides between equals.

Its assignors walk through hash maps and take from priority queues. Where members or processes are
equally good the order of those decides who gets a partition or a task; the same order here gives
the same answer, and a group that changes hands keeps its target. Pure.
"""

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from ottla.coordination.java_hash import java_hash_code

T = TypeVar("T")

LEAST_BUCKETS = 16
LOAD_FACTOR = 0.75


def hash_map_order(keys: Iterable[str], capacity: int = LEAST_BUCKETS) -> list[str]:
    """As a HashMap made with this capacity iterates; within a bucket as they were put in."""
    known = list(keys)
    buckets = 1
    while buckets < capacity or len(known) > buckets * LOAD_FACTOR:
        buckets *= 2
    return sorted(known, key=lambda key: _bucket(java_hash_code(key), buckets))


def _bucket(code: int, buckets: int) -> int:
    return (code ^ code >> 16) & (buckets - 1)


class PriorityQueue(Generic[T]):
    """A binary heap whose least element by `rank` comes first, and of equals the one that Java's
    would give: `heapq` sifts in another way."""

    def __init__(self, elements: Iterable[T], rank: Callable[[T], float]) -> None:
        self._heap: list[T] = []
        self._rank = rank
        for element in elements:
            self.add(element)

    def __bool__(self) -> bool:
        return bool(self._heap)

    def add(self, element: T) -> None:
        heap, rank = self._heap, self._rank(element)
        heap.append(element)
        at = len(heap) - 1
        while at > 0:
            parent = (at - 1) // 2
            if rank >= self._rank(heap[parent]):
                break
            heap[at] = heap[parent]
            at = parent
        heap[at] = element

    def poll(self) -> T:
        heap = self._heap
        first, last = heap[0], heap.pop()
        if heap:
            self._sift_down(last)
        return first

    def _sift_down(self, element: T) -> None:
        heap, rank, at = self._heap, self._rank(element), 0
        while (child := 2 * at + 1) < len(heap):
            right = child + 1
            if right < len(heap) and self._rank(heap[child]) > self._rank(heap[right]):
                child = right
            if rank <= self._rank(heap[child]):
                break
            heap[at] = heap[child]
            at = child
        heap[at] = element
