"""A quorum under a seed: nodes, a client that proposes, and faults, until all is healed again."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random

from ottla.ids import Uuid
from ottla.quorum import events
from ottla.quorum.config import QuorumConfig
from ottla.quorum.store import format_dynamic
from ottla.quorum.voters import Address, ReplicaKey, Voter, VoterSet
from ottla.simulation.engine.clock import VirtualClock
from ottla.simulation.engine.disk import HostileDisk
from ottla.simulation.engine.network import HostileNetwork, Weather
from ottla.simulation.engine.violation import Violation
from ottla.simulation.quorum.invariants import QuorumInvariants
from ottla.simulation.quorum.node import LOG_DIR, QuorumNode

HEALED_WITHIN = 30.0
"""Virtual seconds after the last fault within which everything must be agreed on again."""
STORY_LINES = 200


@dataclass(frozen=True, slots=True)
class FaultRates:
    """What goes wrong, per virtual second where it is a rate."""

    crashes: float = 0.15
    crash_within_step: float = 0.0003
    cuts: float = 0.2
    storms: float = 0.1
    snapshots: float = 0.3
    voter_changes: float = 0.2
    unlucky_leaders: float = 0.3  # the chance that a new leader is lost before it did much
    unlucky_voters: float = 0.2  # the chance that a voter dies right after its vote


PEACE = FaultRates(0, 0, 0, 0, 0, 0, 0, 0)
CALM_SECONDS = 2.0


class QuorumWorld:
    def __init__(
        self, seed: int, *, nodes: int = 3, voters: int = 3, dynamic: bool = False
    ) -> None:
        self.seed = seed
        self.rng = Random(seed)
        self.clock = VirtualClock()
        self.network = HostileNetwork(self.clock, self.rng)
        self.faults = PEACE
        self.story: list[str] = []
        self.acknowledged: list[bytes] = []
        self.proposed = 0
        self.dynamic = dynamic
        self.invariants = QuorumInvariants(self)
        self._tokens: dict[int, tuple[QuorumNode, int, int, int]] = {}
        self._next_token = 0
        self.nodes = {node: self._build(node, nodes, voters) for node in range(1, nodes + 1)}
        for node in self.nodes.values():
            node.start()

    @classmethod
    def from_seed(cls, seed: int) -> "QuorumWorld":
        """Three or five voters, with an observer or none; every second seed changes the voters."""
        voters = (3, 5)[seed % 4 // 2]
        return cls(seed, nodes=voters + seed % 3 // 2, voters=voters, dynamic=bool(seed % 2))

    def _build(self, node: int, nodes: int, voters: int) -> QuorumNode:
        addresses = {n: Address("CONTROLLER", f"node{n}", 9093) for n in range(1, nodes + 1)}
        initial = range(1, voters + 1)
        disk = HostileDisk()
        static = VoterSet()
        if self.dynamic:
            listed = tuple(Voter(ReplicaKey(n, uuid_of(n)), (addresses[n],)) for n in initial)
            if node in initial:
                format_dynamic(disk, LOG_DIR, listed, 0)
        else:
            static = VoterSet.static([(n, addresses[n]) for n in initial])
        config = QuorumConfig(
            node_id=node,
            cluster_id="simulated",
            directory_id=uuid_of(node),
            log_dir=LOG_DIR,
            static_voters=static,
            bootstrap_servers=tuple((addresses[n].host, 9093) for n in initial),
            endpoints=(addresses[node],),
        )
        return QuorumNode(self, config, disk)

    # --- a run --------------------------------------------------------------------------------

    def run(self, seconds: float) -> "QuorumWorld":
        """Faults for so long, then peace: everything must come together again.

        Before them is a calm in which something is acknowledged, so that there is what to lose.
        """
        end = self.clock.now + CALM_SECONDS + seconds
        self._every(0.08, end, self._propose)
        self.clock.run_until(self.clock.now + CALM_SECONDS)
        self.faults = FaultRates()
        self._every(1.0, end, self._misfortune)
        self.clock.after(seconds * 0.3, self._lose_leader)
        self.clock.after(seconds * 0.6, self._isolate_leader)
        self.clock.run_until(end)
        self.heal()
        self.settle()
        return self

    def heal(self) -> None:
        self.tell("all is healed")
        self.faults = PEACE
        self.network.heal()
        self.invariants.isolated.clear()
        for node in self.nodes.values():
            if not node.alive:
                node.start()

    def settle(self) -> None:
        """Wait until a new value has reached every node."""
        deadline = self.clock.now + HEALED_WITHIN
        goals: set[bytes] = set()
        while self.clock.now < deadline:
            self.clock.run_until(self.clock.now + 0.5)
            leader = next((node for node in self.nodes.values() if node.leads), None)
            reached = goals.intersection(self.acknowledged)
            if reached and all(reached <= set(n.state.values) for n in self.nodes.values()):
                self.invariants.at_the_end()
                return
            if leader is not None and not reached:
                goals.add(b"the last word, %d" % len(goals))
                leader.propose([b"the last word, %d" % (len(goals) - 1)])
        raise Violation(self.explain("after all was healed the nodes did not agree in time"))

    def _every(self, period: float, end: float, action: Callable[[], None]) -> None:
        def again() -> None:
            action()
            if self.clock.now + period < end:
                self.clock.after(period * (0.5 + self.rng.random()), again)

        self.clock.after(period * self.rng.random(), again)

    def _propose(self) -> None:
        for node in self.nodes.values():
            if node.leads:
                self.proposed += 1
                size = self.rng.choice((1, 1, 2, 3, 12))
                padding = b"." * self.rng.choice((0, 0, 0, 0, 700))  # some span a sector
                node.propose([b"%d.%d" % (self.proposed, n) + padding for n in range(size)])

    # --- faults -------------------------------------------------------------------------------

    def _misfortune(self) -> None:
        rng, faults = self.rng, self.faults
        nodes = list(self.nodes.values())
        one = rng.choice(nodes)
        if rng.random() < faults.crashes and one.alive:
            self.crash(one)
        if rng.random() < faults.cuts:
            self._cut(rng.choice(nodes), rng.choice(nodes))
        if rng.random() < faults.storms:
            self.network.weather = Weather(
                loss=rng.choice((0, 0.05, 0.3)),
                repeat=rng.choice((0, 0.1)),
                delay=rng.choice((0.002, 0.02, 0.2)),
                slow=rng.choice((0, 0.05)),
            )
            self.tell(f"the network becomes {self.network.weather}")
        if rng.random() < faults.snapshots and one.alive:
            one.take_snapshot()
        if self.dynamic and rng.random() < faults.voter_changes:
            self._change_voters()

    def elected(self, node: QuorumNode) -> None:
        """Most bugs of elections need a leader that is lost at the wrong moment."""
        if self.rng.random() < self.faults.unlucky_leaders:
            dies = self.rng.random() < 0.5
            delay = 0.05 * self.rng.random()
            self.clock.after(delay, lambda: self.crash(node) if dies else self._cut(node, node))

    def voted(self, node: QuorumNode) -> None:
        """And some need a voter that forgets."""
        if self.rng.random() < self.faults.unlucky_voters:
            self.clock.after(0.003 * self.rng.random(), lambda: self.crash(node))

    def crash(self, node: QuorumNode) -> None:
        """A node dies: with its host, silently, or as a process whose sockets close."""
        if not node.alive:
            return
        silently = self.rng.random() < 0.5
        self.tell(f"node {node.id} dies{' with its host' if silently else ''}")
        node.crash(self.rng)
        if not silently:
            for other in self.nodes.values():
                if other is not node and (node.id, other.id) not in self.network.cut:
                    closed = events.Disconnected(node.id)
                    self.clock.after(0.001, partial(other.step, closed))
        away = 5.0 if self.rng.random() < 0.5 else 0.05
        self.clock.after(away * self.rng.random(), lambda: self._revive(node))

    def _lose_leader(self) -> None:
        """So that no run is without an election."""
        for node in self.nodes.values():
            if node.leads:
                self.crash(node)

    def _isolate_leader(self) -> None:
        """So that few runs are without a log that has to be cut."""
        for node in self.nodes.values():
            if node.leads:
                self._cut(node, node)

    def _revive(self, node: QuorumNode) -> None:
        if not node.alive:
            self.tell(f"node {node.id} starts again")
            node.start()

    def _cut(self, one: QuorumNode, other: QuorumNode) -> None:
        rng = self.rng
        if one is other:
            others = [node for node in self.nodes if node != one.id]
            self.tell(f"node {one.id} is alone")
            self.network.isolate(one.id, others)
            self.invariants.isolated.pop(one.id, None)
            self.clock.after(1.0, lambda: self.invariants.alone(one))
        else:
            both = rng.random() < 0.5
            self.tell(f"no way from {one.id} to {other.id}{' and back' if both else ''}")
            self.network.cut.add((one.id, other.id))
            if both:
                self.network.cut.add((other.id, one.id))

        def mend() -> None:
            self.tell("the cuts are mended")
            self.network.cut.clear()
            self.invariants.isolated.clear()

        self.clock.after(0.2 + 6 * rng.random(), mend)

    def _change_voters(self) -> None:
        """Ask for one change, or for several at once, of which only the first may be granted."""
        leader = next((node for node in self.nodes.values() if node.leads), None)
        if leader is None:
            return
        several = self.rng.sample(list(self.nodes.values()), self.rng.choice((1, 2, 3)))
        for node in several:
            listed = leader.machine.member.voters.by_id.get(node.id)
            request: events.Request
            if listed is not None:
                request = events.RemoveVoter(listed.key)
            else:
                request = events.AddVoter(node.config.key, node.config.endpoints, True, 5.0)
            self.tell(f"node {leader.id} is asked for {type(request).__name__} of {node.id}")
            leader.step(events.Received(-1, request))

    # --- messages -----------------------------------------------------------------------------

    def send(self, source: QuorumNode, send: events.Send) -> None:
        target = self.nodes[int(send.address[0].removeprefix("node"))]
        incarnation = source.incarnation

        def arrive() -> None:
            if not target.alive:
                refused = events.Failed(send.number, refused=True)
                self._back(target, source, incarnation, refused)
            elif isinstance(send.request, events.AskFeatures):
                features = events.Answered(send.number, events.FeaturesReply((0, 1)))
                self._back(target, source, incarnation, features)
            else:
                self._next_token += 1
                token = self._next_token
                self._tokens[token] = source, incarnation, send.number, target.incarnation
                target.step(events.Received(token, send.request))

        self.network.carry(source.id, target.id, arrive)

    def reply(self, target: QuorumNode, token: events.Token, response: events.Response) -> None:
        if token == -1:
            assert isinstance(response, events.EpochReply)
            self.tell(f"node {target.id} answers {response.known.error.name}")
            return
        assert isinstance(token, int)
        source, incarnation, number, _ = self._tokens.pop(token)
        self._back(target, source, incarnation, events.Answered(number, response))

    def _back(
        self, target: QuorumNode, source: QuorumNode, incarnation: int, event: events.Event
    ) -> None:
        def arrive() -> None:
            if source.incarnation == incarnation:
                source.step(event)

        self.network.carry(target.id, source.id, arrive)

    # --- the story ----------------------------------------------------------------------------

    def tell(self, line: str) -> None:
        self.story.append(f"{self.clock.now:9.3f}  {line}")

    def explain(self, what: str) -> str:
        told = "\n".join(self.story[-STORY_LINES:])
        return f"seed {self.seed}: {what}\n{told}\n{self.clock.now:9.3f}  {what}"


def uuid_of(node: int) -> Uuid:
    return bytes([node]) * 16
