"""All that one node keeps of the quorum: `__cluster_metadata-0` with log, snapshots and votes.

Synchronous; only `log.sync` may be run elsewhere. What to write and when is the machine's choice.
"""

import logging
from collections.abc import Sequence
from pathlib import Path

from ottla.errors import KafkaError
from ottla.ids import METADATA_TOPIC_ID, show_uuid
from ottla.ports.disk import UNFINISHED, Disk
from ottla.quorum.control_records import control_records
from ottla.quorum.election_state import FILE_NAME, ElectionState
from ottla.quorum.log_state import LogState
from ottla.quorum.metadata_log import SEGMENT_BYTES, MetadataLog
from ottla.quorum.snapshots import EMPTY, Snapshot, SnapshotId, build_snapshot, read_snapshot
from ottla.quorum.voter_history import VoterHistory
from ottla.quorum.voters import Voter, VoterSet

logger = logging.getLogger(__name__)

DIRECTORY = "__cluster_metadata-0"
PARTITION_METADATA = "partition.metadata"
BOOTSTRAP_CHECKPOINT = "bootstrap.checkpoint"


def format_dynamic(disk: Disk, log_dir: Path, voters: tuple[Voter, ...], now_ms: int) -> None:
    """Prepare a directory as `kafka-storage format --standalone` or `--initial-controllers` does.

    A directory with static voters, or of a node that joins later, needs no such preparation.
    """
    directory = log_dir / DIRECTORY
    disk.make_directory(directory)
    snapshot = build_snapshot(
        (), now_ms=now_ms, last_timestamp=now_ms, kraft_version=1, voters=VoterSet(voters)
    )
    disk.replace(directory / EMPTY.file_name, snapshot)


class Store:
    def __init__(
        self,
        disk: Disk,
        log_dir: Path,
        static_voters: VoterSet | None = None,
        segment_bytes: int = SEGMENT_BYTES,
    ) -> None:
        self.disk = disk
        self.directory = log_dir / DIRECTORY
        self.log = MetadataLog(disk, self.directory, segment_bytes)
        self.snapshot: Snapshot | None = None
        self.snapshot_id: SnapshotId | None = None
        self.snapshots: list[SnapshotId] = []
        self.history = VoterHistory(static_voters or VoterSet())
        self._open_snapshots()
        self._read_voters()
        self.election = self._read_election()
        if disk.read(self.directory / PARTITION_METADATA) is None:
            topic_id = show_uuid(METADATA_TOPIC_ID)
            content = f"version: 0\ntopic_id: {topic_id}".encode()
            disk.replace(self.directory / PARTITION_METADATA, content)

    def log_state(self) -> LogState:
        """What the machine is to know of the log."""
        return LogState(
            self.log.epochs.copy(),
            start_offset=self.log.start_offset,
            end_offset=self.log.end_offset,
            snapshot_id=self.snapshot_id,
        )

    def write_election(
        self, election: ElectionState, kraft_version: int, voters: Sequence[int]
    ) -> None:
        """Durable when it returns: nobody may hear of a vote that could be forgotten."""
        data = election.to_json(kraft_version, list(voters))
        self.disk.rewrite(self.directory / FILE_NAME, data)

    def write_snapshot_file(self, snapshot_id: SnapshotId, data: bytes) -> None:
        """Durable when it returns; may run in a thread. It counts from `adopt_snapshot` on."""
        self.disk.replace(self.directory / snapshot_id.file_name, data)

    def adopt_snapshot(self, snapshot_id: SnapshotId, snapshot: Snapshot) -> None:
        """Let a snapshot of our own take the place of older ones and of the log before it.

        A new segment begins, so that the records before can go with the next snapshot.
        """
        self.log.roll()
        self.log.delete_before(snapshot_id.end_offset)
        self._replace_snapshots(snapshot_id, snapshot)

    def install_snapshot(self, snapshot_id: SnapshotId, data: bytes) -> None:
        """Keep a leader's snapshot and begin the log anew after it."""
        self.write_snapshot_file(snapshot_id, data)
        self.log.restart_at(snapshot_id.end_offset)
        self._replace_snapshots(snapshot_id, read_snapshot(data))

    def _replace_snapshots(self, snapshot_id: SnapshotId, snapshot: Snapshot) -> None:
        self.snapshot, self.snapshot_id = snapshot, snapshot_id
        for old in self.snapshots:
            if old != snapshot_id:
                self.disk.remove(self.directory / old.file_name)
        self.snapshots = [snapshot_id]

    def read_snapshot_file(self, snapshot_id: SnapshotId) -> bytes | None:
        return self.disk.read(self.directory / snapshot_id.file_name)

    def close(self) -> None:
        self.log.close()

    def _open_snapshots(self) -> None:
        names = self.disk.names(self.directory)
        for name in names:
            if name.endswith(UNFINISHED):
                self.disk.remove(self.directory / name)
        found = sorted(filter(None, map(SnapshotId.from_file_name, names)))
        while found:
            newest = found[-1]
            data = self.read_snapshot_file(newest)
            try:
                self.snapshot = read_snapshot(data or b"")
                break
            except KafkaError as error:
                logger.warning("%s is not whole, passing it over: %s", newest.file_name, error)
                found.pop()
        self.snapshots = found
        self.snapshot_id = found[-1] if found else None
        if self.snapshot_id is not None and self._log_lacks(self.snapshot_id):
            self.log.restart_at(self.snapshot_id.end_offset)

    def _log_lacks(self, snapshot_id: SnapshotId) -> bool:
        """A snapshot came from a leader, and the log ends before it or forked before it."""
        if snapshot_id.end_offset == 0:
            return False
        return self.log.end_offset < snapshot_id.end_offset or (
            max(self.log.epochs.latest, 0) < snapshot_id.epoch
        )

    def _read_voters(self) -> None:
        if self.snapshot is not None and self.snapshot_id is not None:
            self.history.start_from(
                self.snapshot_id.end_offset - 1, self.snapshot.kraft_version, self.snapshot.voters
            )
        start = max(self.log.start_offset, self.snapshot_id.end_offset if self.snapshot_id else 0)
        for data, position, header in self.log.batches(start, self.log.end_offset):
            if not header.is_control:
                continue
            for offset, record in control_records(data, position, header):
                self.history.note_record(offset, record)

    def _read_election(self) -> ElectionState:
        data = self.disk.read(self.directory / FILE_NAME)
        election = ElectionState() if data is None else ElectionState.from_json(data)
        last_epoch = self.log_state().last_epoch
        if election.epoch < last_epoch:
            # Only a log that was copied or a lost file explains it; the vote in it is void.
            return ElectionState(epoch=last_epoch)
        return election
