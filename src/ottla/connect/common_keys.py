"""The keys that every connector has, by kind: Connect's ConnectorConfig and its two children. Pure.

Defaults that depend on the worker and on what was asked are `validation`'s.
"""

from typing import Any

from ottla.connect import converters
from ottla.connect.definitions import Definitions, Key, Kind
from ottla.connect.patterns import java_pattern
from ottla.connect.validators import (
    at_least,
    distinct_values,
    non_empty,
    one_of,
    unique_aliases,
    without_control_characters,
)

_COMMON, _ERRORS = "Common", "Error Handling"


def _converter_class(base: str) -> Any:
    """Whether a class is a Converter, or a HeaderConverter."""

    def check(name: str, value: Any) -> None:
        wrong = converters.HEADERS_ONLY if base == "Converter" else converters.NOT_FOR_HEADERS
        if value in wrong:
            raise ValueError(f"Class class {value} does not implement the {base} interface")

    return check


def _converter_keys(side: str, order: int) -> tuple[Key, Key]:
    base = "HeaderConverter" if side == "header" else "Converter"
    shown = side.capitalize()
    return (
        Key(
            name=f"{side}.converter",
            kind=Kind.CLASS,
            default=None,
            importance="LOW",
            doc=f"The class that converts {side}s to bytes and back; the worker's if unset.",
            group=_COMMON,
            order=order,
            width="SHORT",
            display_name=f"{shown} converter class",
            validator=_converter_class(base),
            known_class=converters.class_name,
        ),
        Key(
            name=f"{side}.converter.plugin.version",
            kind=Kind.STRING,
            default=None,
            importance="LOW",
            doc=f"Version of the {side} converter.",
            group=_COMMON,
            order=order + 1,
            width="SHORT",
            display_name=f"{shown} converter version",
        ),
    )


COMMON = Definitions(
    (
        Key(
            name="name",
            kind=Kind.STRING,
            importance="HIGH",
            doc="Globally unique name to use for this connector.",
            group=_COMMON,
            order=1,
            width="MEDIUM",
            display_name="Connector name",
            validator=without_control_characters,
        ),
        Key(
            name="connector.class",
            kind=Kind.STRING,
            importance="HIGH",
            doc="The connector's class, or one of the short names of it.",
            group=_COMMON,
            order=2,
            width="LONG",
            display_name="Connector class",
        ),
        Key(
            name="connector.plugin.version",
            kind=Kind.STRING,
            default=None,
            importance="MEDIUM",
            doc="Version of the connector.",
            group=_COMMON,
            order=3,
            width="MEDIUM",
            display_name="Connector version",
        ),
        Key(
            name="tasks.max",
            kind=Kind.INT,
            default=1,
            importance="HIGH",
            doc="How many tasks work for this connector at most.",
            group=_COMMON,
            order=4,
            width="SHORT",
            display_name="Tasks max",
            validator=at_least(1),
        ),
        Key(
            name="tasks.max.enforce",
            kind=Kind.BOOLEAN,
            default=True,
            importance="LOW",
            doc="Taken for compatibility: there are never more tasks than tasks.max.",
            group=_COMMON,
            order=5,
            width="SHORT",
            display_name="Enforce tasks max",
        ),
        *_converter_keys("key", 6),
        *_converter_keys("value", 8),
        *_converter_keys("header", 10),
        Key(
            name="transforms",
            kind=Kind.LIST,
            default=[],
            importance="LOW",
            doc="Aliases of the transforms that records go through, in their order.",
            group="Transforms",
            order=12,
            width="LONG",
            display_name="Transforms",
            validator=unique_aliases,
        ),
        Key(
            name="predicates",
            kind=Kind.LIST,
            default=[],
            importance="LOW",
            doc="Aliases of the predicates that transforms use.",
            group="Predicates",
            order=13,
            width="LONG",
            display_name="Predicates",
            validator=unique_aliases,
        ),
        Key(
            name="config.action.reload",
            kind=Kind.STRING,
            default="restart",
            importance="LOW",
            doc="Whether the connector is restarted when a secret that it refers to changes.",
            group=_COMMON,
            order=14,
            width="MEDIUM",
            display_name="Reload Action",
            validator=one_of("none", "restart"),
        ),
        Key(
            name="errors.retry.timeout",
            kind=Kind.LONG,
            default=0,
            doc="How many milliseconds a failed operation is tried again; -1 without end.",
            group=_ERRORS,
            order=1,
            width="MEDIUM",
            display_name="Retry Timeout for Errors",
        ),
        Key(
            name="errors.retry.delay.max.ms",
            kind=Kind.LONG,
            default=60_000,
            doc="How many milliseconds lie between two tries at most.",
            group=_ERRORS,
            order=2,
            width="MEDIUM",
            display_name="Maximum Delay Between Retries for Errors",
        ),
        Key(
            name="errors.tolerance",
            kind=Kind.STRING,
            default="none",
            doc="Whether a record that fails ends the task (none) or is skipped (all).",
            group=_ERRORS,
            order=3,
            width="SHORT",
            display_name="Error Tolerance",
            validator=one_of("none", "all"),
        ),
        Key(
            name="errors.log.enable",
            kind=Kind.BOOLEAN,
            default=False,
            doc="Whether each failure is written to the log.",
            group=_ERRORS,
            order=4,
            width="SHORT",
            display_name="Log Errors",
        ),
        Key(
            name="errors.log.include.messages",
            kind=Kind.BOOLEAN,
            default=False,
            doc="Whether the log tells of the record that failed, too.",
            group=_ERRORS,
            order=5,
            width="SHORT",
            display_name="Log Error Details",
        ),
    )
)

SOURCE = COMMON | Definitions(
    (
        Key(
            name="topic.creation.groups",
            kind=Kind.LIST,
            default=[],
            importance="LOW",
            doc="Groups of settings for topics that the connector creates.",
            group="Topic Creation",
            order=1,
            width="LONG",
            display_name="Topic Creation Groups",
            validator=unique_aliases,
        ),
        Key(
            name="exactly.once.support",
            kind=Kind.STRING,
            default="requested",
            doc="Required: refuse the connector unless it delivers exactly once.",
            group="Exactly Once Support",
            order=2,
            width="SHORT",
            display_name="Exactly once support",
            validator=one_of("REQUESTED", "REQUIRED", any_case=True),
        ),
        Key(
            name="transaction.boundary",
            kind=Kind.STRING,
            default="poll",
            doc="Where a transaction ends: after each poll, by the connector, or by the clock.",
            group="Exactly Once Support",
            order=3,
            width="SHORT",
            display_name="Transaction Boundary",
            validator=one_of("POLL", "INTERVAL", "CONNECTOR", any_case=True),
        ),
        Key(
            name="transaction.boundary.interval.ms",
            kind=Kind.LONG,
            default=None,
            importance="LOW",
            doc="How many milliseconds a transaction takes where the clock ends it.",
            group="Exactly Once Support",
            order=4,
            width="SHORT",
            display_name="Transaction boundary interval",
            validator=at_least(0, or_null=True),
        ),
        Key(
            name="offsets.storage.topic",
            kind=Kind.STRING,
            default=None,
            importance="LOW",
            doc="A topic of its own for the connector's offsets, instead of the worker's.",
            group="offsets.topic",
            order=1,
            width="LONG",
            display_name="Offsets topic",
            validator=non_empty,
        ),
    )
)

SINK = COMMON | Definitions(
    (
        Key(
            name="topics",
            kind=Kind.LIST,
            default=[],
            importance="HIGH",
            doc="The topics that are consumed, with commas between.",
            group=_COMMON,
            order=4,
            width="LONG",
            display_name="Topics",
            validator=distinct_values(),
        ),
        Key(
            name="topics.regex",
            kind=Kind.STRING,
            default="",
            importance="HIGH",
            doc="A regular expression of the topics that are consumed, instead of topics.",
            group=_COMMON,
            order=4,
            width="LONG",
            display_name="Topics regex",
            validator=java_pattern,
        ),
        Key(
            name="errors.deadletterqueue.topic.name",
            kind=Kind.STRING,
            default="",
            doc="Where records go that fail; empty: nowhere.",
            group=_ERRORS,
            order=6,
            width="MEDIUM",
            display_name="Dead Letter Queue Topic Name",
        ),
        Key(
            name="errors.deadletterqueue.topic.replication.factor",
            kind=Kind.SHORT,
            default=3,
            doc="How many replicas the dead-letter topic gets if it is not there.",
            group=_ERRORS,
            order=7,
            width="MEDIUM",
            display_name="Dead Letter Queue Topic Replication Factor",
        ),
        Key(
            name="errors.deadletterqueue.context.headers.enable",
            kind=Kind.BOOLEAN,
            default=False,
            doc="Whether headers of dead letters (__connect.errors.*) tell what happened.",
            group=_ERRORS,
            order=8,
            width="MEDIUM",
            display_name="Enable Error Context Headers",
        ),
    )
)
