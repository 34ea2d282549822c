"""Which member takes from which partitions: everyone from some, and as many from each.

Several members may take from one partition. If all want the same topics, partitions of all of them
are dealt out together; if not, those of each topic by itself. What a member has it keeps, as far
as its share and that of the partition go.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from math import ceil
from typing import TypeVar

from ottla.groups.share.group import NOTHING, Partitions
from ottla.ids import Uuid

Place = TypeVar("Place", bound=Hashable)


def assign(
    wanted: Mapping[str, frozenset[Uuid]],
    assignable: Partitions,
    before: Mapping[str, Partitions],
) -> dict[str, Partitions]:
    """`wanted`: topics of each member; `before`: what each had."""
    given: dict[str, dict[Uuid, set[int]]] = {member: {} for member in wanted}
    for topics, members in _parts(wanted):
        places = [
            (topic, index)
            for topic in sorted(topics)
            for index in sorted(assignable.get(topic, frozenset()))
        ]
        had = {
            member: {
                (topic, index)
                for topic, indexes in before.get(member, NOTHING).items()
                for index in indexes
            }
            for member in members
        }
        for member, (topic, index) in _dealt(members, places, had):
            given[member].setdefault(topic, set()).add(index)
    return {
        member: {topic: frozenset(indexes) for topic, indexes in topics.items()}
        for member, topics in given.items()
    }


def _parts(
    wanted: Mapping[str, frozenset[Uuid]],
) -> Iterable[tuple[frozenset[Uuid], list[str]]]:
    if len(set(wanted.values())) == 1:
        yield next(iter(wanted.values())), sorted(wanted)
        return
    for topic in sorted(frozenset[Uuid]().union(*wanted.values())):
        members = sorted(member for member, topics in wanted.items() if topic in topics)
        yield frozenset({topic}), members


def _dealt(
    members: Sequence[str], places: Sequence[Place], had: Mapping[str, set[Place]]
) -> list[tuple[str, Place]]:
    if not places:
        return []
    sharing = -(-len(members) // len(places))  # so many members take from each
    each = sharing * len(places) / len(members)
    room = {
        member: ceil(each * (number + 1)) - ceil(each * number)
        for number, member in enumerate(members)
    }
    takers: dict[Place, set[str]] = {place: set() for place in places}

    def give(member: str, place: Place) -> None:
        takers[place].add(member)
        room[member] -= 1

    for member in members:
        for place in places:
            if place in had[member] and room[member] > 0 and len(takers[place]) < sharing:
                give(member, place)
    for place in places:
        for member in sorted(members, key=lambda member: -room[member]):
            if len(takers[place]) >= sharing:
                break
            if room[member] > 0 and member not in takers[place]:
                give(member, place)
    return [(member, place) for place in places for member in sorted(takers[place])]
