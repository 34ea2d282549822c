"""Connectors of an application: what a stream is brought by, or what takes a stream's rows away.

A connector runs beside the stages, as a run of Connect's, between a system and a topic that is the
application's own. What it is told stands here; how it runs is `ottla.connect.applications`' affair.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ottla.pipelines.runtime.where import Where


@dataclass(frozen=True, slots=True, kw_only=True)
class Connector:
    where: Where
    kind: Literal["source", "sink"]
    name: str  # with the application's before it, also the topic's
    connector: str  # `jdbc-source`, or one of Java's names for it
    topic: str
    config: Mapping[str, str] = field(repr=False)  # may hold passwords
    tasks: int = 1
    partitions: int | None = None


def connector_topic(application: str, name: str) -> str:
    return f"{application}-{name}"


def offsets_topic(application: str) -> str:
    """Where the application's sources keep how far they have read, as Connect's workers do."""
    return f"{application}-connect-offsets"


def connector_config(given: Mapping[str, Any] | None, keys: Mapping[str, Any]) -> dict[str, str]:
    """Keys by their names, or as keywords with underscores for dots; values as text."""
    named = {name.replace("_", "."): value for name, value in keys.items()}
    return {name: _text(value) for name, value in {**(given or {}), **named}.items()}


def _text(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case list() | tuple():
            return ",".join(map(_text, value))
    return str(value)
