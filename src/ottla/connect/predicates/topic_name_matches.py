"""TopicNameMatches: whether the whole name of a record's topic matches a pattern."""

from collections.abc import Mapping
from typing import Any

from ottla.connect.data import Record
from ottla.connect.definitions import Definitions, Key, Kind
from ottla.connect.patterns import Pattern, java_pattern

DEFINITIONS = Definitions(
    (
        Key(
            name="pattern",
            kind=Kind.STRING,
            validator=java_pattern,
            doc="A regular expression that the whole name of the topic has to match.",
        ),
    )
)


class TopicNameMatches:
    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._pattern = Pattern(settings["pattern"])

    def test(self, record: Record) -> bool:
        return self._pattern.full_match(record.topic) is not None
