"""The order in which Java's HashMap gives its keys. Pure.

Connect writes maps in that order, and finds some records by their bytes.
"""

from collections.abc import Collection, Mapping
from typing import TypeVar

V = TypeVar("V")
_WORD = 0xFFFFFFFF


def string_hash(text: str) -> int:
    """String.hashCode, without a sign."""
    hashed = 0
    units = text.encode("utf-16-be")
    for at in range(0, len(units), 2):
        hashed = (hashed * 31 + (units[at] << 8 | units[at + 1])) & _WORD
    return hashed


def hash_order(names: Collection[str]) -> list[str]:
    """As they come out of a map that they were put into one after the other."""
    buckets = 16
    while len(names) > buckets * 3 // 4:
        buckets *= 2
    spread = {name: (hashed := string_hash(name)) ^ hashed >> 16 for name in names}
    return sorted(names, key=lambda name: spread[name] & (buckets - 1))


def in_hash_order(fields: Mapping[str, V]) -> dict[str, V]:
    return {name: fields[name] for name in hash_order(list(fields))}
