"""What goes wrong in a simulated cluster, and when: drawn from the seed, told in the story."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from ottla.ids import TopicPartition
from ottla.metadata.image import Image
from ottla.simulation.cluster import recreated_topic
from ottla.simulation.cluster.targeted_faults import SPAN_S, TargetedFaults

if TYPE_CHECKING:
    from ottla.simulation.cluster.world import ClusterWorld, SimulatedNode

HOUR_S = 3600.0
FIRST_ACKNOWLEDGED = 4  # before anything goes wrong
FIRST_TARGETED_TRIES = 8
QUIET_S = 6.0  # longer than a session: nobody is suspected any more


class Faults:
    def __init__(self, world: "ClusterWorld") -> None:
        self.world = world
        self.rng = world.rng
        self.waits_for_acknowledgement = False
        self.waits_for_election = False
        self.targeted = TargetedFaults(world, self)
        self._next_in = 0.0

    def begin(self, after: float) -> None:
        """First one that leaves records which have to be cut, so that no run is without them."""
        self.world.loop.call_later(after, self._begin)

    def _begin(self) -> None:
        leader = self._leader()
        if leader is None or self.world.acknowledged < FIRST_ACKNOWLEDGED:
            self.begin(after=0.5)
            return
        self._leave_alone_with_clients(leader)
        # Ten seconds later it has found the others again, and has cut.
        self.world.loop.call_later(10.0, self._aim_first, FIRST_TARGETED_TRIES)

    def _aim_first(self, tries: int) -> None:
        """In every run one, as soon as all are in sync."""
        whole = all(map(self.is_whole, self.world.members.values()))
        if not whole and tries > 1:
            self.world.loop.call_later(0.5, self._aim_first, tries - 1)
            return
        self.targeted.aim()
        self.world.loop.call_later(SPAN_S if whole else 0.0, self._next)

    def _leave_alone_with_clients(self, member: "SimulatedNode") -> None:
        others = [n for n in self.world.members if n != member.id]
        self.world.tell(f"node {member.id} is cut off from {others}, not from clients")
        self.cut_for(8.0, *((member.id, n) for n in others), *((n, member.id) for n in others))

    def _next(self) -> None:
        if self.world.calm:
            return
        faults = [
            (2, self._kill_leader),
            (3, self._lie_in_wait),
            (1, self._aim),
            (1, self.world.move_leads),
            (2, self._kill),
            (5, self._cut_power),
            (2, self._pause),
            (3, self._cut),
            (2, self._isolate),
            (2, self._slow_down),
            (1, self._jump),
        ]
        if self.world.acknowledges_synced:
            faults.append((4, self._black_out))
        (chosen,) = self.rng.choices([each for _, each in faults], [weight for weight, _ in faults])
        self._next_in = 0.3 + 3 * self.rng.random()
        chosen()
        self.world.loop.call_later(self._next_in, self._next)

    # --- processes and hosts

    def _running(self) -> "list[SimulatedNode]":
        return [m for m in self.world.members.values() if m.process.alive and not m.process.paused]

    def _may_lose_one(self) -> bool:
        """Mostly a majority is left, for without one nothing happens."""
        return len(self._running()) > 2 or (len(self._running()) > 1 and self.rng.random() < 0.2)

    def _kill(self, member: "SimulatedNode | None" = None, *, power: bool = False) -> None:
        if not self._may_lose_one():
            return
        member = member or self.rng.choice(self._running())
        self.strike(member, self.rng.choice((0.05, 0.5, 5.0)) * self.rng.random(), power=power)

    def strike(self, member: "SimulatedNode", away: float, *, power: bool = False) -> None:
        """Kill it, if that cannot cost what was acknowledged.

        Nobody can tell a kill from a power cut later. So while one replica may lack something,
        the others stay; and where all were killed, Kafka takes the one that led last.
        """
        if self.world.acknowledges_synced:
            self.strike_anyway(member, away, power=power)
            return
        others = [m for m in self.world.members.values() if m is not member]
        killed = [m for m in others if not self.is_whole(m)]
        if any(m.lost_something for m in killed) or len(killed) >= (1 if power else 2):
            return
        self.strike_anyway(member, away, power=power)

    def strike_anyway(self, member: "SimulatedNode", away: float, *, power: bool) -> None:
        if not member.process.alive:
            return
        if member.process.paused:
            self.world.loop.resume(member.process)
        self.world.kill(member, power=power)

        def revive() -> None:
            if not member.process.alive:
                self.world.tell(f"node {member.id} starts again")
                self.world.start(member)

        self.world.loop.call_later(away, revive)

    def _aim(self) -> None:
        self._calm_down(SPAN_S, self.targeted.aim)

    def _calm_down(self, seconds: float, then: Callable[[], None]) -> None:
        """Nothing happens until nobody is suspected any more, and for so long after that."""
        self.waits_for_acknowledgement = self.waits_for_election = False
        self.world.loop.sockets.cut.clear()
        for member in self.world.members.values():
            if member.process.paused:
                self.world.loop.resume(member.process)
        self._next_in = QUIET_S + seconds
        self.world.loop.call_later(QUIET_S, then)

    def fall(self) -> None:
        """One dies, one loses power, the last stands still just before they are back."""
        first, second, third = self.rng.sample(list(self.world.members.values()), 3)
        self.strike_anyway(first, 2.3, power=False)
        self.world.loop.call_later(0.5, self._fall_too, second, third)

    def _fall_too(self, second: "SimulatedNode", third: "SimulatedNode") -> None:
        if self.is_whole(third):
            self.strike_anyway(second, 1.5, power=True)
            self.world.loop.call_later(1.4, self.stop, third, 6.0)

    def _lie_in_wait(self) -> None:
        """The worst moments: just after an acknowledgement, and just after an election."""
        self.waits_for_acknowledgement = True

    def acknowledged(self, where: TopicPartition) -> None:
        self.targeted.acknowledged(where)
        if not self.waits_for_acknowledgement or self.world.calm:
            return
        self.waits_for_acknowledgement = False
        leading = [m for m in self._running() if self.leads(m, where)]
        if not leading or not self._may_lose_one():
            return
        self.strike(leading[0], away=self.rng.choice((0.1, 3.0)) * self.rng.random())
        self.waits_for_election = self.rng.random() < 0.7
        others = [m for m in self._running() if m is not leading[0]]
        if others and self.rng.random() < 0.3:
            self.stop(self.rng.choice(others), 1.0 + self.rng.random())

    def elected(self, node_id: int) -> None:
        if not self.waits_for_election or self.world.calm:
            return
        self.waits_for_election = False
        member = self.world.members[node_id]
        if self.rng.random() < 0.5:
            self.world.loop.call_later(0.004 * self.rng.random(), self._strike_if_alive, member)
        else:
            self._leave_alone_with_clients(member)

    def _strike_if_alive(self, member: "SimulatedNode") -> None:
        if member.process.alive:
            self.strike(member, away=self.rng.choice((0.1, 3.0)) * self.rng.random())

    def _leader(self) -> "SimulatedNode | None":
        """A node that leads a partition of the topic, as far as it knows."""
        leading = [m for m in self._running() if self.leads(m)]
        return self.rng.choice(leading) if leading else None

    def leads(self, member: "SimulatedNode", where: TopicPartition | None = None) -> bool:
        return any(
            replica.leader is not None
            and replica.topic_partition.topic == "story"
            and where in (None, replica.topic_partition)
            for replica in member.replicas()
        )

    def _kill_leader(self) -> None:
        leader = self._leader()
        if leader is not None:
            self._kill(leader)

    def _cut_power(self) -> None:
        """A host whose node is dead already may lose it too: that costs what was not synced."""
        anybody = self.rng.choice(list(self.world.members.values()))
        member = anybody if self.rng.random() < 0.4 else self._leader() or anybody
        if member.process.alive:
            self._kill(member, power=True)
        elif all(self.is_whole(m) for m in self.world.members.values() if m is not member):
            self.world.lose_unsynced(member)

    def _black_out(self) -> None:
        """All hosts lose power at once, and come back one by one."""
        for member in self.world.members.values():
            if member.process.alive:
                self.strike_anyway(member, 0.1 + 3 * self.rng.random(), power=True)
            else:
                self.world.lose_unsynced(member)

    def is_whole(self, member: "SimulatedNode") -> bool:
        """In sync since it started: it has all that was acknowledged, whatever was lost before."""
        newest = self.newest_image()
        broker = member.broker
        if newest is None or "story" not in newest.topics_by_name or broker is None:
            return False
        known = newest.brokers.get(member.id)
        whole = (
            known is not None
            and known.epoch == broker.registration.epoch
            and all(
                member.id in partition.isr
                for topic in newest.topics_by_name.values()
                if topic.name != recreated_topic.TOPIC
                for partition in topic.partitions.values()
            )
        )
        member.lost_something &= not whole
        return whole

    def newest_image(self) -> Image | None:
        images = [
            each.node.publisher.image
            for each in self.world.members.values()
            if each.node is not None and hasattr(each.node, "publisher")
        ]
        return max(images, key=lambda image: image.offset, default=None)

    def _pause(self) -> None:
        if not self._may_lose_one():
            return
        seconds = self.rng.choice((0.5, 4.0, 10.0)) * self.rng.random()
        self.stop(self.rng.choice(self._running()), seconds)

    def stop(self, member: "SimulatedNode", seconds: float) -> None:
        process = member.process
        if not process.alive or process.paused:
            return
        self.world.tell(f"node {member.id} stands still for {seconds:.1f} s")
        process.paused = True

        def resume() -> None:
            if process.paused:
                self.world.tell(f"node {member.id} goes on")
                self.world.loop.resume(process)

        self.world.loop.call_later(seconds, resume)

    # --- networks and clocks

    def _cut(self) -> None:
        """Between two nodes, or between clients and a node; one way or both."""
        one, other = self.rng.sample([0, *self.world.members], 2)
        both = self.rng.random() < 0.5
        self.world.tell(f"no way from {one} to {other}{' and back' if both else ''}")
        ways = [(one, other), (other, one)] if both else [(one, other)]
        self.cut_for(0.2 + 6 * self.rng.random(), *ways)

    def _isolate(self) -> None:
        """From the other nodes; clients may still reach it."""
        member = self._leader() or self.rng.choice(list(self.world.members.values()))
        others = [n for n in self.world.members if n != member.id]
        if self.rng.random() < 0.5:
            others.append(0)
        self.world.tell(f"node {member.id} is cut off from {others}")
        ways = [way for n in others for way in ((member.id, n), (n, member.id))]
        self.cut_for(0.2 + 6 * self.rng.random(), *ways)

    def cut_for(self, seconds: float, *ways: tuple[int, ...]) -> None:
        """From one host to another, or only on connections to one port."""
        cut = self.world.loop.sockets.cut
        cut |= set(ways)

        def mend() -> None:
            self.world.tell(f"mended: {sorted(ways)}")
            cut.difference_update(ways)

        self.world.loop.call_later(seconds, mend)

    def _slow_down(self) -> None:
        self.world.tell("the network is slow")
        self.world.loop.sockets.slow = 0.5 * self.rng.random()

        def speed_up() -> None:
            self.world.loop.sockets.slow = 0.0

        self.world.loop.call_later(3 * self.rng.random(), speed_up)

    def _jump(self) -> None:
        """Within what Kafka bears: an hour back, clients' timestamps would be from the future; a
        day ahead, producers would be forgotten."""
        member = self.rng.choice(list(self.world.members.values()))
        member.host.wall_ahead = self.rng.choice((-0.5, -0.001, 0.0, 0.02, 23.0)) * HOUR_S
        self.world.tell(f"the clock of node {member.id} is off by {member.host.wall_ahead:.0f} s")
