"""The worst moments, waited for: a replica is about to count, a lead changes hands.

A targeted fault lets a small misfortune happen, waits for what follows from it, and strikes just
then. All of it is what hosts, networks and operators do: one connection stalls while others go on,
a process dies or stands still, a disk is replaced, somebody moves a lead.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from ottla.ids import TopicPartition
from ottla.metadata.image import PartitionRegistration

if TYPE_CHECKING:
    from ottla.replication.partitions import Replica
    from ottla.simulation.cluster.faults import Faults
    from ottla.simulation.cluster.world import ClusterWorld, SimulatedNode

TOPIC = "story"
SPAN_S = 13.0
"""So long after it was aimed one is over."""
DELAY_S = 0.9
"""Of a leader's word: its follower is back and registered by then, and nobody is suspected."""
OUTDATED_S = 5.0
"""The same, until another leads."""
LAG_S = 5.5  # until a replica does not count any more
STANDSTILL_S = 8.0  # longer than an election of a controller and a session together

Watch = Callable[["SimulatedNode"], bool]
"""Called after each step of a node, until it says that what it waited for has come."""


class Growth(NamedTuple):
    """The leader of a partition wants to count another replica again."""

    where: TopicPartition
    leader: "SimulatedNode"
    joining: "SimulatedNode"
    third: "SimulatedNode"


Ending = Callable[[Growth], None]


class TargetedFaults:
    def __init__(self, world: "ClusterWorld", faults: "Faults") -> None:
        self.world = world
        self.faults = faults
        self.rng = world.rng
        self.watch: Watch | None = None
        self._mourned: TopicPartition | None = None

    def aim(self) -> None:
        """One of them, if all replicas are in sync."""
        if self.world.calm or not all(map(self.faults.is_whole, self.world.members.values())):
            return
        kinds = ((5, self._grow), (3, self._succeed), (3, self._move), (1, self.faults.fall))
        (chosen,) = self.rng.choices([each for _, each in kinds], [weight for weight, _ in kinds])
        chosen()

    def _wait(self, watch: Watch, seconds: float) -> None:
        self.watch = watch

        def give_up() -> None:
            if self.watch is watch:
                self.watch = None

        self.world.loop.call_later(seconds, give_up)

    def look_at(self, member: "SimulatedNode") -> None:
        if self.watch is not None and not self.world.calm and self.watch(member):
            self.watch = None

    # --- a replica is about to count again

    def _grow(self) -> None:
        """One replica is sent away for a moment; back again it catches up, and its leader asks
        the controller to count it. In this moment somebody dies."""
        leader, joining, _ = self._cast()
        if self.rng.random() < 0.5:
            self.faults.strike_anyway(joining, 0.5 + self.rng.random(), power=False)
        else:
            self._hold_up(joining, leader)
        ending = self.rng.choice((self._leave_behind, self._empty, self._outdate))
        self._wait(lambda member: self._grows(member, ending), SPAN_S)

    def _succeed(self) -> None:
        """Until one replica does not count any more nothing is committed. The leader dies with the
        first word of what is then; its heir, which may not have heard it, is asked to count the
        one that lacks all of it."""
        leader, joining, _ = self._cast()
        where = self._led_by(leader)
        self._hold_up(joining, leader)

        def lie_in_wait() -> None:
            self._mourned = where

        def forget() -> None:
            self._mourned = None

        self.world.loop.call_later(0.1, lie_in_wait)
        self.world.loop.call_later(LAG_S, forget)

    def _hold_up(self, joining: "SimulatedNode", leader: "SimulatedNode") -> None:
        self.world.tell(f"what node {joining.id} fetches from {leader.id} is stuck")
        self.faults.cut_for(LAG_S, *fetching(joining, leader))

    def acknowledged(self, where: TopicPartition) -> None:
        if where != self._mourned or self.world.calm:
            return
        self._mourned = None
        for member in self.world.members.values():
            if member.process.alive and self.faults.leads(member, where):
                self.faults.strike_anyway(member, 2.5, power=False)
                self._wait(lambda heir: self._grows(heir, self._strand_heir), SPAN_S)
                return

    def _grows(self, member: "SimulatedNode", ending: Ending) -> bool:
        """Whether it wants to count somebody again; then the end begins."""
        for replica in self._replicas(member):
            in_sync = None if replica.leader is None else replica.leader.in_sync
            if in_sync is None or in_sync.proposed is None:
                continue
            new = in_sync.proposed - in_sync.committed
            joining, third = (m for m in self.world.members.values() if m is not member)
            if joining.id not in new:
                joining, third = third, joining
            if joining.id in new and joining.process.alive:
                ending(Growth(replica.topic_partition, member, joining, third))
                return True
        return False

    def _leave_behind(self, growth: Growth) -> None:
        """The replica gets nothing more, though it counts; then its leader dies."""
        _, leader, joining, third = growth
        self.world.tell(f"node {joining.id} is left behind by {leader.id}, which wants to count it")
        self.faults.cut_for(4.0, *fetching(joining, leader))
        controller = self._controller()
        if controller is not None and controller is not leader and self.rng.random() < 0.7:
            self.world.tell(f"what the controller tells node {leader.id} is stuck")
            self.faults.cut_for(2.0, (controller.id, leader.id, controller.controller_port))
        self._bereave(leader, third, 0.6 + 0.8 * self.rng.random())

    def _empty(self, growth: Growth) -> None:
        """While the leader's word is on its way the replica gets an empty disk (KIP-903)."""
        _, leader, joining, third = growth
        controller = self._controller()
        if controller is not third:
            return self._leave_behind(growth)
        self.world.tell(f"node {leader.id} counts {joining.id}, but its word takes its time")
        self.faults.cut_for(2.5, *fetching(joining, leader))
        self.faults.cut_for(DELAY_S, (leader.id, controller.id, controller.controller_port))
        self.faults.strike_anyway(joining, 0.05, power=True)
        self.world.replace_disk(joining, TOPIC)
        self._bereave(leader, third, DELAY_S + 0.2 + 0.3 * self.rng.random())
        return None

    def _outdate(self, growth: Growth) -> None:
        """The leader's word takes so long that another leads when it arrives. Then that one dies,
        before the first has anything of what was written meanwhile."""
        where, leader, joining, third = growth
        controller = self._controller()
        if controller is None or controller is leader:
            return self._leave_behind(growth)
        self.world.tell(f"the word of node {leader.id} takes so long that it is outdated")
        self.faults.cut_for(OUTDATED_S, (leader.id, controller.id, controller.controller_port))
        for heir in (joining, third):
            self.faults.cut_for(OUTDATED_S + 2.5, *fetching(leader, heir))

        def strike() -> None:
            for heir, other in ((joining, third), (third, joining)):
                if self.faults.leads(heir, where):
                    self._bereave(heir, other, 0.0)
                    return

        self.world.loop.call_later(OUTDATED_S + 0.5 + self.rng.random(), strike)
        return None

    def _strand_heir(self, growth: Growth) -> None:
        """After a death that is not forgotten yet this one only stands still."""
        _, heir, joining, _ = growth
        self.world.tell(f"node {joining.id} is left behind by {heir.id}, which wants to count it")
        self.faults.cut_for(STANDSTILL_S, *fetching(joining, heir))
        later = self.world.loop.call_later
        later(0.02 + 0.3 * self.rng.random(), self.faults.stop, heir, STANDSTILL_S)

    def _bereave(self, leader: "SimulatedNode", third: "SimulatedNode", after: float) -> None:
        """The leader dies; often the third is no help, for it stands still."""
        alone = self.rng.random() < 0.75

        def strike() -> None:
            if self.faults.is_whole(third) and not third.process.paused:
                self.faults.strike_anyway(leader, 1.0, power=False)
                if alone:
                    self.faults.stop(third, STANDSTILL_S)

        self.world.loop.call_later(after, strike)

    # --- a lead is moved

    def _move(self) -> None:
        self._wait(self._is_waited_for, 4.0)

    def _is_waited_for(self, member: "SimulatedNode") -> bool:
        """Whether a record waits for others on a node that is not the preferred leader: it gets
        no further, and an operator moves the lead."""
        for replica in self._replicas(member):
            log, preferred = replica.log, replica.state.preferred
            if (
                replica.leader is not None
                and log.log_end_offset > log.high_watermark
                and preferred != member.id
                and preferred in replica.state.isr
            ):
                self.faults.cut_for(0.3, (member.id, preferred, member.port))
                self.world.move_leads()
                return True
        return False

    # --- who is who

    def _cast(self) -> "tuple[SimulatedNode, SimulatedNode, SimulatedNode]":
        """A leader, and two that follow it. Rather not the active controller: who is neither the
        one nor the other tells what came of it."""
        controller = self._controller()
        states = self._states()
        leaders = [self.world.members[state.leader] for state in states.values()]
        leader = self.rng.choice([m for m in leaders if m is not controller] or leaders)
        others = [m for m in self.world.members.values() if m is not leader]
        self.rng.shuffle(others)
        if self.rng.random() < 0.8:
            others.sort(key=lambda m: m is controller)
        return leader, others[0], others[1]

    @staticmethod
    def _replicas(member: "SimulatedNode") -> "Iterable[Replica]":
        """Those of the topic; none while the node starts."""
        broker = member.broker
        return () if broker is None else broker.partitions._by_name.get(TOPIC, {}).values()

    def _led_by(self, leader: "SimulatedNode") -> TopicPartition:
        index = next(i for i, state in self._states().items() if state.leader == leader.id)
        return TopicPartition(TOPIC, index)

    def _states(self) -> dict[int, PartitionRegistration]:
        image = self.faults.newest_image()
        assert image is not None
        return dict(image.topics_by_name[TOPIC].partitions)

    def _controller(self) -> "SimulatedNode | None":
        for member in self.world.members.values():
            quorum = getattr(member.node, "quorum", None)
            if quorum is not None and quorum.is_leader:
                return member
        return None


def fetching(follower: "SimulatedNode", leader: "SimulatedNode") -> list[tuple[int, ...]]:
    """The connection over which one fetches from the other, both ways."""
    return [(follower.id, leader.id, leader.port), (leader.id, follower.id, leader.port)]
