"""The record: what Apache Kafka answered, a line for each question.

A line has the different answers, the versions asked, and for each row of answers (a number a
version) the people who got it.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from differential.comparable import Comparable, differences, text
from system.rights.asking import Told

FILE = Path(__file__).with_name("recorded.jsonl")


class Difference(NamedTuple):
    question: str
    person: str
    version: int
    path: str
    kafka: Comparable
    ottla: Comparable

    def __str__(self) -> str:
        return (
            f"{self.question} v{self.version} by {self.person}: {self.path} is "
            f"{text(self.kafka)} on Kafka, {text(self.ottla)} here"
        )


def write(told: Told) -> None:
    FILE.write_text("".join(f"{text(line_of(name, told[name]))}\n" for name in told))


def line_of(name: str, by_person: dict[str, dict[int, Comparable]]) -> dict[str, Any]:
    numbers: dict[str, int] = {}
    rows: dict[str, list[str]] = {}
    versions: list[int] = []
    for person, answers in by_person.items():
        versions = list(answers)
        row = " ".join(
            str(numbers.setdefault(text(said), len(numbers))) for said in answers.values()
        )
        rows.setdefault(row, []).append(person)
    return {
        "question": name,
        "versions": versions,
        "answers": [json.loads(one) for one in numbers],
        "told": {row: " ".join(people) for row, people in rows.items()},
    }


def read() -> Told:
    told: Told = {}
    for line in FILE.read_text().splitlines():
        said = json.loads(line)
        told[said["question"]] = {
            person: {
                version: said["answers"][int(number)]
                for version, number in zip(said["versions"], row.split(), strict=True)
            }
            for row, people in said["told"].items()
            for person in people.split()
        }
    return told


def compare(kafka: Told, ottla: Told) -> Iterator[Difference]:
    """In what both serve; that the same is served is asked elsewhere."""
    for question, people in kafka.items():
        for person, answers in people.items():
            own = ottla.get(question, {}).get(person, {})
            for version in answers.keys() & own.keys():
                here = json.loads(text(own[version]))
                for path, theirs, ours in differences(answers[version], here):
                    yield Difference(question, person, version, path, theirs, ours)
