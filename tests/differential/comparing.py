"""Whether a sequence is answered alike, and where not.

A difference counts when Kafka gives the same answer nine times over, and we give ours five. What
is retriable is a matter of who was quicker: where one side is told so and the other is not, the
other must have been told what the first hears once it is patient at that step.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from differential import waiting
from differential.allowed import Place, is_allowed, line_of
from differential.comparable import Comparable, Leaf, differences, text
from differential.running import NOT_ASKED, Broker, Patience, impatient, patient, run
from differential.steps import RETRIABLE, Area, Kill, Restart, Sequence, Step

Runner = Callable[[Sequence, Patience], waiting.Run[list[Comparable]]]
MODES: dict[str, Patience] = {"patient": patient, "impatient": impatient}
NOTHING = "$^"
KAFKA_AGAIN = 8
"""Some answers hang on the order of new ids, or of their hashes: a coin that may fall alike thrice.
Ours is asked half as often."""
_WAITED_OUT = tuple(f'"{code.name}"' for code in RETRIABLE)


@dataclass(frozen=True)
class Sides:
    """How a sequence is put to either broker."""

    kafka: Runner
    ottla: Runner


@dataclass(frozen=True)
class Difference:
    sequence: Sequence
    mode: str
    at: int
    leaves: tuple[Leaf, ...]
    kafka: list[Comparable]
    ottla: list[Comparable]
    repeated: bool = True

    @property
    def kind(self) -> str:
        """The same for all differences of one cause, more or less."""
        step = self.sequence.moves[self.at]
        api = step.api if isinstance(step, Step) else ""
        path, kafka, ottla = min(self.leaves, key=lambda leaf: "error_code" not in leaf[0])
        said = f"{api} {path}: {text(kafka)} / {text(ottla)}"
        return re.sub(r"\d+", "#", said)[:300]


def sides(area: Area, kafka: Broker, ottla: Broker) -> Sides:
    return Sides(
        lambda sequence, patience: run(area, sequence, kafka, patience),
        lambda sequence, patience: run(area, sequence, ottla, patience),
    )


async def compare(
    both: Sides, sequence: Sequence, mode: str, past: str = NOTHING, again: int = KAFKA_AGAIN
) -> Difference | None:
    """The first step that is answered otherwise than by Kafka, but for the kinds to go past."""
    patience = MODES[mode]
    kafka, ottla = await both.kafka(sequence, patience), await both.ottla(sequence, patience)
    found = first_difference(sequence, mode, kafka, ottla, past)
    if found is None or await is_only_hurry(both, found):
        return None
    seen = [found]
    for _ in range(again):
        kafka = await both.kafka(sequence, patience)
        if mode == "impatient" and not is_alike(kafka, found):
            return None  # where nobody waits it has gone another way from there on
        other = first_difference(sequence, mode, kafka, ottla, past)
        if other is None:
            return None
        seen.append(other)
    furthest = most_alike(seen)
    if furthest is None or (is_racing(furthest) and await is_explained_by_patience(both, furthest)):
        return None
    for _ in range(again // 2 or 1):
        ottla = await both.ottla(sequence, patience)
        repeated = first_difference(sequence, mode, furthest.kafka, ottla, past)
        if repeated is None or repeated.at != furthest.at:
            return replace(furthest, repeated=False)
    return furthest


def is_alike(kafka: list[Comparable], found: Difference) -> bool:
    return kafka[: found.at + 1] == found.kafka[: found.at + 1]


def most_alike(seen: list[Difference]) -> Difference | None:
    """Of what several runs of Kafka differ in from one of ours, that of the runs that went our way
    the longest: if those are most of them, and agree. Otherwise Kafka varies, and nobody can tell
    what it would have said after what Ottla did."""
    at = max(each.at for each in seen)
    furthest = [each for each in seen if each.at == at]
    agree = all(each.kafka[at] == furthest[0].kafka[at] for each in furthest)
    return furthest[0] if agree and 2 * len(furthest) > len(seen) else None


def first_difference(
    sequence: Sequence,
    mode: str,
    kafka: list[Comparable],
    ottla: list[Comparable],
    past: str = NOTHING,
    in_a_crowd: bool = False,
) -> Difference | None:
    steps = list(differing(sequence, mode, kafka, ottla, in_a_crowd))
    for number, left, ends in steps:
        if left and not has_ended(sequence, number, [each.number for each in steps if each.ends]):
            found = Difference(sequence, mode, number, left, kafka, ottla)
            if not re.search(past, found.kind):
                return found
        if ends:
            return None
    return None


class Differing(NamedTuple):
    number: int
    left: tuple[Leaf, ...]
    """What no line of the list allows."""
    ends: bool
    """A line says that what comes after it does not count."""


def differing(
    sequence: Sequence,
    mode: str,
    kafka: list[Comparable],
    ottla: list[Comparable],
    in_a_crowd: bool,
) -> Iterator[Differing]:
    """A step of which Kafka's answer is None, because it varies, does not count."""
    place = Place(in_a_crowd)
    for number, step in enumerate(sequence.moves):
        if isinstance(step, Restart | Kill):
            place = place._replace(after_a_restart=True)
        if not isinstance(step, Step):
            continue
        before, place = place, place._replace(asked=(*place.asked, step.api))
        if kafka[number] in (None, NOT_ASKED):
            continue
        leaves = [
            leaf
            for leaf in differences(kafka[number], ottla[number])
            if mode == "patient" or not is_a_matter_of_time(leaf)
        ]
        lines = [(leaf, line_of(step, leaf, kafka[number], before)) for leaf in leaves]
        left = tuple(leaf for leaf, line in lines if line is None)
        ends = any(line is not None and line.ends for _, line in lines)
        if left or ends:
            yield Differing(number, left, ends)


def has_ended(sequence: Sequence, number: int, ending: list[int]) -> bool:
    """Whether the sequence ended, for the judge, while this step may still have been waited for:
    its answer is collected when its connection is used again."""
    step = sequence.moves[number]
    if not isinstance(step, Step) or not step.blocks:
        return False
    after = enumerate(sequence.moves[number + 1 :], number + 1)
    uses = (n for n, move in after if move.connection == step.connection)
    collected = next(uses, len(sequence.moves))
    return any(number < end < collected for end in ending)


def is_a_matter_of_time(leaf: Leaf) -> bool:
    """Where nobody waits for a transaction to end, its marker is before or after what follows."""
    path, kafka, ottla = leaf
    numbers = isinstance(kafka or 0, int) and isinstance(ottla or 0, int)
    return ".records" in path or (
        path.endswith("offset") and numbers and (kafka or 0) >= 0 and (ottla or 0) >= 0
    )


def steady(one: list[Comparable], other: list[Comparable]) -> list[Comparable]:
    """Kafka's answers but for those that vary between two runs."""
    return [a if a == b else None for a, b in zip(one, other, strict=True)]


def says_wait(answer: Comparable) -> bool:
    return any(code in text(answer) for code in _WAITED_OUT)


async def is_only_hurry(both: Sides, found: Difference) -> bool:
    """Where nobody waits, most differences are this; and one run more tells."""
    is_hurried = found.mode == "impatient" and is_racing(found)
    return is_hurried and await is_explained_by_patience(both, found)


def is_racing(found: Difference) -> bool:
    return says_wait(found.kafka[found.at]) != says_wait(found.ottla[found.at])


async def is_explained_by_patience(both: Sides, found: Difference) -> bool:
    """Whether the slower side comes to the quicker one's answer."""
    slower = both.kafka if says_wait(found.kafka[found.at]) else both.ottla
    quicker = found.ottla if slower is both.kafka else found.kafka
    waited = await slower(found.sequence, lambda number: number == found.at)
    leaves = differences(waited[found.at], quicker[found.at])
    step = found.sequence.moves[found.at]
    assert isinstance(step, Step)
    return all(is_allowed(step, leaf, found.kafka[found.at]) for leaf in leaves)
