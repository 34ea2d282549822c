"""Who should have which partitions: `uniform` and `range`, as the coordinator offers them.

Pure functions from members with their topics, partition counts, and the target so far. The same
input gives the same output, and a target that is good already stays.
"""

from collections.abc import Callable, Mapping
from itertools import islice
from typing import NamedTuple

from ottla.groups.java_order import hash_map_order
from ottla.ids import Uuid

Place = tuple[Uuid, int]
Targets = dict[str, dict[Uuid, set[int]]]


class Subscriber(NamedTuple):
    """A member, as far as an assignor looks at it."""

    id: str
    instance_id: str | None
    topics: frozenset[Uuid]
    has: frozenset[Place]  # its target so far

    @property
    def rank(self) -> tuple[bool, str]:
        """Static members come first, and keep their place under every member id."""
        return self.instance_id is None, self.instance_id or self.id


Assignor = Callable[[list[Subscriber], Mapping[Uuid, int]], Targets]


def assign_ranges(members: list[Subscriber], counts: Mapping[Uuid, int]) -> Targets:
    """Each topic is cut into as many runs as it has subscribers: equal topics are cut equally."""
    targets: Targets = {member.id: {} for member in members}
    ordered = sorted(members, key=lambda member: member.rank)
    for topic_id, count in counts.items():
        subscribers = [member for member in ordered if topic_id in member.topics]
        if not subscribers:
            continue
        least, more = divmod(count, len(subscribers))
        start = 0
        for position, member in enumerate(subscribers):
            end = start + least + (position < more)
            if end > start:
                targets[member.id][topic_id] = set(range(start, end))
            start = end
    return targets


def assign_uniformly(members: list[Subscriber], counts: Mapping[Uuid, int]) -> Targets:
    """As equal shares as subscriptions allow, with as few moves as that allows."""
    if len({member.topics for member in members}) == 1:
        return _assign_equally(members, counts)
    ordered = sorted(members, key=lambda member: member.rank)
    candidates = {
        topic_id: [member.id for member in ordered if topic_id in member.topics]
        for topic_id in counts
    }
    holdings = {member.id: _kept(member, counts) for member in ordered}
    taken = {place for places in holdings.values() for place in places}
    free = [
        (topic_id, index)
        for topic_id, count in counts.items()
        for index in range(count)
        if candidates[topic_id] and (topic_id, index) not in taken
    ]
    free.sort(key=lambda place: len(candidates[place[0]]))  # those with little choice first
    for place in free:
        least = min(candidates[place[0]], key=lambda member: len(holdings[member]))
        holdings[least].append(place)
    _even_out(holdings, candidates)
    return {member: _by_topic(places) for member, places in holdings.items()}


def _assign_equally(members: list[Subscriber], counts: Mapping[Uuid, int]) -> Targets:
    """All want the same: each keeps what it has up to its share, and the rest fills the shares in
    the order of the members, which is that of Kafka's coordinator."""
    known = {member.id: member for member in members}
    order = hash_map_order(known)
    wanted = known[order[0]].topics
    taken = {place for member in members for place in member.has}
    free = [
        (topic_id, index)
        for topic_id in counts
        if topic_id in wanted
        for index in range(counts[topic_id])
        if (topic_id, index) not in taken
    ]
    least, more = divmod(
        sum(counts[topic_id] for topic_id in counts if topic_id in wanted), len(order)
    )
    holdings: dict[str, list[Place]] = {}
    room: dict[str, int] = {}
    for position, member_id in enumerate(order):
        has = _kept(known[member_id], counts)
        share = least + (more > 0)
        holdings[member_id], surplus = has[:share], has[share:]
        free += surplus
        left = share - len(holdings[member_id])
        takes_more = more > 0
        if left and takes_more and len(order) - position > more:
            left -= 1  # somebody who has it already may keep one more
            takes_more = False
        room[member_id] = left
        more -= takes_more
    rest = iter(free)
    for member_id in order:
        holdings[member_id] += islice(rest, room[member_id])
    return {member_id: _by_topic(places) for member_id, places in holdings.items()}


def _kept(member: Subscriber, counts: Mapping[Uuid, int]) -> list[Place]:
    """What it has and may keep."""
    return [
        place
        for place in sorted(member.has)
        if place[0] in member.topics and place[1] < counts.get(place[0], 0)
    ]


def _even_out(holdings: dict[str, list[Place]], candidates: Mapping[Uuid, list[str]]) -> None:
    """Move single partitions from the richest to the poorest until that helps nobody."""
    moved = True
    while moved:
        moved = False
        for giver in sorted(holdings, key=lambda member: -len(holdings[member])):
            for place in reversed(holdings[giver]):
                taker = min(candidates[place[0]], key=lambda member: len(holdings[member]))
                if len(holdings[giver]) - len(holdings[taker]) >= 2:
                    holdings[giver].remove(place)
                    holdings[taker].append(place)
                    moved = True
                    break


def _by_topic(places: list[Place]) -> dict[Uuid, set[int]]:
    topics: dict[Uuid, set[int]] = {}
    for topic_id, index in places:
        topics.setdefault(topic_id, set()).add(index)
    return topics


ASSIGNORS: Mapping[str, Assignor] = {"uniform": assign_uniformly, "range": assign_ranges}
