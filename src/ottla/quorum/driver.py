"""The quorum as the rest of a node sees it: append, and be told what is committed.

A thin driver: it feeds the machine with events and performs its effects with files, a thread for
fsync, sockets and the listener. Decisions are not made here.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

from ottla.errors import ErrorCode, KafkaError
from ottla.ports.clock import Clock
from ottla.ports.disk import Disk, LocalDisk
from ottla.ports.network import Network, TcpNetwork
from ottla.quorum import events
from ottla.quorum.config import QuorumConfig
from ottla.quorum.describing import describe_quorum
from ottla.quorum.events import Effect, Event, Flush, Response, Tick
from ottla.quorum.machine import QuorumMachine
from ottla.quorum.member import Rng
from ottla.quorum.peers import QuorumPeers
from ottla.quorum.replica import QuorumListener, QuorumReplica
from ottla.quorum.requests import incoming
from ottla.quorum.responses import reply
from ottla.quorum.roles import LeaderState, ResignedState
from ottla.quorum.snapshots import Snapshot, SnapshotId, build_snapshot, read_snapshot
from ottla.quorum.store import Store
from ottla.wire.message import Message
from ottla.wire.messages.describe_quorum import DescribeQuorumRequest

__all__ = ["Quorum", "QuorumListener"]

logger = logging.getLogger(__name__)

GOODBYE = 0.5
"""Seconds that a leader which stops waits for the others to hear of it."""


class Quorum:
    def __init__(
        self,
        config: QuorumConfig,
        listener: QuorumListener,
        clock: Clock,
        chance: Rng,
        disk: Disk | None = None,
        network: Network | None = None,
    ) -> None:
        self.config = config
        self.node_id = config.node_id
        self.is_leader = False
        """Whether we lead and the listener knows all that was committed before."""
        self._listener = listener
        self._now, self._wall_ms = clock
        self._disk = disk or LocalDisk()
        self._chance = chance
        self._network = network or TcpNetwork()
        self._flusher = ThreadPoolExecutor(1, "quorum-sync")
        self._flushing = False
        self._flush_wanted: Flush | None = None
        self._waiting: deque[tuple[int, int, asyncio.Future[int]]] = deque()  # end, base, future
        self._effects: deque[Effect] = deque()
        self._performing = False
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0  # uvloop's handles do not tell
        self._stopped = False

    @property
    def leader_id(self) -> int | None:
        return self._machine.member.leader

    @property
    def leader_address(self) -> tuple[str, int] | None:
        """Where the leader is reached by other nodes."""
        return self._machine.member.leader_address()

    @property
    def is_caught_up(self) -> bool:
        """The listener has been told all that this node knows to be committed, from a leader."""
        known = self.high_watermark
        return self.leader_id is not None and 0 < known <= self._replica.delivered

    @property
    def epoch(self) -> int:
        return self._machine.member.epoch

    @property
    def high_watermark(self) -> int:
        return self._machine.member.high_watermark

    @property
    def kraft_version(self) -> int:
        """0: the voters are those of the file; 1: those of the log."""
        return self._machine.member.history.kraft_version

    async def start(self) -> None:
        """Take part. A quorum of one leads, and has replayed everything, when this returns."""
        self._loop = asyncio.get_running_loop()
        self.failure: asyncio.Future[None] = self._loop.create_future()
        """Done, with the exception, when the quorum cannot go on: the disk failed."""
        self._led: asyncio.Future[None] = self._loop.create_future()
        config = self.config
        store = Store(self._disk, config.log_dir, config.static_voters, config.segment_bytes)
        self._replica = QuorumReplica(store, self._listener)
        self._peers = QuorumPeers(config, self._network, self._step)
        self._machine = QuorumMachine(
            self._now(), config, self._chance, store.election, store.log_state(), store.history
        )
        self._step(Tick())
        if self._machine.member.voters.only(config.key):
            await self._led

    async def stop(self) -> None:
        """Leave; a leader tells the others, so that they need not find out."""
        self._step(events.Resign(for_good=True))
        deadline = self._now() + GOODBYE
        while self._is_saying_goodbye() and self._now() < deadline:
            await asyncio.sleep(0.01)
        self._stopped = True
        self._fail_waiting()
        if self._timer is not None:
            self._timer.cancel()
        await self._peers.close()
        await self._loop.run_in_executor(None, self._flusher.shutdown)
        if not self.failure.done():
            self._replica.store.log.sync()
        self._replica.store.close()

    def _is_saying_goodbye(self) -> bool:
        role = self._machine.member.role
        return isinstance(role, ResignedState) and bool(role.unaware)

    def append(self, values: Sequence[bytes]) -> asyncio.Future[int]:
        """Append one atomic batch; the future has its first offset once it is committed."""
        if self._stopped or not isinstance(self._machine.member.role, LeaderState):
            raise not_controller()
        base = self.appended_end_offset()
        future: asyncio.Future[int] = self._loop.create_future()
        self._waiting.append((base + len(values), base, future))
        self._step(events.Propose(values))
        return future

    def appended_end_offset(self) -> int:
        """Where the next batch will start."""
        return self._machine.member.log.end_offset

    def resign(self) -> None:
        """Let another lead, if there is one."""
        self._step(events.Resign())

    async def write_snapshot(self, values: Iterable[bytes], end_offset: int, epoch: int) -> None:
        """Keep these as the state below `end_offset`, and drop log that is not needed for it.

        `values` are read in a thread: they must not change meanwhile.
        """
        snapshot_id = SnapshotId(end_offset, epoch)
        version, voters = self._machine.member.history.at(end_offset)
        store = self._replica.store

        def write() -> Snapshot:
            now_ms = self._wall_ms()
            data = build_snapshot(
                values,
                now_ms=now_ms,
                last_timestamp=now_ms,
                epoch=epoch,
                kraft_version=version,
                voters=voters,
            )
            store.write_snapshot_file(snapshot_id, data)
            return read_snapshot(data)

        snapshot = await self._loop.run_in_executor(None, write)
        newest = store.snapshot_id
        if self._stopped or (newest is not None and newest.end_offset >= end_offset):
            return
        store.adopt_snapshot(snapshot_id, snapshot)
        self._step(events.SnapshotTaken(snapshot_id, store.log.start_offset))

    async def handle(self, request: Message, version: int) -> Message:
        """Answer a request of another node of the quorum."""
        if isinstance(request, DescribeQuorumRequest):
            return describe_quorum(request, self._machine.member, self._now(), self._wall_ms())
        asked = incoming(request, self.config.cluster_id)
        answer: asyncio.Future[Response] = self._loop.create_future()
        if self._stopped:
            raise KafkaError(ErrorCode.BROKER_NOT_AVAILABLE, "This node is stopping.")
        self._step(events.Received(answer, asked))
        return reply(asked, await answer)

    # --- the loop of events and effects -------------------------------------------------------

    def _step(self, event: Event) -> None:
        """Let the machine decide, and perform what it wants.

        The listener may append while it is being told something: then the effects of that come
        after those that are still to be performed.
        """
        if self._stopped:
            return
        try:
            self._effects.extend(self._machine.step(self._now(), event))
            self._perform_all()
        except Exception as error:
            self._fail(error)
        else:
            self._arm()

    def _perform_all(self) -> None:
        if self._performing:
            return
        self._performing = True
        try:
            while self._effects:
                self._perform(self._effects.popleft())
        finally:
            self._performing = False

    def _perform(self, effect: Effect) -> None:
        if self._replica.perform(effect, self._wall_ms()):
            match effect:
                case events.Commit(high_watermark=high_watermark):
                    self._resolve(high_watermark)
                case events.LeaderChanged(leader=leader):
                    self._led_by(leader)
            return
        match effect:
            case Flush():
                self._flush_wanted = effect
                self._flush_soon()
            case events.Send():
                self._peers.send(effect)
            case events.Reply(token=token, response=response):
                answer(token, response)
            case events.ReplyRecords(token=token, response=response, offset=offset):
                answer(token, self._replica.with_records(response, offset))
            case events.ReplySnapshot(token=token, response=response, max_bytes=max_bytes):
                answer(token, self._replica.with_part(response, max_bytes))

    def _arm(self) -> None:
        """Come back when the machine wants to."""
        at = self._machine.next_deadline()
        if self._timer is not None:
            if self._timer_at == at:
                return
            self._timer.cancel()
        if not self._stopped:
            self._timer_at = at
            self._timer = self._loop.call_at(at, self._tick)

    def _tick(self) -> None:
        """uvloop counts in milliseconds and may come a little early: then the timer is set anew."""
        self._timer = None
        self._step(Tick())

    def _fail(self, error: Exception) -> None:
        """A disk that failed once is not to be trusted again: nothing is acknowledged any more."""
        logger.critical("the metadata quorum cannot go on", exc_info=error)
        self._stopped = True
        self.is_leader = False
        self._fail_waiting()
        for hope in (self.failure, self._led):
            if not hope.done():
                hope.set_exception(error)

    def _led_by(self, leader: int | None) -> None:
        self.is_leader = leader == self.node_id
        if self.is_leader and not self._led.done():
            self._led.set_result(None)
        if not self.is_leader:
            self._fail_waiting()

    def _fail_waiting(self) -> None:
        """Whether these will be committed is for another leader to say."""
        while self._waiting:
            _, _, future = self._waiting.popleft()
            if not future.done():
                future.set_exception(not_controller())

    def _resolve(self, high_watermark: int) -> None:
        while self._waiting and self._waiting[0][0] <= high_watermark:
            _, base, future = self._waiting.popleft()
            if not future.done():
                future.set_result(base)

    # --- fsync, shared by all that wait -------------------------------------------------------

    def _flush_soon(self) -> None:
        if self._flushing or self._flush_wanted is None:
            return
        wanted, self._flush_wanted = self._flush_wanted, None
        self._flushing = True
        sync = self._loop.run_in_executor(self._flusher, self._replica.store.log.sync)
        sync.add_done_callback(lambda done: self._flushed(wanted, done))

    def _flushed(self, wanted: Flush, done: "asyncio.Future[None]") -> None:
        self._flushing = False
        error = done.exception()
        if isinstance(error, Exception):
            self._fail(error)
            return
        self._step(events.Flushed(wanted.generation, wanted.end_offset))
        self._flush_soon()


def answer(token: events.Token, response: Response) -> None:
    assert isinstance(token, asyncio.Future)
    if not token.done():
        token.set_result(response)


def not_controller() -> KafkaError:
    return KafkaError(ErrorCode.NOT_CONTROLLER, "This node is not the active controller.")
