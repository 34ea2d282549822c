"""Where replicas lie and who leads: clusters are balanced, brokers emptied, partitions moved."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ottla.client.balancing import Key, Move, plan_balance, plan_drain
from ottla.client.changes import Outcome, Told
from ottla.client.cluster import Cluster
from ottla.client.cluster_state import ClusterState, Partition
from ottla.client.moving import carry_out, elect_preferred
from ottla.client.wire_client import WireClient
from ottla.errors import OttlaError


class Moves(NamedTuple):
    """Copies first, then leaders: a leader is chosen among those in sync."""

    moves: tuple[Move, ...]
    misled: tuple[Key, ...] = ()  # they stay, but their first replica shall lead
    remarks: tuple[str, ...] = ()
    afterwards: tuple[str, ...] = ()  # what is left to do when all is in place

    @property
    def is_empty(self) -> bool:
        return not (self.moves or self.misled)

    def perform(self, cluster: Cluster, told: Told) -> Outcome:
        arrived = 0

        def moved(count: int) -> None:
            nonlocal arrived
            arrived += count
            told(arrived, len(self.moves))

        async def work(wire: WireClient) -> list[Key]:
            await carry_out(wire, self.moves, moved)
            keys = [(move.topic, move.partition) for move in self.moves]
            return await elect_preferred(wire, dict.fromkeys([*keys, *self.misled]))

        kept = [] if self.is_empty else cluster.ask(work)
        return Outcome(
            (
                *(
                    f"{topic}-{partition} keeps its leader: the preferred one is not in sync."
                    for topic, partition in kept
                ),
                *self.afterwards,
            )
        )


@dataclass(frozen=True, slots=True)
class Balance:
    """Bytes and leaders spread evenly, with as few copies as that takes."""

    def look(self, cluster: Cluster) -> ClusterState:
        return cluster.state()

    def preview(self, state: ClusterState) -> Moves:
        refuse_while_moving(state)
        moves = plan_balance(state.racks, state.led.placed)
        misled = [one.key for one in state.led.partitions if one.leader != one.replicas[0]]
        return Moves(
            tuple(moves),
            tuple(misled),
            tuple(
                f"{one.topic}-{one.partition} has no leader and stays."
                for one in without_leader(state)
            ),
            ("The cluster is balanced.",),
        )

    def perform(self, cluster: Cluster, preview: Moves, told: Told) -> Outcome:
        return preview.perform(cluster, told)


@dataclass(frozen=True, slots=True)
class Drain:
    """Everything off some brokers, so that they can be taken out."""

    nodes: tuple[int, ...]
    fewer_replicas: bool = False  # where no broker can take a replica, it is given up

    def look(self, cluster: Cluster) -> ClusterState:
        return cluster.state()

    def preview(self, state: ClusterState) -> Moves:
        refuse_while_moving(state)
        refuse_unknown(state, self.nodes)
        refuse_without_leader(
            one for one in without_leader(state) if not set(self.nodes).isdisjoint(one.replicas)
        )
        moves = plan_drain(
            self.nodes, state.racks, state.placed, fewer_replicas=self.fewer_replicas
        )
        after = tuple(line for node in self.nodes for line in what_next(state, node))
        return Moves(tuple(moves), afterwards=after)

    def perform(self, cluster: Cluster, preview: Moves, told: Told) -> Outcome:
        return preview.perform(cluster, told)


@dataclass(frozen=True, slots=True)
class MoveReplicas:
    """Some partitions to the brokers that were named, of which the first shall lead."""

    targets: Mapping[Key, tuple[int, ...]]

    def look(self, cluster: Cluster) -> ClusterState:
        return cluster.state()

    def preview(self, state: ClusterState) -> Moves:
        refuse_while_moving(state)
        known = {one.key: one for one in state.partitions}
        moves = []
        for (topic, partition), after in self.targets.items():
            one = known.get((topic, partition))
            if one is None:
                raise OttlaError(f"There is no partition {topic}-{partition}.")
            if not after or len(set(after)) < len(after):
                raise OttlaError(f"{topic}-{partition} needs brokers, each named once.")
            refuse_unknown(state, after)
            refuse_without_leader([one] if one.leader < 0 else [])
            new = set(after) - set(one.replicas)
            if away := sorted(new - state.racks.keys()):
                raise OttlaError(f"Node {away[0]} does not answer, so it cannot take a replica.")
            if after != one.replicas:
                moves.append(Move(topic, partition, one.replicas, after, one.size * len(new)))
        misled = tuple(
            key
            for key, after in self.targets.items()
            if after == known[key].replicas and known[key].leader != after[0]
        )
        return Moves(tuple(moves), misled, afterwards=("The partitions are in place.",))

    def perform(self, cluster: Cluster, preview: Moves, told: Told) -> Outcome:
        return preview.perform(cluster, told)


def without_leader(state: ClusterState) -> list[Partition]:
    return [one for one in state.partitions if one.leader < 0]


def refuse_without_leader(lost: Iterable[Partition]) -> None:
    for one in lost:
        holders = ", ".join(map(str, one.replicas))
        raise OttlaError(
            f"{one.topic}-{one.partition} has no leader, so there is nobody to copy it from. "
            f"Start one of the brokers that hold it ({holders}), or delete the topic."
        )


def refuse_while_moving(state: ClusterState) -> None:
    """A partition without a leader may be on its way for ever: that keeps no other from moving."""
    moving = {*state.moving} - {one.key for one in without_leader(state)}
    if moving:
        raise OttlaError(
            f"{len(moving)} partitions are being moved already. Wait until they are there; "
            "`ottla cluster status` counts them."
        )


def refuse_unknown(state: ClusterState, nodes: Collection[int]) -> None:
    known = {broker.id for broker in state.brokers}
    for node in nodes:
        if node not in known:
            there = ", ".join(map(str, sorted(known)))
            raise OttlaError(f"There is no broker {node}; there are {there}.")


def what_next(state: ClusterState, node: int) -> list[str]:
    said = [
        f"Node {node} is empty. Now stop it: SIGTERM, or `systemctl stop ottla` on its host.",
        f"Then strike it from the cluster's list: `ottla cluster forget {node}`.",
    ]
    if any(one.id == node and one.is_voter for one in state.quorum.members):
        said.append(
            f"It is a voter of the quorum too: while it is stopped, a majority of the "
            f"{sum(one.is_voter for one in state.quorum.members)} voters must be up."
        )
    return said
