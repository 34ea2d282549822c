"""Rows that say their topic themselves: SQL that gives it, and what is no topic's name. Pure.

A routed stage has a name like any other, but no topic of that name. What its topics are called in
this generation differs from what rows say by the same ending as the stage's name.
"""

import hashlib
import re
from collections.abc import Mapping

from ottla.pipelines.api.definitions import Sink
from ottla.pipelines.formats.values import quoted

NAME = "^[a-zA-Z0-9._-]{1,249}$"
LONGEST = 100  # of what a stage's name tells of the expression


def routed_name(application: str, route: str, name: str | None) -> str:
    """What the stage is called: as it was told, else after the expression."""
    if name is not None:
        return f"{application}-{name}"
    text = re.sub(r"[^a-zA-Z0-9._]+", "-", route).strip("-")
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]}-{hashlib.sha256(text.encode()).hexdigest()[:6]}"
    return f"{application}-to-{text}"


def topic_of_row(sink: Sink, names: Mapping[str, str]) -> str:
    """The topic as this generation calls it; null where the row says none."""
    ending = names[sink.topic].removeprefix(sink.topic)
    return f"concat(cast({sink.route} AS string), {quoted(ending)})"


def why_not(sink: Sink, topic: str) -> str:
    """Why a row cannot be written to its topic; null when it can."""
    said = f"cast({sink.route} AS string)"
    return (
        f"CASE WHEN {topic} IS NULL THEN 'the topic is null' "
        f"WHEN NOT ({topic} RLIKE {quoted(NAME)}) OR {said} IN ('', '.', '..') "
        f"THEN concat('\\'', {said}, '\\' is no name for a topic') END"
    )


def maker(sink: Sink) -> str:
    """The name of the function that makes this sink's topics: see `runtime/jvm/TopicMaker.java`."""
    return f"ottla_topic_{hashlib.sha256(sink.topic.encode()).hexdigest()[:12]}"
