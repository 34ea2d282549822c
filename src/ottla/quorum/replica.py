"""A node's copy of the log and what was made of it: effects on files, deliveries to the listener.

The driver and the simulation share it; the one gives it real disks, the other hostile ones.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

from msgspec.structs import replace

from ottla.errors import ErrorCode
from ottla.quorum import events
from ottla.quorum.control_records import build_control_batch
from ottla.quorum.events import Effect, FetchReply, SnapshotReply
from ottla.quorum.requests import FETCH_BYTES
from ottla.quorum.snapshots import EMPTY
from ottla.quorum.store import Store
from ottla.wire.record_batch import NewRecord, build_batch, iterate_records, read_header


class QuorumListener(Protocol):
    """Told of everything that is committed, in order, on every node."""

    def committed(
        self, base_offset: int, epoch: int, values: Sequence[bytes], timestamp_ms: int
    ) -> None: ...

    def load_snapshot(self, values: Iterable[bytes], end_offset: int, epoch: int) -> None:
        """Forget all and start from these."""

    def leader_changed(self, leader_id: int | None, epoch: int) -> None:
        """On the leader itself: after all that earlier leaders committed."""


class QuorumReplica:
    def __init__(self, store: Store, listener: QuorumListener) -> None:
        self.store = store
        self.listener = listener
        self.delivered = 0
        self._leader: tuple[int | None, int] = (None, -1)
        if store.snapshot_id is not None:
            self._load_snapshot()

    def perform(self, effect: Effect, now_ms: int) -> bool:
        """Do what concerns files or the listener; False where the effect is another's to do."""
        store = self.store
        match effect:
            case events.Persist(election=election, kraft_version=version, voters=voters):
                store.write_election(election, version, voters)
            case events.Append(base_offset=base, epoch=epoch, values=values):
                records = [NewRecord(now_ms, None, value) for value in values]
                self._append(build_batch(records, base_offset=base, leader_epoch=epoch))
            case events.AppendControl(base_offset=base, epoch=epoch, records=control):
                self._append(
                    build_control_batch(control, base_offset=base, epoch=epoch, now_ms=now_ms)
                )
            case events.AppendFetched(records=fetched):
                store.log.append_all(fetched)
            case events.Truncate(offset=offset):
                store.log.truncate_to(offset)
            case events.InstallSnapshot(snapshot_id=snapshot_id, data=data):
                store.install_snapshot(snapshot_id, data)
                self._load_snapshot()
            case events.Commit(high_watermark=high_watermark):
                self._deliver(high_watermark)
            case events.LeaderChanged(leader=leader, epoch=epoch):
                self._tell_leader(leader, epoch)
            case _:
                return False
        return True

    def with_records(self, reply: FetchReply, offset: int) -> FetchReply:
        """The reply, filled with what the log holds from `offset` on."""
        return replace(reply, records=self.store.log.read(offset, FETCH_BYTES))

    def with_part(self, reply: SnapshotReply, max_bytes: int) -> SnapshotReply:
        """The reply, filled with its part of the snapshot it names."""
        data = None
        if reply.snapshot_id != EMPTY:  # its content is in the log as well
            data = self.store.read_snapshot_file(reply.snapshot_id)
        if data is None:
            refusal = replace(reply.known, error=ErrorCode.SNAPSHOT_NOT_FOUND)
            return SnapshotReply(refusal)
        if not 0 <= reply.position < len(data):
            refusal = replace(reply.known, error=ErrorCode.POSITION_OUT_OF_RANGE)
            return SnapshotReply(refusal)
        part = data[reply.position : reply.position + max_bytes]
        return replace(reply, size=len(data), data=part)

    def _append(self, batch: bytes) -> None:
        self.store.log.append(batch, read_header(batch))

    def _load_snapshot(self) -> None:
        snapshot, snapshot_id = self.store.snapshot, self.store.snapshot_id
        assert snapshot is not None
        assert snapshot_id is not None
        if snapshot_id.end_offset >= self.delivered:
            self.delivered = snapshot_id.end_offset
            self.listener.load_snapshot(snapshot.values(), *snapshot_id)

    def _tell_leader(self, leader: int | None, epoch: int) -> None:
        before, self._leader = self._leader, (leader, epoch)
        if self._leader != before and (leader is not None or before[0] is not None):
            self.listener.leader_changed(leader, epoch)

    def _deliver(self, end: int) -> None:
        for data, position, header in self.store.log.batches(self.delivered, end):
            if not header.is_control:
                records = iterate_records(data, position, header)
                values = [record.value or b"" for record in records]
                self.listener.committed(
                    header.base_offset, header.leader_epoch, values, header.base_timestamp
                )
            self.delivered = header.next_offset
