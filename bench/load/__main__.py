"""usage: python -m bench.load [--quick] [--rounds 3] [--only WORDS] [--write FILE]"""

import argparse
import statistics
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from bench.load import cold, commits, compaction, idle
from bench.report import Values, compare, number, put, table
from support.brokers import Kind
from support.jars import KAFKA_VERSION

TITLE = "Under load"
KINDS: tuple[Kind, Kind] = ("kafka", "ottla")


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
    ]


def alone_lines(values: dict[Kind, list[Values]]) -> str:
    """What was measured of Ottla alone."""
    rounds = values["ottla"]
    names = dict.fromkeys(name for one in rounds for name in one)
    lines = [
        f"- {name}: {number(statistics.median(one[name] for one in rounds if name in one))}"
        for name in names
        if not any(name in one for one in values["kafka"])
    ]
    return "\n".join(["\nOttla alone:\n", *lines, ""]) if lines else ""


def main() -> int:
    given = arguments()
    count = given.rounds or (1 if given.quick else 3)
    everything = loads(quick=given.quick)
    selected = [load for load in everything if any(word in load.name for word in given.only)]
    kinds = [given.kind] if given.kind else KINDS
    values: dict[Kind, list[Values]] = {kind: [{} for _ in range(count)] for kind in KINDS}
    for turn in range(count):
        for load in selected:
            for kind in [kind for kind in kinds if kind in load.kinds]:
                print(f"{load.name}, round {turn + 1} of {count}: {kind}", file=sys.stderr)
                found = load.measure(kind)
                for name, value in found.items():
                    print(f"  {name}: {value:.4g}", file=sys.stderr)
                values[kind][turn] |= found
    if given.kind:
        return 0
    alone = alone_lines(values)
    lines = compare(values["kafka"], values["ottla"])
    note = ", a quick run" if given.quick else ""
    text = table(
        lines,
        title=TITLE,
        rounds=count,
        version=KAFKA_VERSION,
        note=note,
        command="make load-bench",
    )
    text += alone
    print(text, flush=True)
    if given.write and not given.quick and len(selected) == len(everything):
        put(TITLE, text, given.write)
    return any(line.behind for line in lines)


if __name__ == "__main__":
    sys.exit(main())
