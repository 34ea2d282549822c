"""The members of a group as people and scripts are shown them."""

from collections.abc import Iterable, Sequence
from typing import Any

from ottla.cli.output import print_table
from ottla.client.admin import Place
from ottla.client.members import GroupMember, labels


def as_json(members: Iterable[GroupMember]) -> list[dict[str, Any]]:
    return [
        {
            "member": member.id,
            "client": member.client,
            "host": member.host,
            "partitions": [{"topic": topic, "partition": at} for topic, at in member.places],
        }
        for member in members
    ]


def print_members(members: Sequence[GroupMember]) -> None:
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
