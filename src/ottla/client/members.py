"""The members of a group: told apart, and what each of them holds."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ottla.client.admin import Place


class GroupMember(NamedTuple):
    id: str
    client: str
    host: str
    places: tuple[Place, ...]


def labels(members: Iterable[GroupMember]) -> dict[str, str]:
    """By member id, how to call it; clients of one name need their ids to be told apart."""
    known = list(members)
    named = Counter(member.client for member in known)
    return {
        member.id: f"{member.client} {member.host}"
        + (f" {member.id}" if named[member.client] > 1 else "")
        for member in known
    }


def readers(members: Sequence[GroupMember]) -> dict[Place, str]:
    called = labels(members)
    return {place: called[member.id] for member in members for place in member.places}
