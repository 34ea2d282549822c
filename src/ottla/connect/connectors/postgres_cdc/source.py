"""PostgreSQL's changes as a source: a snapshot where one is wanted, then the stream of the slot."""

import contextlib
import itertools
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from uuid import uuid4

import psycopg2
from psycopg2.extensions import connection as Connection

from ottla.connect.connector import Config, ConnectError, Place, Progress, Slice
from ottla.connect.connectors.debezium.progress import Heartbeats, ProgressSlice, partition
from ottla.connect.connectors.postgres_cdc.catalog import Catalog
from ottla.connect.connectors.postgres_cdc.changes import Changes, Piece
from ottla.connect.connectors.postgres_cdc.connections import (
    connect,
    connect_to_replicate,
    failed,
)
from ottla.connect.connectors.postgres_cdc.envelope import Naming, TableRecords
from ottla.connect.connectors.postgres_cdc.filters import Filters
from ottla.connect.connectors.postgres_cdc.offsets import (
    Position,
    Resume,
    resume,
    snapshot_offset,
    unfinished_snapshot,
)
from ottla.connect.connectors.postgres_cdc.rendered_changes import RenderedChanges
from ottla.connect.connectors.postgres_cdc.rendering import JsonChain
from ottla.connect.connectors.postgres_cdc.settings import Settings
from ottla.connect.connectors.postgres_cdc.slot import (
    SlotState,
    check_wal_level,
    create_slot,
    drop_slot,
    ensure_publication,
    lsn_text,
    slot_state,
)
from ottla.connect.connectors.postgres_cdc.snapshot import (
    Snapshot,
    SnapshotSlice,
    look_at_rows,
    take_snapshot,
)
from ottla.connect.connectors.postgres_cdc.stream import Stream
from ottla.connect.data import Record, Schema
from ottla.connect.definitions import InvalidConfig
from ottla.connect.pipeline import Row, SourceChain

_log = logging.getLogger(__name__)
SNAPSHOT_SLICES = 16  # of one transaction, unless they hold more pages than one slice may
TRY_S = 10
IDLE_S = 10.0  # between offsets that are stored though nothing was captured


@dataclass(frozen=True, slots=True)
class ChangesSlice:
    """Pieces of the stream; decoded where it is read."""

    piece: Piece
    task: int = 0

    def read(self) -> Iterator[Record | Progress]:
        changes = Changes(self.piece, time.time_ns)
        yield from changes.read()
        yield from self._progress(changes)

    def read_json(self, chain: SourceChain) -> Iterator[Row | Record | Progress] | None:
        json = JsonChain.of(chain)
        if json is None or self.piece.options.transactions:
            return None
        return self._rendered(RenderedChanges(piece=self.piece, now_ns=time.time_ns, json=json))

    def _rendered(self, changes: RenderedChanges) -> Iterator[Row | Record | Progress]:
        yield from changes.read_json()
        yield from self._progress(changes)

    def _progress(self, changes: Changes) -> Iterator[Progress]:
        if changes.position is not None:
            yield Progress(partition(self.piece.naming.prefix), changes.position.offset())


def _is_small(one: SnapshotSlice | ProgressSlice) -> bool:
    return isinstance(one, SnapshotSlice) and one.pages is None


class PostgresCdc:
    def __init__(self, settings: Settings, config: Config) -> None:
        self._settings = settings
        self._config = config
        run = str(uuid4()) if settings.headers else None
        self._naming = Naming(
            prefix=settings.prefix,
            database=settings.database["dbname"],
            modes=settings.modes,
            filters=settings.filters,
            run=run,
        )
        self._connection: Connection | None = None
        self._snapshot: Snapshot | None = None
        self._waiting: list[SnapshotSlice | ProgressSlice] = []
        self._stream: Stream | None = None
        self._resume: Resume | None = None
        self._offset: Place | None = None
        self._stopped = threading.Event()
        self._heartbeats = Heartbeats(settings.heartbeat_s)
        self._stored_at = time.monotonic()

    def task_configs(self, maximum: int) -> Sequence[Config]:
        """One, as Debezium: the order of changes is the order of one stream."""
        return [{**self._config, "task.id": "0"}]

    def record_schemas(self) -> dict[str, Schema]:
        """What changes look like by now, by topic; for who asks before anything is read."""
        with contextlib.closing(connect(self._settings.database)) as connection:
            catalog = Catalog(connection)
            try:
                tables = [catalog.table(one) for one in catalog.tables(self._settings.filters)]
            except psycopg2.Error as error:
                raise failed("PostgreSQL cannot be asked for its tables", error) from None
        records = [TableRecords(one, self._naming) for one in tables]
        return {one.topic: one.value_schema for one in records}

    def start(self, stored: Callable[[Place], Place | None]) -> None:
        settings = self._settings
        offset = stored(partition(settings.prefix))
        self._connection = connection = connect(settings.database)
        try:
            check_wal_level(connection)
            tables = Catalog(connection).tables(settings.filters)
            ensure_publication(connection, settings, tables)
            slot = slot_state(connection, settings)
        except psycopg2.Error as error:
            raise failed("PostgreSQL cannot be asked for its tables and slots", error) from None
        if self._wants_snapshot(offset, slot):
            if offset is not None and unfinished_snapshot(offset):
                _log.warning("The snapshot was interrupted, and begins anew.")
            self._begin_snapshot(slot)
            return
        self._offset = offset
        self._resume = self._stream_from(offset, slot)
        if settings.snapshot_mode != "initial_only":
            self._begin_stream()

    def try_out(self) -> Mapping[str, Sequence[str]]:
        """Tables that might be captured, whichever are named now; and whether changes are kept."""
        try:
            database = {**self._settings.database, "connect_timeout": TRY_S}
            with contextlib.closing(connect(database)) as connection:
                check_wal_level(connection)
                found = Catalog(connection).tables(Filters())
        except psycopg2.Error as error:
            sentence = str(failed("PostgreSQL cannot be asked for its tables", error))
            raise InvalidConfig({"database.hostname": [sentence]}) from None
        except ConnectError as error:
            raise InvalidConfig({"database.hostname": [str(error)]}) from None
        return {"table.include.list": [f"{one.schema}.{one.name}" for one in found]}

    def preview(self) -> Iterator[Slice]:
        """Rows as a snapshot reads them, but of a transaction of its own: no slot is made."""
        if self._settings.snapshot_mode in ("no_data", "never"):
            return
        looked_at = look_at_rows(self._settings, self._naming)
        try:
            yield from (one for one in looked_at.slices if one.first is not None)
        finally:
            looked_at.close()

    def poll(self, timeout_s: float) -> Sequence[Slice]:
        if self._waiting:
            return self._next_snapshot_slices()
        stream = self._stream
        if stream is None:
            self._stopped.wait(timeout_s)
            return []
        stream.wait(self._heartbeats.patience(timeout_s))
        if self._stopped.is_set():
            return []
        pieces = stream.take()
        slices: list[Slice] = [ChangesSlice(piece) for piece in pieces]
        return [*slices, *self._without_changes(stream, bool(pieces))]

    def committed(self, progress: Sequence[Progress]) -> None:
        for one in progress:
            self._offset = one.offset
        self._stored_at = time.monotonic()
        if self._snapshot is not None and not self._waiting:
            self._end_snapshot()
        elif self._stream is not None and self._offset is not None:
            self._stream.confirm(int(self._offset.get("lsn_commit") or 0))

    def stop(self) -> None:
        self._stopped.set()
        if self._stream is not None:
            self._stream.stop()
        if self._snapshot is not None:
            self._snapshot.close()
        if self._connection is not None and not self._connection.closed:
            self._drop_slot(self._connection)
            self._connection.close()

    def _drop_slot(self, connection: Connection) -> None:
        if not self._settings.drop_slot:
            return
        try:
            drop_slot(connection, self._settings.slot)
        except psycopg2.Error:
            _log.warning("The replication slot %s cannot be dropped", self._settings.slot)

    def _wants_snapshot(self, offset: Place | None, slot: SlotState | None) -> bool:
        done = offset is not None and not unfinished_snapshot(offset)
        match self._settings.snapshot_mode:
            case "no_data" | "never":
                return False
            case "always":
                return True
            case "when_needed":
                return not done or self._lost(offset, slot) is not None
        return not done

    def _lost(self, offset: Place | None, slot: SlotState | None) -> str | None:
        """Why the stream cannot go on where it stopped; None: it can."""
        name = self._settings.slot
        if offset is None:
            return None
        lsn = resume(offset).lsn
        if slot is None:
            return (
                f"The replication slot {name} is gone, and with it the changes since"
                f" {lsn_text(lsn)}"
            )
        if lsn and slot.confirmed > lsn:
            return (
                f"The replication slot {name} stands at {lsn_text(slot.confirmed)}, behind which"
                f" the changes since {lsn_text(lsn)} are gone"
            )
        return None

    def _stream_from(self, offset: Place | None, slot: SlotState | None) -> Resume:
        lost = self._lost(offset, slot)
        if lost is not None:
            raise ConnectError(
                f"{lost}: delete the connector's offsets to begin anew, or set"
                " snapshot.mode=when_needed."
            )
        if slot is None:
            with contextlib.closing(connect_to_replicate(self._settings.database)) as replication:
                made = create_slot(replication, self._settings.slot)
            return Resume(made.lsn)
        return Resume(0) if offset is None else resume(offset)

    def _begin_snapshot(self, slot: SlotState | None) -> None:
        snapshot = take_snapshot(self._settings, self._naming, slot_exists=slot is not None)
        self._snapshot = snapshot
        self._waiting = list(snapshot.slices)
        self._resume = Resume(snapshot.moment.lsn)
        if not self._waiting:  # no table has a row: that, too, is written down
            moment = snapshot.moment
            offset = snapshot_offset(moment.lsn, moment.xid, moment.us, completed=True)
            self._waiting.append(ProgressSlice(self._settings.prefix, offset))

    def _next_snapshot_slices(self) -> Sequence[Slice]:
        """Small tables together, big ones piece by piece."""
        small = list(itertools.takewhile(_is_small, self._waiting[:SNAPSHOT_SLICES]))
        taken = small or self._waiting[:1]
        del self._waiting[: len(taken)]
        return taken

    def _end_snapshot(self) -> None:
        assert self._snapshot is not None
        self._snapshot.close()
        self._snapshot = None
        if self._settings.snapshot_mode != "initial_only":
            self._begin_stream()

    def _begin_stream(self) -> None:
        assert self._resume is not None
        self._stream = Stream(self._settings, self._naming, self._resume)
        self._stream.start()

    def _without_changes(self, stream: Stream, busy: bool) -> list[Slice]:
        """A heartbeat, and the end of transactions that nothing was captured of."""
        beats = self._heartbeats.is_due()
        idle: Position | None = None if busy else stream.idle()
        known = int((self._offset or {}).get("lsn_commit") or 0)
        moved = idle is not None and idle.processed > known
        if not beats and not (moved and time.monotonic() - self._stored_at >= IDLE_S):
            return []
        if beats:
            self._run_heartbeat_query()
        # With changes before it in the same transaction, their offset is the later one.
        offset = None if busy else idle.offset() if idle is not None and moved else self._offset
        prefix = self._settings.heartbeat_prefix if beats else None
        return [ProgressSlice(self._settings.prefix, offset, prefix)]

    def _run_heartbeat_query(self) -> None:
        query, connection = self._settings.heartbeat_query, self._connection
        if not query or connection is None:
            return
        try:
            with connection.cursor() as cursor:
                cursor.execute(query)
        except psycopg2.Error as error:
            raise failed("heartbeat.action.query cannot be run", error) from None
