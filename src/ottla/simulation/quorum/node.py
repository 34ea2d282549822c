"""One member of a simulated quorum: the real machine and files, on a hostile disk and network."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ottla.quorum import events
from ottla.quorum.batches import summarize
from ottla.quorum.config import QuorumConfig
from ottla.quorum.events import Effect, Event, Tick
from ottla.quorum.machine import QuorumMachine
from ottla.quorum.replica import QuorumReplica
from ottla.quorum.roles import LeaderState
from ottla.quorum.snapshots import SnapshotId, build_snapshot, read_snapshot
from ottla.quorum.store import Store
from ottla.simulation.engine.disk import HostileDisk, HostileFile

if TYPE_CHECKING:
    from ottla.simulation.quorum.world import QuorumWorld

LOG_DIR = Path("/data")
SEGMENT_BYTES = 4096


class AppliedLog:
    """What the listener made of the log: the values, in order."""

    def __init__(self, world: "QuorumWorld", node: int) -> None:
        self.world = world
        self.node = node
        self.values: list[bytes] = []
        self.end = SnapshotId(0, 0)

    def committed(
        self, base_offset: int, epoch: int, values: Sequence[bytes], timestamp_ms: int
    ) -> None:
        self.world.invariants.committed(self.node, base_offset, epoch, values)
        self.values += values
        self.end = SnapshotId(base_offset + len(values), epoch)

    def load_snapshot(self, values: Iterable[bytes], end_offset: int, epoch: int) -> None:
        self.values = list(values)
        self.end = SnapshotId(end_offset, epoch)
        self.world.invariants.loaded(self.node, self.values, end_offset)

    def leader_changed(self, leader_id: int | None, epoch: int) -> None:
        if leader_id == self.node:
            self.world.tell(f"node {self.node} leads epoch {epoch}")


class QuorumNode:
    def __init__(self, world: "QuorumWorld", config: QuorumConfig, disk: HostileDisk) -> None:
        self.world = world
        self.id = config.node_id
        self.config = config
        self.disk = disk
        self.alive = False
        self.incarnation = 0
        self._waiting: list[tuple[int, Sequence[bytes]]] = []  # end offset, values

    @property
    def role(self) -> object:
        return self.machine.member.role

    @property
    def leads(self) -> bool:
        role = self.machine.member.role
        return self.alive and isinstance(role, LeaderState) and role.announced

    def start(self) -> None:
        self.alive = True
        self.incarnation += 1
        self._waiting.clear()
        self._ticking_at = float("inf")
        self._flush: events.Flush | None = None
        self.state = AppliedLog(self.world, self.id)
        self.store = Store(self.disk, LOG_DIR, self.config.static_voters, SEGMENT_BYTES)
        self.replica = QuorumReplica(self.store, self.state)
        rng = Random(self.world.rng.random())
        self.machine = QuorumMachine(
            self.world.clock.now,
            self.config,
            rng,
            self.store.election,
            self.store.log_state(),
            self.store.history,
        )
        self.step(Tick())

    def crash(self, rng: Random) -> None:
        """The power goes; unsynced data with it, more or less."""
        self.alive = False
        self.disk.crash(rng)

    def step(self, event: Event) -> None:
        if not self.alive:
            return
        world = self.world
        for effect in self.machine.step(world.clock.now, event):
            self._perform(effect)
            if not self.alive:
                return
            if world.rng.random() < world.faults.crash_within_step:
                world.crash(self)
                return
        world.invariants.after_step(self)
        self._arm()

    def propose(self, values: Sequence[bytes]) -> None:
        end = self.machine.member.log.end_offset + len(values)
        self._waiting.append((end, values))
        self.step(events.Propose(values))

    def take_snapshot(self) -> None:
        """Of all that was delivered, if that is more than the last holds."""
        snapshot_id, newest = self.state.end, self.store.snapshot_id
        if snapshot_id.end_offset <= (newest.end_offset if newest else 0):
            return
        version, voters = self.machine.member.history.at(snapshot_id.end_offset)
        data = build_snapshot(
            self.state.values,
            now_ms=0,
            epoch=snapshot_id.epoch,
            kraft_version=version,
            voters=voters,
        )
        self.store.write_snapshot_file(snapshot_id, data)
        self.store.adopt_snapshot(snapshot_id, read_snapshot(data))
        self.step(events.SnapshotTaken(snapshot_id, self.store.log.start_offset))

    def _arm(self) -> None:
        at = self.machine.next_deadline()
        if at != self._ticking_at:
            self._ticking_at = at
            incarnation = self.incarnation
            self.world.clock.at(at, lambda: self._tick(at, incarnation))

    def _tick(self, at: float, incarnation: int) -> None:
        if incarnation == self.incarnation and at == self._ticking_at:
            self._ticking_at = float("inf")
            self.step(Tick())

    def _perform(self, effect: Effect) -> None:
        world = self.world
        world.invariants.performing(self, effect)
        if self.replica.perform(effect, 0):
            if isinstance(effect, events.Commit):
                self._acknowledge(effect.high_watermark)
            elif isinstance(effect, events.LeaderChanged) and effect.leader != self.id:
                self._waiting.clear()
            return
        match effect:
            case events.Flush():
                self._sync(effect)
            case events.Send():
                world.send(self, effect)
            case events.Reply(token=token, response=response):
                world.reply(self, token, response)
            case events.ReplyRecords(token=token, response=response, offset=offset):
                filled = self.replica.with_records(response, offset)
                batches, records = summarize(filled.records, offset, response.known.epoch)
                world.reply(self, token, replace(filled, batches=batches, records=records))
            case events.ReplySnapshot(token=token, response=response, max_bytes=max_bytes):
                world.reply(self, token, self.replica.with_part(response, max_bytes))

    def _acknowledge(self, high_watermark: int) -> None:
        while self._waiting and self._waiting[0][0] <= high_watermark:
            self.world.acknowledged.extend(self._waiting.pop(0)[1])

    def _sync(self, wanted: events.Flush) -> None:
        """A sync takes a while, and covers what was there when it began."""
        file = self.store.log.segments[-1].file
        assert isinstance(file, HostileFile)
        mark, incarnation = file.mark(), self.incarnation

        def done() -> None:
            if incarnation == self.incarnation and self.alive:
                file.sync_to(mark)
                self.step(events.Flushed(wanted.generation, wanted.end_offset))

        self.world.clock.after(0.0005 + 0.01 * self.world.rng.random(), done)
