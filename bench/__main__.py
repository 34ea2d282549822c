"""usage: python -m bench [--quick] [--nodes 1|3] [--rounds 5] [--only WORDS] [--write FILE] …"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from bench import cluster, rounds
from bench.report import Values, compare, put, table
from bench.rounds import Load
from support.brokers import Kind
from support.jars import KAFKA_VERSION

KINDS: tuple[Kind, Kind] = ("kafka", "ottla")


class Section(NamedTuple):
    """A table of its own: fresh nodes for each round and kind, put under its loads."""

    title: str
    loads: list[Load]
    measure: Callable[[Kind, list[Load]], Values]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench", description="Apache Kafka and Ottla in ratios.")
    parser.add_argument("--quick", action="store_true", help="a tenth of the records, two rounds")
    parser.add_argument("--nodes", type=int, choices=[1, 3], help="only one node each, or three")
    parser.add_argument("--rounds", type=int, help="rounds in turn (5, quick: 2)")
    parser.add_argument("--stored-gb", type=float, default=10, help="size of the large log")
    parser.add_argument("--only", nargs="+", default=[""], help="loads with one of these words")
    parser.add_argument("--write", type=Path, help="put the tables of a full run into this page")
    return parser.parse_args()


def sections(given: argparse.Namespace) -> list[Section]:
    one = rounds.loads(quick=given.quick, stored_gb=given.stored_gb)
    three = cluster.loads(quick=given.quick)
    all_of_them = {
        1: Section("One node", one, rounds.measure),
        3: Section("Three nodes", three, cluster.measure),
    }
    return [section for nodes, section in all_of_them.items() if given.nodes in (None, nodes)]


def compared(section: Section, given: argparse.Namespace) -> bool:
    """Whether Ottla is behind somewhere."""
    count = given.rounds or (2 if given.quick else 5)
    selected = [load for load in section.loads if any(word in load.name for word in given.only)]
    values: dict[Kind, list[Values]] = {kind: [] for kind in KINDS}
    for number in range(1, count + 1):
        for kind in KINDS:
            print(f"{section.title}, round {number} of {count}: {kind}", file=sys.stderr)
            values[kind].append(section.measure(kind, selected))
    lines = compare(values["kafka"], values["ottla"])
    note = ", a quick run" if given.quick else ""
    text = table(lines, title=section.title, rounds=count, version=KAFKA_VERSION, note=note)
    print(text, flush=True)
    if given.write and not given.quick and len(selected) == len(section.loads):
        put(section.title, text, given.write)
    return any(line.behind for line in lines)


def main() -> int:
    given = arguments()
    behind = [compared(section, given) for section in sections(given)]
    return any(behind)


if __name__ == "__main__":
    sys.exit(main())
