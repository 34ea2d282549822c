"""What goes wrong in a simulated cluster, and when: drawn from the seed, told in the story."""

from typing import TYPE_CHECKING

from ottla.metadata.image import Image
from ottla.node.node import Node

if TYPE_CHECKING:
    from ottla.simulation.cluster_world import ClusterWorld, Member

DAY_S = 86_400.0


class Faults:
    def __init__(self, world: "ClusterWorld") -> None:
        self.world = world
        self.rng = world.rng

    def begin(self, after: float) -> None:
        """First one that leaves records which have to be cut, so that no run is without them."""
        self.world.loop.call_later(after, self._leave_alone_with_clients)
        self.world.loop.call_later(after + 8.5, self._next)

    def _leave_alone_with_clients(self) -> None:
        member = self._leader()
        if member is not None:
            others = [n for n in self.world.members if n != member.id]
            self.world.tell(f"node {member.id} is cut off from {others}, not from clients")
            self._cut_for(8.0, *((member.id, n) for n in others), *((n, member.id) for n in others))

    def _next(self) -> None:
        if self.world.calm:
            return
        faults = (
            (4, self._kill_leader),
            (2, self._kill),
            (3, self._cut_power),
            (2, self._pause),
            (3, self._cut),
            (2, self._isolate),
            (1, self._slow_down),
            (1, self._jump),
        )
        (chosen,) = self.rng.choices([each for _, each in faults], [weight for weight, _ in faults])
        chosen()
        self.world.loop.call_later(0.3 + 3 * self.rng.random(), self._next)

    # --- processes and hosts

    def _running(self) -> "list[Member]":
        return [m for m in self.world.members.values() if m.life.alive and not m.life.paused]

    def _may_lose_one(self) -> bool:
        """Mostly a majority is left, for without one nothing happens."""
        return len(self._running()) > 2 or (len(self._running()) > 1 and self.rng.random() < 0.2)

    def _kill(self, member: "Member | None" = None, *, power: bool = False) -> None:
        if not self._may_lose_one():
            return
        member = member or self.rng.choice(self._running())
        self.world.kill(member, power=power)
        away = self.rng.choice((0.05, 0.5, 5.0)) * self.rng.random()

        def revive() -> None:
            if not member.life.alive:
                self.world.tell(f"node {member.id} starts again")
                self.world.start(member)

        self.world.loop.call_later(away, revive)

    def _leader(self) -> "Member | None":
        """A node that leads a partition of the topic, as far as it knows."""
        leading = [m for m in self._running() if self._leads(m)]
        return self.rng.choice(leading) if leading else None

    def _leads(self, member: "Member") -> bool:
        partitions = getattr(member.node, "partitions", ())
        return any(r.leader is not None and r.topic_partition.topic == "story" for r in partitions)

    def _kill_leader(self) -> None:
        leader = self._leader()
        if leader is not None:
            self._kill(leader)

    def _cut_power(self) -> None:
        """Only of one whose records are all on other machines that run."""
        if self._all_have_all():
            self._kill(power=True)

    def _all_have_all(self) -> bool:
        nodes = [m.node for m in self.world.members.values() if m.node and m.life.alive]
        if len(nodes) < len(self.world.members):
            return False
        images = [node.publisher.image for node in nodes if hasattr(node, "publisher")]
        if len(images) < len(nodes):
            return False
        newest = max(images, key=lambda image: image.offset)
        topic = newest.topics_by_name.get("story")
        return (
            topic is not None
            and all(_takes_part(node, newest) for node in nodes)
            and all(len(each.isr) == len(each.replicas) for each in topic.partitions.values())
        )

    def _pause(self) -> None:
        if not self._may_lose_one():
            return
        member = self.rng.choice(self._running())
        life = member.life
        seconds = self.rng.choice((0.5, 4.0, 10.0)) * self.rng.random()
        self.world.tell(f"node {member.id} stands still for {seconds:.1f} s")
        life.paused = True

        def resume() -> None:
            if life.paused:
                self.world.tell(f"node {member.id} goes on")
                self.world.loop.resume(life)

        self.world.loop.call_later(seconds, resume)

    # --- networks and clocks

    def _cut(self) -> None:
        """Between two nodes, or between clients and a node; one way or both."""
        one, other = self.rng.sample([0, *self.world.members], 2)
        both = self.rng.random() < 0.5
        self.world.tell(f"no way from {one} to {other}{' and back' if both else ''}")
        ways = [(one, other), (other, one)] if both else [(one, other)]
        self._cut_for(0.2 + 6 * self.rng.random(), *ways)

    def _isolate(self) -> None:
        """From the other nodes; clients may still reach it."""
        member = self._leader() or self.rng.choice(list(self.world.members.values()))
        others = [n for n in self.world.members if n != member.id]
        if self.rng.random() < 0.5:
            others.append(0)
        self.world.tell(f"node {member.id} is cut off from {others}")
        ways = [way for n in others for way in ((member.id, n), (n, member.id))]
        self._cut_for(0.2 + 6 * self.rng.random(), *ways)

    def _cut_for(self, seconds: float, *ways: tuple[int, int]) -> None:
        cut = self.world.loop.sockets.cut
        cut |= set(ways)

        def mend() -> None:
            self.world.tell(f"mended: {sorted(ways)}")
            cut.difference_update(ways)

        self.world.loop.call_later(seconds, mend)

    def _slow_down(self) -> None:
        self.world.tell("the network is slow")
        self.world.loop.sockets.slow = 0.2 * self.rng.random()

        def speed_up() -> None:
            self.world.loop.sockets.slow = 0.0

        self.world.loop.call_later(3 * self.rng.random(), speed_up)

    def _jump(self) -> None:
        member = self.rng.choice(list(self.world.members.values()))
        member.host.wall_ahead = self.rng.choice((-DAY_S, -3.0, 0.0, 60.0, DAY_S))
        self.world.tell(f"the clock of node {member.id} is off by {member.host.wall_ahead:.0f} s")


def _takes_part(node: Node, image: Image) -> bool:
    """In this life, not in the one before, in which it may have lost something."""
    known = image.brokers.get(node.broker.node_id)
    registration = getattr(node, "registration", None)
    if known is None or known.fenced or registration is None:
        return False
    return bool(known.epoch == registration.epoch)
