"""What must hold after every step of a simulated quorum, and at the end of the run."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from ottla.quorum import events
from ottla.quorum.roles import CandidateState, LeaderState
from ottla.simulation.engine.violation import Violation

if TYPE_CHECKING:
    from ottla.simulation.quorum.node import QuorumNode
    from ottla.simulation.quorum.world import QuorumWorld


class QuorumInvariants:
    def __init__(self, world: "QuorumWorld") -> None:
        self.world = world
        self.leaders: dict[int, int] = {}  # epoch → node
        self.written: dict[tuple[int, int], object] = {}  # (offset, epoch) → what the leader wrote
        self.agreed: dict[int, tuple[int, tuple[bytes, ...]]] = {}  # base offset → epoch, values
        self.agreed_end = 0
        self.watermarks: dict[tuple[int, int], int] = {}  # (node, incarnation) → high watermark
        self.isolated: dict[int, int] = {}  # node that reaches nobody → its epoch
        self.truncations = 0
        self.snapshots_loaded = 0

    def violated(self, what: str) -> NoReturn:
        raise Violation(self.world.explain(what))

    def alone(self, node: "QuorumNode") -> None:
        """From here on the node can hear from nobody: it must not begin an epoch."""
        others = [other for other in self.world.nodes if other != node.id]
        cut = self.world.network.cut
        if node.alive and all({(node.id, o), (o, node.id)} <= cut for o in others):
            self.isolated[node.id] = node.machine.member.epoch

    def performing(self, node: "QuorumNode", effect: events.Effect) -> None:
        match effect:
            case events.Append(base_offset=base, epoch=epoch, values=values):
                self._wrote(node, base, epoch, tuple(values))
            case events.AppendControl(base_offset=base, epoch=epoch, records=records):
                self._wrote(node, base, epoch, repr(records))
            case events.Reply(response=events.VoteReply(granted=True)):
                self.world.voted(node)
            case events.Truncate(offset=offset):
                self.truncations += 1
                self.world.tell(f"node {node.id} drops its log from {offset} on")
                if offset < node.machine.member.high_watermark:
                    self.violated(f"node {node.id} drops committed records")

    def _wrote(self, node: "QuorumNode", base: int, epoch: int, what: object) -> None:
        if self.written.setdefault((base, epoch), what) != what:
            self.violated(f"node {node.id} wrote other records at {base} in epoch {epoch}")

    def after_step(self, node: "QuorumNode") -> None:
        member = node.machine.member
        if isinstance(member.role, LeaderState):
            self._leads(node)
        began = isinstance(member.role, CandidateState)
        if began and member.epoch > self.isolated.get(node.id, member.epoch):
            self.violated(f"node {node.id} is alone and begins epoch {member.epoch}")
        incarnation = node.id, node.incarnation
        moved = member.high_watermark > self.watermarks.get(incarnation, member.high_watermark)
        last_epoch = member.log.epochs.epoch_for(member.high_watermark - 1)
        if moved and isinstance(member.role, LeaderState) and last_epoch != member.epoch:
            self.violated(f"node {node.id} commits records of epoch {last_epoch} by counting")
        if member.high_watermark < self.watermarks.get(incarnation, 0):
            self.violated(f"the high watermark of node {node.id} went back")
        self.watermarks[incarnation] = member.high_watermark
        log = member.log
        if not log.start_offset <= log.flushed <= log.end_offset == node.store.log.end_offset:
            what = log.start_offset, log.flushed, log.end_offset, node.store.log.end_offset
            self.violated(f"node {node.id} is wrong about its own log: {what}")
        if member.high_watermark > log.end_offset:
            self.violated(f"node {node.id} calls committed what it does not have")

    def _leads(self, node: "QuorumNode") -> None:
        member = node.machine.member
        first = member.epoch not in self.leaders
        if self.leaders.setdefault(member.epoch, node.id) != node.id:
            self.violated(f"epoch {member.epoch} has two leaders")
        if first:
            self._has_all_agreed(node)
            self.world.elected(node)

    def _has_all_agreed(self, node: "QuorumNode") -> None:
        log = node.machine.member.log
        if log.end_offset < self.agreed_end:
            self.violated(f"node {node.id} leads without committed records")
        for base, (epoch, _) in self.agreed.items():
            if base >= log.start_offset and log.epochs.epoch_for(base) != epoch:
                self.violated(f"node {node.id} leads with another record at {base}")

    def committed(self, node: int, base: int, epoch: int, values: Sequence[bytes]) -> None:
        """All nodes are told the same at the same offset."""
        entry = epoch, tuple(values)
        if self.agreed.setdefault(base, entry) != entry:
            self.violated(f"node {node} was told of other records at {base}")
        self.agreed_end = max(self.agreed_end, base + len(values))

    def loaded(self, node: int, values: Sequence[bytes], end_offset: int) -> None:
        """A snapshot says what the records before its end said."""
        self.snapshots_loaded += 1
        before = [
            value
            for base in sorted(self.agreed)
            if base < end_offset
            for value in self.agreed[base][1]
        ]
        if list(values) != before:
            self.violated(f"node {node} loaded a snapshot at {end_offset} that is not the log's")

    def at_the_end(self) -> None:
        for node in self.world.nodes.values():
            lost = set(self.world.acknowledged).difference(node.state.values)
            if lost:
                self.violated(f"node {node.id} lost acknowledged values: {sorted(lost)[:5]}")
            if len(set(node.state.values)) != len(node.state.values):
                self.violated(f"node {node.id} was told a value twice")
