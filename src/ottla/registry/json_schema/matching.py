"""The largest set of pairs in which nobody appears twice (maximum bipartite matching)."""

from collections.abc import Mapping, Sequence


def matching(edges: Mapping[int, Sequence[int]]) -> dict[int, int]:
    """Left -> right. Each left one is placed; one that is in its way moves if it can."""
    taken: dict[int, int] = {}  # right -> left
    for left in edges:
        _place(left, edges, taken, set())
    return {left: right for right, left in taken.items()}


def _place(
    left: int, edges: Mapping[int, Sequence[int]], taken: dict[int, int], tried: set[int]
) -> bool:
    for right in edges[left]:
        if right in tried:
            continue
        tried.add(right)
        if right not in taken or _place(taken[right], edges, taken, tried):
            taken[right] = left
            return True
    return False
