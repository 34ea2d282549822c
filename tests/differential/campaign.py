"""Thousands of sequences of an area, a slice of time after another: each goes on where the last
stopped.

Several processes ask at once. A sequence that is answered otherwise is only noted; when the slice
is over those are judged again, a few at a time, as `compare` does: Kafka nine times, Ottla five.
Every slice appends one line to a file, and `totals` adds them up.
"""

import json
import multiprocessing
import os
import sys
import threading
import time
import traceback
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from multiprocessing.queues import SimpleQueue
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import Any

from differential.areas import area
from differential.brokers import serving
from differential.comparing import (
    MODES,
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
from support.brokers import die_with_parent

FIRST_SEED = 10_000
"""Nobody has looked at what these draw."""
SEEDS_MAX = 2000
"""Per pair of brokers: then new ones, without the past of all those before."""
PROCESSES = 3
CONFIRMING = 4
SWITCH_S = 0.0005
"""Threads that wait for answers are quickly served when they have come."""


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


@dataclass(frozen=True)
class Plan:
    """What a process needs to know."""

    area: str
    kafka: str
    ottla: str
    end: int
    deadline: float


def run_slice(one: Area, log: Path, seconds: float, seeds_max: int) -> Slice:
    """Of an area, with brokers of its own."""
    first = next_seed(log, one.name)
    end = min(first + SEEDS_MAX, FIRST_SEED + seeds_max)
    if first >= end:
        return Slice(one.name, first, first, 0, today())
    with serving("kafka", one.settings) as kafka, serving("ottla", one.settings) as ottla:
        return ask_slice(one, kafka, ottla, log, seconds, end)


def ask_slice(
    one: Area, kafka: Broker, ottla: Broker, log: Path, seconds: float, end: int
) -> Slice:
    """As many seeds as the time allows, then what was noted, judged again."""
    first, began = next_seed(log, one.name), time.monotonic()
    plan = Plan(one.name, kafka.bootstrap, ottla.bootstrap, end, began + seconds)
    reached, suspects = ask_all(plan, first)
    spent = time.monotonic() - began
    done = Slice(one.name, first, reached, round(spent), today(), len(suspects))
    confirm(one, sides(one, kafka, ottla), suspects, done)
    keep(log, done)
    return done


def keep(log: Path, done: Slice) -> None:
    with log.open("a") as file:
        file.write(json.dumps(asdict(done)) + "\n")


def next_seed(log: Path, name: str) -> int:
    return max((line["end"] for line in lines(log, name)), default=FIRST_SEED)


def ask_all(plan: Plan, first: int) -> tuple[int, list[Suspect]]:
    """The seed that comes next, and what was answered otherwise."""
    seed: Any = multiprocessing.Value("l", first)
    found: SimpleQueue[Suspect | str | None] = multiprocessing.SimpleQueue()
    workers = [
        multiprocessing.Process(target=work, args=(plan, seed, found), daemon=True)
        for _ in range(PROCESSES)
    ]
    for worker in workers:
        worker.start()
    suspects: list[Suspect] = []
    for _ in workers:
        while (told := found.get()) is not None:
            if isinstance(told, str):
                raise SystemExit(told)
            suspects.append(told)
            print(f"  {told.seed} {told.mode}: {told.kind}", flush=True)
    for worker in workers:
        worker.join()
    return seed.value, suspects


def work(plan: Plan, seed: "Synchronized[int]", found: "SimpleQueue[Suspect | str | None]") -> None:
    """One process: its threads take seed after seed."""
    die_with_parent()
    sys.setswitchinterval(SWITCH_S)
    one = area(plan.area)
    both = sides(one, Broker(plan.kafka), Broker(plan.ottla))
    threads = one.at_once // PROCESSES
    try:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(lambda _: ask_some(one, both, plan, seed, found), range(threads)))
    except BaseException:  # whatever it was, the slice must not count
        found.put(traceback.format_exc())
    found.put(None)


def ask_some(
    one: Area,
    both: Sides,
    plan: Plan,
    seed: "Synchronized[int]",
    found: "SimpleQueue[Suspect | str | None]",
) -> None:
    while time.monotonic() < plan.deadline:
        with seed.get_lock():
            mine = seed.value
            if mine >= plan.end:
                return
            seed.value = mine + 1
        sequence = one.sequence(mine)
        for mode in one.modes:
            kafka, ottla = both.kafka(sequence, MODES[mode]), both.ottla(sequence, MODES[mode])
            difference = first_difference(sequence, mode, kafka, ottla, in_a_crowd=True)
            if difference is not None and not is_only_hurry(both, difference):
                found.put(Suspect(mine, mode, difference.kind))


def confirm(one: Area, both: Sides, suspects: Iterable[Suspect], done: Slice) -> None:
    lock = threading.Lock()

    def judge(suspect: Suspect) -> None:
        found = compare(both, one.sequence(suspect.seed), suspect.mode)
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


def shortest(both: Sides, found: Difference) -> Difference:
    return shrink(found, lambda tried: compare(both, tried, found.mode, again=1))


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
