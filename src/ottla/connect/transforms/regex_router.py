"""RegexRouter: another topic for records whose topic matches a pattern."""

from dataclasses import replace

from ottla.connect.data import Record
from ottla.connect.definitions import Definitions, Key, Kind
from ottla.connect.patterns import Pattern, java_pattern
from ottla.connect.transforms.transform import Settings

DEFINITIONS = Definitions(
    (
        Key(
            name="regex",
            kind=Kind.STRING,
            importance="HIGH",
            doc="A regular expression that the whole topic has to match.",
            validator=java_pattern,
        ),
        Key(
            name="replacement",
            kind=Kind.STRING,
            importance="HIGH",
            doc="What the pattern's first match in the topic is replaced with; $1 is a group.",
        ),
    )
)


class RegexRouter:
    def __init__(self, settings: Settings) -> None:
        self._pattern = Pattern(settings["regex"])
        self._replacement: str = settings["replacement"]

    def apply(self, record: Record) -> Record:
        if self._pattern.full_match(record.topic) is None:
            return record
        return replace(record, topic=self._pattern.replace_first(record.topic, self._replacement))
