"""The quorum as the rest of a node sees it: append and be told what is committed.

Performs what must be done: files, threads for fsync, replies. Decisions are not made here.
"""

import asyncio
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from time import time
from typing import Protocol

from ottla.errors import ErrorCode, KafkaError
from ottla.ports.disk import Disk, LocalDisk
from ottla.quorum.config import QuorumConfig
from ottla.quorum.control_records import build_control_batch, leader_change
from ottla.quorum.election_state import ElectionState
from ottla.quorum.snapshots import SnapshotId, build_snapshot
from ottla.quorum.store import Store
from ottla.quorum.voters import VoterSet
from ottla.wire.message import Message
from ottla.wire.record_batch import NewRecord, build_batch, iterate_records, read_header
from ottla.wire.records.quorum import KRaftVersionRecord, VotersRecord


class Listener(Protocol):
    """Told of everything that is committed, in order, on every node."""

    def committed(
        self, base_offset: int, epoch: int, values: Sequence[bytes], timestamp_ms: int
    ) -> None: ...

    def load_snapshot(self, values: Iterable[bytes], end_offset: int, epoch: int) -> None:
        """Forget all and start from these."""

    def leader_changed(self, leader_id: int | None, epoch: int) -> None:
        """On the leader itself: after all that earlier leaders committed."""


class Quorum:
    def __init__(self, config: QuorumConfig, listener: Listener, disk: Disk | None = None) -> None:
        self.config = config
        self.node_id = config.node_id
        self.leader_id: int | None = None
        self.high_watermark = 0
        self._listener = listener
        self._store = Store(
            disk or LocalDisk(), config.log_dir, config.static_voters, config.segment_bytes
        )
        self._flusher = ThreadPoolExecutor(1, "quorum-sync")
        self._flushing: asyncio.Task[None] | None = None
        self._waiting: list[tuple[int, int, asyncio.Future[int]]] = []  # end, base, future
        self._delivered = 0

    @property
    def epoch(self) -> int:
        return self._store.election.epoch

    @property
    def is_leader(self) -> bool:
        return self.leader_id == self.node_id

    async def start(self) -> None:
        """Take part. A quorum of one leads, and has replayed everything, when this returns."""
        store = self._store
        if not store.history.voters.only(self.config.key):
            raise KafkaError(ErrorCode.INCONSISTENT_VOTER_SET, "This node is not the only voter.")
        if store.snapshot is not None and store.snapshot_id is not None:
            self._delivered = store.snapshot_id.end_offset
            self._listener.load_snapshot(store.snapshot.values(), *store.snapshot_id)
        store.write_election(ElectionState(self.epoch + 1, voted=self.config.key))
        store.write_election(ElectionState(self.epoch, leader=self.node_id))
        self.leader_id = self.node_id
        self._append_control(self._first_records())
        await self._flushed()
        self._listener.leader_changed(self.node_id, self.epoch)

    async def stop(self) -> None:
        if self._flushing is not None:
            await asyncio.wait([self._flushing])
        self.leader_id = None
        for _, _, future in self._waiting:
            if not future.done():
                future.set_exception(not_controller())
        self._waiting.clear()
        self._flusher.shutdown()
        self._store.log.sync()
        self._store.close()

    def append(self, values: Sequence[bytes]) -> asyncio.Future[int]:
        """Append one atomic batch; the future has its first offset once it is committed."""
        if not self.is_leader:
            raise not_controller()
        base = self._store.log.end_offset
        now_ms = int(time() * 1000)
        batch = build_batch(
            [NewRecord(now_ms, None, value) for value in values],
            base_offset=base,
            leader_epoch=self.epoch,
        )
        self._store.log.append(batch, read_header(batch))
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._waiting.append((self._store.log.end_offset, base, future))
        self._flush_soon()
        return future

    def appended_end_offset(self) -> int:
        """Where the next batch will start."""
        return self._store.log.end_offset

    async def write_snapshot(self, values: Iterable[bytes], end_offset: int, epoch: int) -> None:
        """Keep these as the state below `end_offset`, and drop the log before it."""
        version, voters = self._store.history.at(end_offset)
        now_ms = int(time() * 1000)
        data = build_snapshot(
            values,
            now_ms=now_ms,
            last_timestamp=now_ms,
            epoch=epoch,
            kraft_version=version,
            voters=voters,
        )
        self._store.write_snapshot(SnapshotId(end_offset, epoch), data)
        self._store.forget_before_snapshot()

    async def handle(self, request: Message, version: int) -> Message:
        """Answer a request of another node of the quorum."""
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, "This node is the only voter.")

    def _first_records(self) -> list[Message]:
        """What a leader writes first: its own election, and voters that only formatting set."""
        history = self._store.history
        ids = history.voters.ids
        records = [leader_change(self.node_id, ids, [self.node_id])]
        if history.kraft_version > 0 and history.last_offset < 0:
            version = KRaftVersionRecord(k_raft_version=history.kraft_version)
            records += [version, history.voters.to_record()]
        return records

    def _append_control(self, records: list[Message]) -> None:
        base = self._store.log.end_offset
        batch = build_control_batch(
            records, base_offset=base, epoch=self.epoch, now_ms=int(time() * 1000)
        )
        self._store.log.append(batch, read_header(batch))
        for offset, record in enumerate(records, base):
            match record:
                case KRaftVersionRecord():
                    self._store.history.note_version(offset, record.k_raft_version)
                case VotersRecord():
                    self._store.history.note_voters(offset, VoterSet.from_record(record))
        self._flush_soon()

    def _flush_soon(self) -> None:
        if self._flushing is None:
            self._flushing = asyncio.get_running_loop().create_task(self._flush())

    async def _flushed(self) -> None:
        while self._flushing is not None:
            await self._flushing

    async def _flush(self) -> None:
        """Sync until nothing is left to sync; whoever waits shares the one under way."""
        loop = asyncio.get_running_loop()
        try:
            while self.high_watermark < self._store.log.end_offset:
                end = self._store.log.end_offset
                await loop.run_in_executor(self._flusher, self._store.log.sync)
                self._commit(end)
        finally:
            self._flushing = None

    def _commit(self, end: int) -> None:
        self.high_watermark = end
        self._deliver(end)
        done = [entry for entry in self._waiting if entry[0] <= end]
        self._waiting = self._waiting[len(done) :]
        for _, base, future in done:
            if not future.done():
                future.set_result(base)

    def _deliver(self, end: int) -> None:
        start = max(self._delivered, self._store.log.start_offset)
        for data, position, header in self._store.log.batches(start, end):
            if not header.is_control:
                records = iterate_records(data, position, header)
                values = [record.value or b"" for record in records]
                self._listener.committed(
                    header.base_offset, header.leader_epoch, values, header.base_timestamp
                )
        self._delivered = end


def not_controller() -> KafkaError:
    return KafkaError(ErrorCode.NOT_CONTROLLER, "This node is not the active controller.")
