"""Thousands of sequences of an area, a slice of time after another: each goes on where the last
stopped.

Many are asked at once, by one thread. A sequence that is answered otherwise is only noted; when the
slice is over those are judged again, a few at a time, as `compare` does: Kafka nine times, Ottla
five.
Every slice appends one line to a file, and `totals` adds them up.
"""

import json
import os
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from differential.brokers import serving
from differential.comparing import (
    MODES,
    NOTHING,
    Difference,
    Sides,
    compare,
    first_difference,
    is_only_hurry,
    sides,
)
from differential.report import report
from differential.running import Broker
from differential.shrinking import shrink
from differential.steps import Area
from differential.waiting import Run, drive, drive_all

FIRST_SEED = 10_000
"""Nobody has looked at what these draw."""
SEEDS_MAX = 2000
"""Per pair of brokers: then new ones, without the past of all those before."""
CONFIRMING = 4
SETTINGS = {
    "transactional.id.expiration.ms": "180000",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "10000",
    "offsets.retention.minutes": "3",
    "offsets.retention.check.interval.ms": "60000",
    "num.network.threads": "1",
    "num.io.threads": "3",
}
"""Lists of all groups and transactions would grow with every sequence before, and what they cost
with them: what nobody has used for minutes is forgotten, long after its sequence."""


@dataclass(frozen=True)
class Suspect:
    seed: int
    mode: str
    kind: str


@dataclass
class Slice:
    """A line of the file: seeds `first` to `end`, in every mode of the area."""

    area: str
    first: int
    end: int
    seconds: float
    date: str
    suspects: int = 0
    differences: list[Suspect] = field(default_factory=list)
    not_every_time: list[Suspect] = field(default_factory=list)


def run_slice(
    one: Area, log: Path, seconds: float, seeds_max: int, begin: int = FIRST_SEED
) -> Slice:
    """Of an area, with brokers of its own. `begin` is for a log that does not know what others,
    which are gone, had come to."""
    first = next_seed(log, one.name, begin)
    end = min(first + SEEDS_MAX, FIRST_SEED + seeds_max)
    if first >= end:
        return Slice(one.name, first, first, 0, today())
    settings = {**SETTINGS, **one.settings}
    with serving("kafka", settings) as kafka, serving("ottla", settings) as ottla:
        return ask_slice(one, kafka, ottla, log, seconds, range(first, end))


def ask_slice(
    one: Area, kafka: Broker, ottla: Broker, log: Path, seconds: float, seeds: range
) -> Slice:
    """As many seeds as the time allows, then what was noted, judged again."""
    began = time.monotonic()
    both = sides(one, kafka, ottla)
    reached, suspects = ask_all(one, both, seeds, began + seconds)
    spent = time.monotonic() - began
    done = Slice(one.name, seeds.start, reached, round(spent), today(), len(suspects))
    confirm(one, both, suspects, done)
    keep(log, done)
    return done


def keep(log: Path, done: Slice) -> None:
    with log.open("a") as file:
        file.write(json.dumps(asdict(done)) + "\n")


def next_seed(log: Path, name: str, begin: int = FIRST_SEED) -> int:
    return max((line["end"] for line in lines(log, name)), default=begin)


def ask_all(one: Area, both: Sides, seeds: range, deadline: float) -> tuple[int, list[Suspect]]:
    """The seed that comes next, and what was answered otherwise."""
    suspects: list[Suspect] = []
    reached = seeds.start

    def runs() -> Iterator[Run[None]]:
        nonlocal reached
        for seed in seeds:
            if time.monotonic() >= deadline:
                return
            reached = seed + 1
            yield ask(one, both, seed, suspects)

    drive_all(runs(), one.at_once)
    return reached, suspects


async def ask(one: Area, both: Sides, seed: int, suspects: list[Suspect]) -> None:
    sequence = one.sequence(seed)
    for mode in one.modes:
        kafka = await both.kafka(sequence, MODES[mode])
        ottla = await both.ottla(sequence, MODES[mode])
        found = first_difference(sequence, mode, kafka, ottla, in_a_crowd=True)
        if found is not None and not await is_only_hurry(both, found):
            suspects.append(Suspect(seed, mode, found.kind))
            print(f"  {seed} {mode}: {found.kind}", flush=True)


def confirm(one: Area, both: Sides, suspects: Iterable[Suspect], done: Slice) -> None:
    lock = threading.Lock()

    def judge(suspect: Suspect) -> None:
        found = drive(compare(both, one.sequence(suspect.seed), suspect.mode))
        if found is None:
            return
        with lock:
            kept = done.differences if found.repeated else done.not_every_time
            is_first = all(each.kind != found.kind for each in kept)
            kept.append(Suspect(suspect.seed, suspect.mode, found.kind))
        if is_first and found.repeated:
            print(report(shortest(both, found)) + "\n", flush=True)

    with ThreadPoolExecutor(CONFIRMING) as pool:
        list(pool.map(judge, suspects))


def shortest(both: Sides, found: Difference, past: str = NOTHING) -> Difference:
    return shrink(found, lambda tried: drive(compare(both, tried, found.mode, past, again=1)))


def lines(log: Path, name: str | None = None) -> Iterator[dict[str, Any]]:
    if log.exists():
        for line in log.read_text().splitlines():
            told = json.loads(line)
            if name in (None, told["area"]):
                yield told


def totals(log: Path) -> Iterator[str]:
    """A line per area: how many seeds, how long, what was found."""
    told = list(lines(log))
    for name in sorted({line["area"] for line in told}):
        own = [line for line in told if line["area"] == name]
        count = sum(line["end"] - line["first"] for line in own)
        spent = sum(line["seconds"] for line in own)
        found = [each for line in own for each in line["differences"]]
        unsteady = sum(len(line["not_every_time"]) for line in own)
        seeds = ", ".join(f"{each['seed']} {each['mode']}" for each in found)
        yield (
            f"{name}: {count} seeds in {spent:.0f} s, {count / (spent or 1):.1f}/s;"
            f" {len(found)} differences ({seeds}), {unsteady} not every time"
        )


def today() -> str:
    return datetime.now(UTC).date().isoformat()


def show(done: Slice) -> None:
    rate = (done.end - done.first) / (done.seconds or 1)
    print(
        f"{done.area}: {done.first}-{done.end}, {done.seconds} s, {rate:.1f}/s,"
        f" {done.suspects} to look at, {len(done.differences)} differences,"
        f" {len(done.not_every_time)} not every time (process {os.getpid()})",
        flush=True,
    )
    for each in (*done.differences, *done.not_every_time):
        print(f"    {each.seed} {each.mode}: {each.kind}", flush=True)
