"""Faults that wait until an in-sync set is about to grow, when a replica begins to count.

A node is killed, comes back and catches up; its leader then asks the controller to count it again.
Just then either the replica is cut off while the others go on, and its leader dies once it counts;
or it loses its tail while the leader's word about it is still on its way (KIP-903).
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ottla.simulation.cluster_faults import Faults
    from ottla.simulation.cluster_world import ClusterWorld, Member

TOPIC = "story"
DELAY_S = 0.9
"""Of the leader's word: its follower is back and registered by then, and nobody is suspected."""


class GrowthTraps:
    def __init__(self, world: "ClusterWorld", faults: "Faults") -> None:
        self.world = world
        self.faults = faults
        self.rng = world.rng
        self.armed = False

    def arm(self) -> None:
        """Send a node away for a moment."""
        members = list(self.world.members.values())
        if self.world.calm or not all(map(self.faults.is_whole, members)):
            return
        self.armed = True
        self.faults.strike_anyway(self.rng.choice(members), 0.3, power=False)
        self.world.loop.call_later(5.0, self._disarm)

    def _disarm(self) -> None:
        self.armed = False

    def look_at(self, member: "Member") -> None:
        """After a step of a node, while armed: does it want to count somebody again?"""
        joining = self._wants_to_count(member)
        others = [m for m in self.world.members.values() if m is not member]
        second = next((m for m in others if m.id == joining), None)
        if second is None or not second.life.alive or self.world.calm:
            return
        self.armed = False
        (third,) = (m for m in others if m is not second)
        if third.node is not None and third.node.quorum.is_leader and self.rng.random() < 0.7:
            self._empty(member, second, third)
        else:
            self._leave_behind(member, second)

    def _wants_to_count(self, member: "Member") -> int | None:
        partitions = getattr(member.node, "partitions", None)
        table = {} if partitions is None else partitions._by_name.get(TOPIC, {})
        for replica in table.values():
            in_sync = None if replica.leader is None else replica.leader.in_sync
            if in_sync is not None and in_sync.proposed is not None:
                joining: frozenset[int] = in_sync.proposed - in_sync.committed
                if joining:
                    return min(joining)
        return None

    def _leave_behind(self, leader: "Member", joining: "Member") -> None:
        self.world.tell(f"node {joining.id} is cut off from {leader.id}, which wants to count it")
        way = (leader.id, joining.id)
        self.faults.cut_for(2.0, way, way[::-1])
        later = self.world.loop.call_later
        later(0.5 + self.rng.random(), self.faults.strike, leader, 1.0)

    def _empty(self, leader: "Member", joining: "Member", controller: "Member") -> None:
        self.world.tell(f"node {leader.id} counts {joining.id}, but its word takes its time")
        way = (leader.id, joining.id)
        self.faults.cut_for(2.5, way, way[::-1])
        self.faults.cut_for(DELAY_S, (leader.id, controller.id))
        self.faults.strike_anyway(joining, 0.05, power=True)

        def strike() -> None:
            if self.faults.is_whole(controller) and not controller.life.paused:
                self.faults.strike_anyway(leader, 2.0, power=False)

        self.world.loop.call_later(DELAY_S + 0.2 + 0.3 * self.rng.random(), strike)
