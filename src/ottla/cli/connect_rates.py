"""Rates, lag and errors of connectors, from two looks at a Connect and its Kafka. Pure.

A sink is as fast as its group moves, a source as its topics grow (whoever else writes to them, and
the ends of transactions, count too). What nobody told is None. Absent: asking, and drawing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Place = tuple[str, int]  # topic and partition
Offsets = Mapping[Place, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One connector at one moment."""

    status: Mapping[str, Any]  # as REST answers
    config: Mapping[str, str]
    stands_at: Offsets | None = None  # a sink's group; None: it was not told
    topics: Sequence[str] | None = None  # that it is known to use; None: it was not told


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    at_s: float
    connectors: Mapping[str, Seen]
    begins: Offsets | None = None  # of the topics' partitions; None: Kafka was not asked
    ends: Offsets | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    name: str
    kind: str
    state: str
    tasks: int
    running: int
    rate: float | None = None  # records a second
    lag: int | None = None
    failed: int = 0  # tasks
    dead_letters: int | None = None
    traces: Sequence[str] = field(default_factory=tuple)  # the first line of each

    def as_json(self) -> dict[str, Any]:
        return {
            "connector": self.name,
            "type": self.kind,
            "state": self.state,
            "tasks": self.tasks,
            "running": self.running,
            "records_per_second": None if self.rate is None else round(self.rate, 1),
            "lag": self.lag,
            "failed_tasks": self.failed,
            "dead_letters": self.dead_letters,
            "errors": list(self.traces),
        }


def topics_of(seen: Seen) -> set[str]:
    """Those whose ends are to be known: read, written, or filled with dead letters."""
    named = {one.strip() for one in seen.config.get("topics", "").split(",")}
    read = {topic for topic, _ in seen.stands_at or {}}
    return ({*(seen.topics or ()), *named, *read} | {_dead_letters(seen)}) - {""}


def lines(before: Sample | None, now: Sample) -> list[Line]:
    return [_line(name, before, now) for name in sorted(now.connectors)]


def _line(name: str, before: Sample | None, now: Sample) -> Line:
    seen = now.connectors[name]
    tasks = seen.status["tasks"]
    everyone = [seen.status["connector"], *tasks]
    return Line(
        name=name,
        kind=seen.status["type"],
        state=seen.status["connector"]["state"],
        tasks=len(tasks),
        running=sum(one["state"] == "RUNNING" for one in tasks),
        rate=None if before is None else _rate(name, before, now),
        lag=_lag(seen, now),
        failed=sum(one["state"] == "FAILED" for one in everyone),
        dead_letters=_count(now, _dead_letters(seen)),
        traces=[one["trace"].splitlines()[0] for one in everyone if one.get("trace")],
    )


def _rate(name: str, before: Sample, now: Sample) -> float | None:
    """Over the partitions that both looks know: a new one would count all that it ever held."""
    then, seen = before.connectors.get(name), now.connectors[name]
    passed_s = now.at_s - before.at_s
    if then is None or passed_s <= 0:
        return None
    if seen.status["type"] == "sink":
        old, new = then.stands_at, seen.stands_at
    else:
        if seen.topics is None:
            return None
        old, new = before.ends, now.ends
        if new is not None:
            new = {place: end for place, end in new.items() if place[0] in seen.topics}
    if old is None or new is None:
        return None
    moved = sum(offset - old[place] for place, offset in new.items() if place in old)
    return max(0.0, moved / passed_s)


def _lag(seen: Seen, now: Sample) -> int | None:
    """What a sink has still to read; where it has not begun, all that is there."""
    if seen.status["type"] != "sink" or seen.stands_at is None:
        return None
    if now.ends is None or now.begins is None:
        return None
    read = topics_of(seen) - {_dead_letters(seen)}
    return sum(
        max(0, end - seen.stands_at.get(place, now.begins.get(place, end)))
        for place, end in now.ends.items()
        if place[0] in read
    )


def _count(now: Sample, topic: str) -> int | None:
    if not topic or now.ends is None or now.begins is None:
        return None
    places = [place for place in now.ends if place[0] == topic]
    return sum(now.ends[place] - now.begins.get(place, 0) for place in places)


def _dead_letters(seen: Seen) -> str:
    return seen.config.get("errors.deadletterqueue.topic.name", "").strip()
