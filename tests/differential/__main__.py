"""`make differential`: the same sequences to Apache Kafka and to Ottla, answer by answer.

    make differential ARGS="--area transactions --seeds 0-10000"
    make differential ARGS="campaign --area topics --log FILE --seconds 420"
    make differential ARGS="record"

Differences are shrunk and told; the first of each kind in full, the others by their seeds.
"""

import argparse
import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from random import Random

from differential.areas import NAMES, area
from differential.brokers import restartable, serving
from differential.campaign import FIRST_SEED, run_slice, shortest, show, totals
from differential.comparing import NOTHING, Difference, Sides, compare, sides
from differential.nodes import COUNT, clustered
from differential.recording import record
from differential.report import report
from differential.running import Broker
from differential.steps import Area, Kill, Restart, Sequence
from differential.waiting import drive
from support.brokers import Kind

ROUND = 1000
"""Sequences per pair of brokers: then new ones, without the past of all those before."""


class Findings:
    """What was found so far, by kind."""

    def __init__(self) -> None:
        self.by_kind: dict[str, list[Difference]] = {}
        self.lock = threading.Lock()

    def add(self, found: Difference) -> bool:
        """Whether it is the first of its kind."""
        with self.lock:
            same = self.by_kind.setdefault(found.kind, [])
            same.append(found)
            return len(same) == 1

    def summary(self) -> Iterator[str]:
        for kind, found in sorted(self.by_kind.items(), key=lambda item: -len(item[1])):
            seeds = ", ".join(f"{each.sequence.seed} {each.mode}" for each in found[:5])
            often = sum(each.repeated for each in found)
            yield f"{len(found)} ({often} every time): {kind}\n    seeds {seeds}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="make differential", description=__doc__)
    parser.add_argument(
        "action", nargs="?", choices=("compare", "campaign", "totals", "record"), default="compare"
    )
    parser.add_argument("--area", action="append", choices=NAMES)
    parser.add_argument("--seeds", default="0-1000", help="0-1000, or 4,17")
    parser.add_argument("--mode", choices=("patient", "impatient"))
    parser.add_argument("--workers", type=int, default=6)
    parser.add_argument("--restarts", action="store_true", help="one in the middle of each")
    parser.add_argument(
        "--nodes",
        type=int,
        choices=(1, COUNT),
        default=1,
        help="3: a coordinator is killed in each",
    )
    parser.add_argument("--kinds", type=int, default=20, help="stop after so many kinds")
    parser.add_argument(
        "--past", default=NOTHING, help="a pattern: go past differences of such kinds"
    )
    parser.add_argument("--whole", action="store_true", help="do not shrink")
    parser.add_argument("--log", type=Path, help="a campaign's file")
    parser.add_argument(
        "--begin", type=int, default=FIRST_SEED, help="a campaign's first seed where FILE has none"
    )
    parser.add_argument("--at-once", type=int, help="of a campaign: how many sequences")
    parser.add_argument("--sequences", type=int, default=10_000, help="of a campaign")
    parser.add_argument("--seconds", type=float, default=420, help="of a campaign's slice")
    asked = parser.parse_args()
    if asked.action == "totals":
        print(*totals(asked.log), sep="\n")
        return 0
    if asked.restarts or asked.nodes > 1:
        asked.mode = "patient"
    return max([act(area(name), asked) for name in asked.area or NAMES])


def act(one: Area, asked: argparse.Namespace) -> int:
    if asked.action == "record":
        record_area(one, asked.workers)
        return 0
    if asked.action == "campaign":
        one = replace(one, at_once=asked.at_once or one.at_once)
        done = run_slice(one, asked.log, asked.seconds, asked.sequences, asked.begin)
        show(done)
        return 1 if done.differences else 0
    return judge(one, seeds_of(asked.seeds), asked)


def seeds_of(said: str) -> list[int]:
    found: list[int] = []
    for part in said.split(","):
        first, _, end = part.partition("-")
        found += range(int(first), int(end)) if end else [int(first)]
    return found


def judge(one: Area, seeds: list[int], asked: argparse.Namespace) -> int:
    findings, began = Findings(), time.monotonic()
    for start in range(0, len(seeds), ROUND):
        judge_round(one, seeds[start : start + ROUND], findings, asked)
        done = min(start + ROUND, len(seeds))
        print(f"{one.name}: {done} seeds, {time.monotonic() - began:.0f} s", flush=True)
    for line in findings.summary():
        print(line)
    every_time = [f for found in findings.by_kind.values() for f in found if f.repeated]
    print(f"{one.name}: {len(seeds)} seeds, {len(every_time)} differences", flush=True)
    return 1 if every_time else 0


def record_area(one: Area, workers: int) -> None:
    with serving("kafka", one.settings) as kafka, serving("ottla", one.settings) as ottla:
        seeds, opened = record(one, sides(one, kafka, ottla), workers)
    print(f"{one.name}: {seeds} seeds recorded, {opened} of them end at a difference", flush=True)


def judge_round(one: Area, seeds: list[int], findings: Findings, asked: argparse.Namespace) -> None:
    with start("kafka", one, asked) as kafka, start("ottla", one, asked) as ottla:
        both = sides(one, kafka, ottla)
        with ThreadPoolExecutor(asked.workers) as pool:
            list(pool.map(lambda seed: judge_seed(one, both, seed, findings, asked), seeds))


def start(
    kind: Kind, one: Area, asked: argparse.Namespace
) -> contextlib.AbstractContextManager[Broker]:
    if asked.nodes > 1:
        return clustered(kind, one)
    return (restartable if asked.restarts else serving)(kind, one.settings)


def judge_seed(
    one: Area, both: Sides, seed: int, findings: Findings, asked: argparse.Namespace
) -> None:
    if len(findings.by_kind) >= asked.kinds:
        return
    for mode in [asked.mode] if asked.mode else one.modes:
        sequence = one.sequence(seed)
        if asked.restarts or asked.nodes > 1:
            sequence = interrupted(sequence, Restart() if asked.restarts else Kill())
        found = drive(compare(both, sequence, mode, asked.past))
        if found is None or not findings.add(found):
            continue
        print(f"{one.name}, seed {seed}, {mode}: {found.kind}", flush=True)
        if not found.repeated:
            continue
        if not asked.whole:
            found = shortest(both, found, asked.past)
        print(report(found) + "\n", flush=True)


def interrupted(sequence: Sequence, by: Restart | Kill) -> Sequence:
    """Somewhere between the first and the last quarter."""
    moves, quarter = sequence.moves, len(sequence.moves) // 4
    at = Random(sequence.seed).randint(quarter, len(moves) - quarter)
    return replace(sequence, moves=(*moves[:at], by, *moves[at:]))


if __name__ == "__main__":
    sys.exit(main())
