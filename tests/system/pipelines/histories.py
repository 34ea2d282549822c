"""Histories that operators are compared with plain Python on: drawn from a seed, played in batches.

A history has what streams have in life: records out of order and far too late, records that were
sent twice, updates, and tombstones of keys that are there or not.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

from ottla.testing import Driver

T0 = 1_767_225_600_000  # 2026-01-01T00:00:00Z
KEYS = "abcd"


@dataclass(frozen=True)
class Sent:
    """One record of a history; the value None is a tombstone."""

    topic: str
    key: str
    value: dict[str, Any] | None
    at_ms: int


Batch = list[Sent]
Draw = Callable[[Random], dict[str, Any] | None]


def draw(
    seed: int, topics: dict[str, Draw], *, batches: int = 3, size: int = 14, keys: str = KEYS
) -> list[Batch]:
    """Batches over the topics: a clock that goes on, records around it, a fifth of them twice."""
    chance = Random(seed)
    history: list[Batch] = []
    now = 0.0
    for _ in range(batches):
        batch: Batch = []
        for _ in range(size):
            now += chance.choice((0, 0.3, 1, 2.5))
            late = chance.choice((0, 0, 0, 0, 0.2, 4, 9, 40))
            topic = chance.choice(list(topics))
            sent = Sent(
                topic,
                chance.choice(keys),
                topics[topic](chance),
                T0 + max(0, round((now - late) * 1000)),
            )
            batch += [sent] * (2 if chance.random() < 0.2 else 1)
        history.append(batch)
    return history


def play(driver: Driver, history: list[Batch]) -> Iterator[Batch]:
    """Send batch after batch; each has passed all stages when it is yielded."""
    for batch in history:
        for sent in batch:
            driver.send(sent.topic, sent.value, key=sent.key, timestamp_ms=sent.at_ms)
        driver.settle()
        yield batch


def latest(history: list[Batch], topic: str) -> dict[str, dict[str, Any]]:
    """The topic as a table."""
    rows = {sent.key: sent.value for batch in history for sent in batch if sent.topic == topic}
    return {key: value for key, value in rows.items() if value is not None}


def or_tombstone(make: Callable[[Random], dict[str, Any]]) -> Draw:
    return lambda chance: None if chance.random() < 0.25 else make(chance)
