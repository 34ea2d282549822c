"""Which replicas should move, and who should lead: plans over what a cluster says of itself.

Pure: brokers and partitions in, moves out. Asking for the one and carrying out the other is done
in `cluster_state` and `moving`.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from ottla.errors import OttlaError

TOLERANCE = 0.1
"""Brokers whose load differs by less than this part of the average are left alone."""

REPLICA_BYTES = 1 << 20
"""What a replica weighs before it has a record: files, fetches, a place in every image."""

Key = tuple[str, int]  # topic, partition
Racks = Mapping[int, str | None]  # of the brokers that may hold replicas


class Placed(NamedTuple):
    """One partition: where it lies, and how large one copy is."""

    topic: str
    partition: int
    replicas: tuple[int, ...]  # the first is the one that should lead
    size: int = 0


class Move(NamedTuple):
    topic: str
    partition: int
    before: tuple[int, ...]
    after: tuple[int, ...]
    size: int  # bytes to be copied; 0 when only the leader changes


def plan_balance(brokers: Racks, partitions: Sequence[Placed]) -> list[Move]:
    """Even out what brokers hold, then what they lead, with as few copies as that takes."""
    layout = Layout(brokers, partitions)
    layout.even_out()
    layout.even_out_leaders(set(layout.replicas))
    return layout.moves()


def plan_drain(
    nodes: Collection[int],
    brokers: Racks,
    partitions: Sequence[Placed],
    *,
    fewer_replicas: bool = False,
) -> list[Move]:
    """Every replica of `nodes` goes to the least loaded broker that may take it.

    With `fewer_replicas` a partition that has nowhere to go loses the replica instead.
    """
    remaining = {broker: rack for broker, rack in brokers.items() if broker not in nodes}
    layout = Layout(remaining, partitions)
    leaving = {
        key for key, replicas in layout.replicas.items() if not set(nodes).isdisjoint(replicas)
    }
    for key in sorted(leaving, key=lambda key: (-layout.weight[key], key)):
        for node in layout.replicas[key]:
            if node in nodes:
                layout.replace(key, node, fewer_replicas)
    layout.even_out_leaders(leaving)
    return layout.moves()


class Layout:
    """Where everything would lie if the moves so far were made."""

    def __init__(self, brokers: Racks, partitions: Iterable[Placed]) -> None:
        self.brokers = brokers
        self.before = {(one.topic, one.partition): one for one in partitions}
        self.replicas = {key: one.replicas for key, one in self.before.items()}
        self.weight = {key: one.size + REPLICA_BYTES for key, one in self.before.items()}
        self.held: dict[int, set[Key]] = {broker: set() for broker in brokers}
        self.load = Counter(dict.fromkeys(brokers, 0))
        for key, replicas in self.replicas.items():
            self._count(key, replicas, +1)

    def place(self, key: Key, after: tuple[int, ...]) -> None:
        self._count(key, self.replicas[key], -1)
        self.replicas[key] = after
        self._count(key, after, +1)

    def moves(self) -> list[Move]:
        return [
            Move(*key, one.replicas, after, one.size * len(set(after) - set(one.replicas)))
            for key, one in self.before.items()
            if (after := self.replicas[key]) != one.replicas
        ]

    def _count(self, key: Key, replicas: tuple[int, ...], sign: int) -> None:
        for broker in replicas:
            if broker not in self.held:
                continue  # it is on its way out, or does not answer
            self.load[broker] += sign * self.weight[key]
            if sign > 0:
                self.held[broker].add(key)
            else:
                self.held[broker].discard(key)

    # Replicas --------------------------------------------------------------------------------

    def replace(self, key: Key, node: int, fewer_replicas: bool) -> None:
        """Another broker takes the place of `node`, which is not among the brokers any more."""
        replicas = self.replicas[key]
        others = tuple(one for one in replicas if one != node)
        target = self._roomiest_beside(others)
        if target is not None:
            self.place(key, tuple(target if one == node else one for one in replicas))
        elif fewer_replicas and any(one in self.brokers for one in others):
            self.place(key, others)
        else:
            raise OttlaError(
                f"{key[0]}-{key[1]} has {len(replicas)} replicas, and without node {node} there "
                f"are {len(self.brokers)} brokers. Add a broker first, or let partitions have "
                "fewer replicas with --fewer-replicas."
            )

    def _roomiest_beside(self, others: Collection[int]) -> int | None:
        """The least loaded broker without a replica; another rack counts more than room."""
        used = {self.brokers.get(one) for one in others} - {None}
        free = [broker for broker in self.brokers if broker not in others]
        return min(
            free,
            key=lambda broker: (self.brokers[broker] in used, self.load[broker], broker),
            default=None,
        )

    def even_out(self) -> None:
        """One replica after the other from the fullest broker to the emptiest that may take it.

        Each move brings two brokers closer together, so there is an end to it.
        """
        tolerated = TOLERANCE * sum(self.load.values()) / max(1, len(self.load))
        while self._move_one(tolerated):
            pass

    def _move_one(self, tolerated: float) -> bool:
        by_load = sorted(self.brokers, key=lambda broker: (self.load[broker], broker))
        for source in reversed(by_load):
            for target in by_load:
                if self.load[source] - self.load[target] <= tolerated:
                    break
                key = self._best_to_move(source, target)
                if key is not None:
                    replicas = self.replicas[key]
                    self.place(key, tuple(target if one == source else one for one in replicas))
                    return True
        return False

    def _best_to_move(self, source: int, target: int) -> Key | None:
        """The replica that brings the two closest: half the difference would be best."""
        difference = self.load[source] - self.load[target]
        candidates = [
            key
            for key in self.held[source] - self.held[target]
            if self.weight[key] < difference and self._keeps_racks(key, source, target)
        ]
        return min(
            candidates, key=lambda key: (abs(difference - 2 * self.weight[key]), key), default=None
        )

    def _keeps_racks(self, key: Key, source: int, target: int) -> bool:
        """As many racks hold the partition afterwards as before."""
        others = {self.brokers.get(one) for one in self.replicas[key] if one != source}
        rack = self.brokers[target]
        return rack is None or rack not in others or self.brokers[source] in others

    # Leaders ---------------------------------------------------------------------------------

    def even_out_leaders(self, among: set[Key]) -> None:
        """Another replica comes first where that brings two brokers' numbers of leaders closer."""
        leads = Counter(replicas[0] for replicas in self.replicas.values() if replicas)
        is_changing = True
        while is_changing:
            is_changing = False
            for key in sorted(among):
                replicas = self.replicas[key]
                able = [one for one in replicas if one in self.brokers]
                least = min(able, key=lambda one: (leads[one], one), default=None)
                if least is not None and leads[replicas[0]] - leads[least] >= 2:
                    leads[replicas[0]] -= 1
                    leads[least] += 1
                    rest = tuple(one for one in replicas if one != least)
                    self.replicas[key] = (least, *rest)
                    is_changing = True
