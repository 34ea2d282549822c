"""usage: python -m bench [--quick] [--rounds 5] [--stored-gb 10] [--only WORDS] [--write FILE]"""

import argparse
import sys
from pathlib import Path

from bench.report import Line, Values, compare, table
from bench.rounds import loads, measure
from support.brokers import Kind
from support.jars import KAFKA_VERSION


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench", description="Apache Kafka and Ottla in ratios.")
    parser.add_argument("--quick", action="store_true", help="a tenth of the records, two rounds")
    parser.add_argument("--rounds", type=int, help="rounds in turn (5, quick: 2)")
    parser.add_argument("--stored-gb", type=float, default=10, help="size of the large log")
    parser.add_argument("--only", default="", help="loads whose name contains this")
    parser.add_argument("--write", type=Path, help="write the table of a full run here")
    return parser.parse_args()


def main() -> int:
    given = arguments()
    rounds = given.rounds or (2 if given.quick else 5)
    selected = loads(quick=given.quick, stored_gb=given.stored_gb)
    selected = [load for load in selected if given.only in load.name]
    kinds: tuple[Kind, Kind] = ("kafka", "ottla")
    values: dict[Kind, list[Values]] = {kind: [] for kind in kinds}
    for number in range(1, rounds + 1):
        for kind in kinds:
            print(f"round {number} of {rounds}: {kind}", file=sys.stderr)
            values[kind].append(measure(kind, selected))
    lines = compare(values["kafka"], values["ottla"])
    note = ", a quick run" if given.quick else ""
    text = table(lines, rounds=rounds, version=KAFKA_VERSION, note=note)
    print(text)
    if given.write and not given.quick:
        given.write.write_text(text + conclusion(lines))
    print(conclusion(lines))
    return any(line.behind for line in lines)


def conclusion(lines: list[Line]) -> str:
    behind = [line.name for line in lines if line.behind]
    return (
        f"\nBehind in {len(behind)} lines: {', '.join(behind)}.\n"
        if behind
        else "\nBehind in no line.\n"
    )


if __name__ == "__main__":
    sys.exit(main())
