"""The members of a group as people are shown them: told apart, and what each of them holds."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ottla.cli.output import print_table
from ottla.client.admin import Place


class Member(NamedTuple):
    id: str
    client: str
    host: str
    places: tuple[Place, ...]


def labels(members: Iterable[Member]) -> dict[str, str]:
    """By member id, how to call it; clients of one name need their ids to be told apart."""
    known = list(members)
    named = Counter(member.client for member in known)
    return {
        member.id: f"{member.client} {member.host}"
        + (f" {member.id}" if named[member.client] > 1 else "")
        for member in known
    }


def readers(members: Sequence[Member]) -> dict[Place, str]:
    called = labels(members)
    return {place: called[member.id] for member in members for place in member.places}


def as_json(members: Iterable[Member]) -> list[dict[str, Any]]:
    return [
        {
            "member": member.id,
            "client": member.client,
            "host": member.host,
            "partitions": [{"topic": topic, "partition": at} for topic, at in member.places],
        }
        for member in members
    ]


def print_members(members: Sequence[Member]) -> None:
    """A line for each, whoever holds nothing too."""
    called = labels(members)
    rows = sorted((called[member.id], _in_words(member.places)) for member in members)
    if rows:
        print_table(("MEMBER", "HOLDS"), rows)


def _in_words(places: Iterable[Place]) -> str:
    topics: dict[str, list[str]] = {}
    for topic, at in sorted(places):
        topics.setdefault(topic, []).append(str(at))
    return "; ".join(f"{topic} {' '.join(held)}" for topic, held in topics.items()) or "nothing"
