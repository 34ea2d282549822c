"""usage: python -m bench.load [--quick] [--rounds 3] [--only WORDS] [--values FILE] [--write FILE]

A full run takes half an hour. With `--values` it can be made in parts: the rounds of each load are
kept there, new ones are added, and the table is made of all.
"""

import argparse
import json
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from bench.load import cold, commits, compaction, idle, memory
from bench.report import Values, compare, number, put, table
from support.brokers import Kind
from support.jars import KAFKA_VERSION

TITLE = "Under load"
KINDS: tuple[Kind, Kind] = ("kafka", "ottla")
Measured = dict[str, dict[Kind, list[Values]]]
"""By load and kind: the values of each round."""


class Load(NamedTuple):
    """On a fresh node in each round."""

    name: str
    measure: Callable[[Kind], Values]
    kinds: tuple[Kind, ...] = KINDS


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench.load", description="Neighbours under load.")
    parser.add_argument("--quick", action="store_true", help="a fourth of the data, one round")
    parser.add_argument("--rounds", type=int, help="rounds in turn (3, quick: 1)")
    parser.add_argument("--only", nargs="+", default=[""], help="loads with one of these words")
    parser.add_argument("--kind", choices=KINDS, help="one of the two alone, without ratios")
    parser.add_argument("--values", type=Path, help="keep what is measured; go on from there")
    parser.add_argument("--write", type=Path, help="put the table of a full run into this page")
    return parser.parse_args()


def loads(*, quick: bool) -> list[Load]:
    part = 4 if quick else 1
    return [
        Load("cold", partial(cold.measure, gigabytes=2 / part)),
        Load("compaction", partial(compaction.measure, gigabytes=1 / part)),
        Load("commits", partial(commits.measure, groups=1000)),
        Load("idle 2000", partial(idle.measure, partitions=2000)),
        # Apache Kafka takes minutes to make so many, and ten times the memory of the others.
        Load("idle 10000", partial(idle.measure, partitions=10_000), ("ottla",)),
        Load("memory", partial(memory.measure, groups=1000, commits=1_000_000 // part), ("ottla",)),
    ]


def alone_lines(values: dict[Kind, list[Values]]) -> str:
    """What was measured of Ottla alone, the median of its rounds."""
    rounds = values["ottla"]
    names = dict.fromkeys(name for one in rounds for name in one)
    lines = [
        f"- {name}: {number(statistics.median(one[name] for one in rounds if name in one))}"
        for name in names
        if not any(name in one for one in values["kafka"])
    ]
    return "\n".join(["\nOttla alone:\n", *lines, ""]) if lines else ""


def measure(
    selected: list[Load], kinds: Sequence[Kind], rounds: int
) -> Iterator[tuple[str, dict[Kind, Values]]]:
    """Kafka and Ottla in turn, load by load and round by round."""
    for turn in range(rounds):
        for load in selected:
            found: dict[Kind, Values] = {}
            for kind in [kind for kind in kinds if kind in load.kinds]:
                print(f"{load.name}, round {turn + 1} of {rounds}: {kind}", file=sys.stderr)
                found[kind] = load.measure(kind)
                for name, value in found[kind].items():
                    print(f"  {name}: {value:.4g}", file=sys.stderr)
            yield load.name, found


def add(measured: Measured, load: str, found: dict[Kind, Values]) -> None:
    rounds = measured.setdefault(load, {kind: [] for kind in KINDS})
    for kind, values in found.items():
        rounds[kind].append(values)


def by_round(measured: Measured) -> dict[Kind, list[Values]]:
    """All loads together, with a round for as many as there are of any."""
    rounds = max(len(found) for kinds in measured.values() for found in kinds.values())
    values: dict[Kind, list[Values]] = {kind: [{} for _ in range(rounds)] for kind in KINDS}
    for kinds in measured.values():
        for kind in KINDS:
            for turn, one in enumerate(kinds[kind]):
                values[kind][turn] |= one
    return values


def main() -> int:
    given = arguments()
    rounds = given.rounds or (1 if given.quick else 3)
    everything = loads(quick=given.quick)
    selected = [load for load in everything if any(word in load.name for word in given.only)]
    kept: Measured = {}
    if given.values and given.values.exists():
        kept = json.loads(given.values.read_text())
    for load, found in measure(selected, [given.kind] if given.kind else KINDS, rounds):
        add(kept, load, found)
        if given.values:
            given.values.write_text(json.dumps(kept))
    if given.kind:
        return 0
    measured = {one.name: kept[one.name] for one in everything if one.name in kept}
    values = by_round(measured)
    lines = compare(values["kafka"], values["ottla"])
    text = table(
        lines,
        title=TITLE,
        rounds=len(values["ottla"]),
        version=KAFKA_VERSION,
        note=", a quick run" if given.quick else "",
        command="make load-bench",
    )
    text += alone_lines(values)
    print(text, flush=True)
    if given.write and not given.quick and len(measured) == len(everything):
        put(TITLE, text, given.write)
    return any(line.behind for line in lines)


if __name__ == "__main__":
    sys.exit(main())
