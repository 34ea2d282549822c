"""Kafka's answers to an area's first seeds, as text: for quick tests, and where there is no Java.

A file has each different answer once, on a line of its own (`{"&":7}` in it is what line 7 says,
counted from 0), then a line per seed with the numbers of its answers. A step where Kafka varied
between two runs has none. Where Ottla is known to differ, the answers end before that step and
`open` says how: a difference that is still to be mended.
"""

import json
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from zlib import crc32

from differential.comparable import Comparable, text
from differential.comparing import KAFKA_AGAIN, Difference, Runner, Sides, first_difference, steady
from differential.running import patient
from differential.steps import Area, Sequence, Step
from differential.waiting import drive

FOLDER = Path(__file__).with_name("recorded")
BYTES_MAX = 220_000
"""Of one area; seeds beyond that are left out."""
WORTH_A_LINE = 60
WARMING = 24
LINE = "&"


@dataclass(frozen=True)
class Recorded:
    seed: int
    drawn: int
    """Tells whether the area still draws what was recorded."""
    answers: list[Comparable]
    open: str | None


def path_of(area: Area) -> Path:
    return FOLDER / f"{area.name}.jsonl"


def fingerprint(sequence: Sequence) -> int:
    return crc32("\n".join(map(str, (*sequence.topics, *sequence.moves))).encode())


class Values:
    """Values on lines: what is long and comes again, also inside others, is written once."""

    def __init__(self) -> None:
        self.lines: dict[str, int] = {}

    def number(self, value: Comparable) -> int:
        return self.lines.setdefault(text(self.folded(value)), len(self.lines))

    def folded(self, value: Comparable) -> Comparable:
        """The value with its longer parts named by their lines, which stand above."""
        if isinstance(value, dict):
            return {name: self.part(inside) for name, inside in value.items()}
        if isinstance(value, list):
            return [self.part(inside) for inside in value]
        return value

    def part(self, value: Comparable) -> Comparable:
        is_short = not isinstance(value, dict | list) or len(text(value)) < WORTH_A_LINE
        return value if is_short else {LINE: self.number(value)}


def unfolded(value: Comparable, above: list[Comparable]) -> Comparable:
    if isinstance(value, dict):
        if LINE in value:
            return above[value[LINE]]
        return {name: unfolded(inside, above) for name, inside in value.items()}
    if isinstance(value, list):
        return [unfolded(inside, above) for inside in value]
    return value


def record(area: Area, both: Sides, workers: int) -> tuple[int, int]:
    """How many seeds were written, and how many of them are open."""
    before = {one.seed: one for one in recorded(area)} if area.kafka_varies else {}
    with ThreadPoolExecutor(workers) as pool:
        drawn = [area.sequence(seed) for seed in (*area.also, *range(area.seeds_in_tests))]
        # A Java that has just started is slow, and what it is asked first would vary.
        list(pool.map(lambda sequence: drive(both.kafka(sequence, patient)), drawn[:WARMING]))
        looked = pool.map(lambda sequence: drive(look(area, both, sequence)), drawn)
        written = write(area, (further(one, before.get(one.seed)) for one in looked))
        pool.shutdown(wait=False, cancel_futures=True)
    return written


def write(area: Area, records: Iterable[Recorded]) -> tuple[int, int]:
    """As many as there is room for."""
    values = Values()
    seeds: list[str] = []
    opened = size = 0
    for one in records:
        known = len(values.lines)
        row = [None if answer is None else values.number(answer) for answer in one.answers]
        line = {"seed": one.seed, "drawn": one.drawn, "answers": row}
        if one.open is not None:
            line["open"] = one.open
        size += len(text(line)) + sum(len(new) + 1 for new in list(values.lines)[known:])
        if size > BYTES_MAX:
            values.lines = dict(list(values.lines.items())[:known])
            break
        seeds.append(text(line))
        opened += one.open is not None
    FOLDER.mkdir(exist_ok=True)
    path_of(area).write_text("".join(f"{line}\n" for line in (*values.lines, *seeds)))
    return len(seeds), opened


def further(now: Recorded, before: Recorded | None) -> Recorded:
    """Where Kafka varies a sequence ends by chance: it stays as it was if it went further then."""
    if before is None or before.drawn != now.drawn or now.open or before.open:
        return now
    return before if len(before.answers) > len(now.answers) else now


async def look(area: Area, both: Sides, sequence: Sequence) -> Recorded:
    """Where Ottla differs Kafka is asked more often: its answer may be one of several."""
    answers = await asked_again(area, both, sequence, await both.kafka(sequence, patient), 1)
    if area.kafka_varies:
        answers = await asked_again(area, both, sequence, answers, KAFKA_AGAIN // 2)
    found = await differs(area, sequence, answers, both.ottla)
    if found is not None:
        answers = await asked_again(area, both, sequence, answers, KAFKA_AGAIN)
        found = await differs(area, sequence, answers, both.ottla)
    kept = answers if found is None else answers[: found.at]
    said = None if found is None else found.kind
    return Recorded(sequence.seed, fingerprint(sequence), kept, said)


async def asked_again(
    area: Area, both: Sides, sequence: Sequence, answers: list[Comparable], times: int
) -> list[Comparable]:
    """What stays the same; only the beginning of it where all that follows may hang on a coin."""
    for _ in range(times):
        again = await both.kafka(sequence, patient)
        answers = steady(answers, again[: len(answers)])
    steps = enumerate(zip(sequence.moves, answers, strict=False))
    varied = (n for n, (move, said) in steps if isinstance(move, Step) and said is None)
    return answers[: next(varied, len(answers))] if area.kafka_varies else answers


async def differs(
    area: Area, sequence: Sequence, kafka: list[Comparable], ottla: Runner
) -> Difference | None:
    """The first difference that is there three times, since a busy machine delays who is asked;
    six times where it may be one side of a coin."""
    asked = replace(sequence, moves=sequence.moves[: len(kafka)])
    for _ in range(6 if area.kafka_varies else 3):
        found = first_difference(asked, "patient", kafka, await ottla(asked, patient))
        if found is None:
            return None
    return found


def recorded(area: Area) -> Iterator[Recorded]:
    above: list[Comparable] = []
    path = path_of(area)
    for line in path.read_text().splitlines() if path.exists() else ():
        said = json.loads(line)
        if isinstance(said, dict) and "drawn" in said:
            row = [None if number is None else above[number] for number in said["answers"]]
            yield Recorded(said["seed"], said["drawn"], row, said.get("open"))
        else:
            above.append(unfolded(said, above))
