"""usage: python -m bench [--secured] [--quick] [--nodes 1|3] [--rounds 5] [--only WORDS] …

With `--values` a full run can be made in parts: the rounds of each table are kept there, new ones
are added, and the table is made of all.
"""

import argparse
import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from bench import cluster, rounds
from bench.report import Line, Values, compare, put, table
from bench.rounds import Load
from support.brokers import Kind
from support.jars import KAFKA_VERSION

KINDS: tuple[Kind, Kind] = ("kafka", "ottla")


class Section(NamedTuple):
    """A table of its own: fresh nodes for each round and kind, put under its loads."""

    title: str
    loads: list[Load]
    measure: Callable[[Kind, list[Load]], Values]
    command: str = "make bench"


Rounds = dict[Kind, list[Values]]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench", description="Apache Kafka and Ottla in ratios.")
    parser.add_argument("--quick", action="store_true", help="a tenth of the records, two rounds")
    parser.add_argument("--secured", action="store_true", help="SCRAM over TLS, and Kafka's rules")
    parser.add_argument("--nodes", type=int, choices=[1, 3], help="only one node each, or three")
    parser.add_argument("--rounds", type=int, help="rounds in turn (5, quick: 2)")
    parser.add_argument("--stored-gb", type=float, default=10, help="size of the large log")
    parser.add_argument("--only", nargs="+", default=[""], help="loads with one of these words")
    parser.add_argument("--values", type=Path, help="keep what is measured; go on from there")
    parser.add_argument("--write", type=Path, help="put the tables of a full run into this page")
    return parser.parse_args()


def sections(given: argparse.Namespace) -> list[Section]:
    secured: bool = given.secured
    one = rounds.loads(quick=given.quick, stored_gb=given.stored_gb, secured=secured)
    three = cluster.loads(quick=given.quick)
    all_of_them = {
        1: Section("One node", one, rounds.measure),
        3: Section("Three nodes", three, cluster.measure),
    }
    if secured:
        command = "make secured-bench"
        measure_one = partial(rounds.measure, secured=True)
        all_of_them = {
            1: Section("One node, SASL_SSL", one, measure_one, command),
            3: Section("Three nodes, SASL_SSL", three, cluster.measure_secured, command),
        }
    return [section for nodes, section in all_of_them.items() if given.nodes in (None, nodes)]


def compared(section: Section, given: argparse.Namespace) -> bool:
    """Whether Ottla is behind somewhere."""
    count = given.rounds if given.rounds is not None else (2 if given.quick else 5)
    selected = [load for load in section.loads if any(word in load.name for word in given.only)]
    kept = read_values(given.values)
    values = kept.setdefault(section.title, {kind: [] for kind in KINDS})
    for number in range(1, count + 1):
        for kind in KINDS:
            print(f"{section.title}, round {number} of {count}: {kind}", file=sys.stderr)
            values[kind].append(section.measure(kind, selected))
        if given.values:
            given.values.write_text(json.dumps(kept))
    lines = compare(values["kafka"], values["ottla"])
    text = table(
        lines,
        title=section.title,
        rounds=max(len(line.ratios) for line in lines),
        version=KAFKA_VERSION,
        note=", a quick run" if given.quick else "",
        command=section.command,
        is_whole=all(any(is_of(line, load) for line in lines) for load in section.loads),
    )
    print(text, flush=True)
    if given.write and not given.quick and len(selected) == len(section.loads):
        put(section.title, text, given.write)
    return any(line.behind for line in lines)


def is_of(line: Line, load: Load) -> bool:
    return line.name.startswith(f"{load.name}: ")


def read_values(file: Path | None) -> dict[str, Rounds]:
    if file is None or not file.exists():
        return {}
    found: dict[str, Rounds] = json.loads(file.read_text())
    return found


def main() -> int:
    given = arguments()
    behind = [compared(section, given) for section in sections(given)]
    return any(behind)


if __name__ == "__main__":
    sys.exit(main())
