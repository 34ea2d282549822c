"""Levels of compatibility: which earlier versions a new one must agree with, and which way.

The rules of each type of schema are in its own package.
"""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import NamedTuple

from ottla.registry.parsed import Parsed

SHOWN_CHARACTERS_MAX = 10 * 1024
DIFFERENT_TYPE = "Incompatible because of different schema type"


class Level(StrEnum):
    NONE = "NONE"
    BACKWARD = "BACKWARD"
    BACKWARD_TRANSITIVE = "BACKWARD_TRANSITIVE"
    FORWARD = "FORWARD"
    FORWARD_TRANSITIVE = "FORWARD_TRANSITIVE"
    FULL = "FULL"
    FULL_TRANSITIVE = "FULL_TRANSITIVE"

    @property
    def backward(self) -> bool:
        """The new schema reads what was written with the old one."""
        return self.startswith(("BACKWARD", "FULL"))

    @property
    def forward(self) -> bool:
        """The old schema reads what will be written with the new one."""
        return self.startswith(("FORWARD", "FULL"))

    @property
    def transitive(self) -> bool:
        """Every earlier version counts, not only the last."""
        return self.endswith("_TRANSITIVE")


LENIENT = "LENIENT"
POLICIES = ("LOGICAL", "STRICT", LENIENT)


class Earlier(NamedTuple):
    """A version that is there already; parsed only if it is asked."""

    version: int | None
    parsed: Callable[[], Parsed]


def level_of(name: str) -> Level | None:
    """Of a name in any case."""
    upper = name.upper()
    return Level(upper) if upper in Level.__members__ else None


def incompatibilities(
    new: Parsed, earlier: Sequence[Earlier], level: Level, *, lenient: bool = False
) -> list[str]:
    """Messages about the first earlier version, from the last one back, that does not agree."""
    if level is Level.NONE:
        return []
    for one in reversed(earlier):
        messages = _against(new, one, level, lenient)
        if messages or not level.transitive:
            return messages
    return []


def _against(new: Parsed, earlier: Earlier, level: Level, lenient: bool) -> list[str]:
    old = earlier.parsed()
    if old.kind != new.kind:
        return [DIFFERENT_TYPE]
    messages = []
    if level.forward:
        forward = _said(old.cannot_read(new, lenient=lenient), "old", "new")
        messages += forward
        if forward and not level.backward:
            messages += _about(earlier.version, old)
    if level.backward:
        backward = _said(new.cannot_read(old, lenient=lenient), "new", "old")
        messages += backward
        if backward:
            messages += _about(earlier.version, old)
    return messages


def _said(messages: list[str], reader: str, writer: str) -> list[str]:
    return [one.replace("%s", reader, 1).replace("%s", writer, 1) for one in messages]


def _about(version: int | None, old: Parsed) -> list[str]:
    numbered = [] if version is None else [f"{{oldSchemaVersion: {version}}}"]
    if len(old.text) <= SHOWN_CHARACTERS_MAX:
        return [*numbered, f"{{oldSchema: '{old.text}'}}"]
    return [*numbered, f"{{oldSchema: <truncated> '{old.text[:SHOWN_CHARACTERS_MAX]}...'}}"]
