"""MariaDB's and MySQL's changes as a source: a snapshot where one is wanted, then the binlog."""

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import uuid4

from ottla.connect.connector import Config, ConnectError, Place, Progress, Slice
from ottla.connect.connectors.debezium.progress import Heartbeats, ProgressSlice, partition
from ottla.connect.connectors.mysql_cdc.binlogs import check_server, lost
from ottla.connect.connectors.mysql_cdc.changes import Changes, Piece
from ottla.connect.connectors.mysql_cdc.connections import (
    ERRORS,
    Connection,
    connect,
    execute,
    failed,
    is_mariadb,
)
from ottla.connect.connectors.mysql_cdc.ddl import Schema
from ottla.connect.connectors.mysql_cdc.envelope import Naming, Server
from ottla.connect.connectors.mysql_cdc.history import KafkaSchemaHistory, SchemaHistory
from ottla.connect.connectors.mysql_cdc.offsets import (
    Position,
    position,
    unfinished_snapshot,
)
from ottla.connect.connectors.mysql_cdc.recovery import recovered
from ottla.connect.connectors.mysql_cdc.schema_changes import history_document
from ottla.connect.connectors.mysql_cdc.settings import Settings
from ottla.connect.connectors.mysql_cdc.snapshot import (
    RowsSlice,
    Snapshot,
    all_tables,
    take_snapshot,
)
from ottla.connect.connectors.mysql_cdc.stream import Stream
from ottla.connect.data import Record
from ottla.connect.definitions import InvalidConfig

_log = logging.getLogger(__name__)
TRY_S = 5.0  # for a first look at a server
IDLE_S = 10.0  # between offsets that are stored though nothing was captured


@dataclass(frozen=True, slots=True)
class ChangesSlice:
    """A piece of the binlog; decoded where it is read."""

    piece: Piece
    task: int = 0

    def read(self) -> Iterator[Record | Progress]:
        yield from Changes(self.piece, time.time_ns).read()
        yield Progress(partition(self.piece.naming.prefix), self.piece.offset)


class MySqlCdc:
    def __init__(
        self,
        settings: Settings,
        config: Config,
        server: Server | None = None,
        history: SchemaHistory | None = None,
    ) -> None:
        """`server` names it in records; None: as it turns out to be."""
        self._settings = settings
        self._config = config
        self._server = server
        self._naming = Naming(
            prefix=settings.prefix,
            server=server or "mariadb",
            modes=settings.modes,
            filters=settings.filters,
            run=str(uuid4()) if settings.headers else None,
        )
        self._history = history
        self._schema = Schema()
        self._connection: Connection | None = None
        self._snapshot: Snapshot | None = None
        self._stream: Stream | None = None
        self._resume: Position | None = None
        self._offset: Place | None = None
        self._stopped = threading.Event()
        self._heartbeats = Heartbeats(settings.heartbeat_s)
        self._stored_at = time.monotonic()

    def task_configs(self, maximum: int) -> Sequence[Config]:
        """One, as Debezium: the order of changes is the order of one binlog."""
        return [{**self._config, "task.id": "0"}]

    def start(self, stored: Callable[[Place], Place | None]) -> None:
        settings = self._settings
        offset = stored(partition(settings.prefix))
        self._connection = connection = connect(settings)
        if self._history is None:
            self._history = KafkaSchemaHistory(settings.history)
        try:
            check_server(connection)
            if self._server is None:
                server: Server = "mariadb" if is_mariadb(connection) else "mysql"
                self._naming = replace(self._naming, server=server)
            why = None if offset is None else lost(connection, position(offset))
        except ERRORS as error:
            raise failed("The server cannot be asked for its binlog", error) from None
        if self._wants_snapshot(offset, why):
            if offset is not None and unfinished_snapshot(offset):
                _log.warning("The snapshot was interrupted, and begins anew.")
            self._begin_snapshot()
            return
        assert offset is not None
        if why is not None:
            raise ConnectError(
                f"{why}: delete the connector's offsets to begin anew, or set"
                " snapshot.mode=when_needed."
            )
        self._go_on(offset)

    def try_out(self) -> Mapping[str, Sequence[str]]:
        """Tables that might be captured, whichever are named now; and whether changes are kept."""
        try:
            connection = connect(replace(self._settings, timeout_s=TRY_S))
            with contextlib.closing(connection):
                check_server(connection)
                found = all_tables(connection)
        except ERRORS as error:
            sentence = str(failed("The server cannot be asked for its tables", error))
            raise InvalidConfig({"database.hostname": [sentence]}) from None
        except ConnectError as error:
            raise InvalidConfig({"database.hostname": [str(error)]}) from None
        return {"table.include.list": [str(one) for one in found]}

    def preview(self) -> Iterator[Slice]:
        """Rows as a snapshot reads them, without a lock, and without a word in the history."""
        if self._settings.snapshot_mode == "no_data":
            return
        settings = replace(self._settings, locking_mode="none")
        looked_at = take_snapshot(settings, self._naming, Schema(), data=True)
        looked_at.limit = settings.fetch_size
        try:
            while (slice := looked_at.next()) is not None:
                if isinstance(slice, RowsSlice):
                    yield slice
        finally:
            looked_at.close()

    def poll(self, timeout_s: float) -> Sequence[Slice]:
        snapshot = self._snapshot
        if snapshot is not None:
            slice = snapshot.next()
            if slice is not None:
                return [slice]
            self._end_snapshot()
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

    def stop(self) -> None:
        self._stopped.set()
        if self._stream is not None:
            self._stream.stop()
        if self._snapshot is not None:
            self._snapshot.close()
        if self._connection is not None:
            self._connection._force_close()

    def _wants_snapshot(self, offset: Place | None, why_lost: str | None) -> bool:
        done = offset is not None and not unfinished_snapshot(offset)
        match self._settings.snapshot_mode:
            case "always":
                return True
            case "when_needed":
                return not done or why_lost is not None or not self._recover(offset)
        return not done

    def _recover(self, offset: Place | None) -> bool:
        """The definitions, out of the history; whether it had them."""
        assert self._history is not None
        place = partition(self._settings.prefix)
        schema = recovered(self._history.documents(), place, offset or {})
        if schema is not None:
            self._schema = schema
        return schema is not None

    def _go_on(self, offset: Place) -> None:
        if not self._recover(offset):
            raise ConnectError(
                f"The schema history {self._settings.history.topic} has no definitions up to the"
                " offset that is stored: delete the connector's offsets to begin anew, or set"
                " snapshot.mode=when_needed."
            )
        self._offset = offset
        self._resume = position(offset)
        if self._settings.snapshot_mode != "initial_only":
            self._begin_stream()

    def _begin_snapshot(self) -> None:
        assert self._history is not None
        data = self._settings.snapshot_mode != "no_data"
        self._schema = Schema()
        snapshot = take_snapshot(self._settings, self._naming, self._schema, data=data)
        self._snapshot = snapshot
        self._resume = snapshot.position
        place, offset = partition(self._settings.prefix), snapshot.position.offset("INITIAL")
        self._history.append(
            history_document(place, offset, one, snapshot.ms)
            for one in snapshot.changes
            if not self._settings.history.only_captured_tables or one.id or not one.database
        )
        if not snapshot.tables:  # nothing will be read, and nobody need wait for it
            snapshot.close()

    def _end_snapshot(self) -> None:
        assert self._snapshot is not None
        self._snapshot.close()
        self._snapshot = None
        if self._settings.snapshot_mode != "initial_only":
            self._begin_stream()

    def _begin_stream(self) -> None:
        assert self._resume is not None
        assert self._history is not None
        self._stream = Stream(
            self._settings, self._naming, self._schema, self._history, self._resume
        )
        self._stream.start()

    def _without_changes(self, stream: Stream, busy: bool) -> list[Slice]:
        """A heartbeat, and the end of transactions that nothing was captured of."""
        beats = self._heartbeats.is_due()
        idle = None if busy else stream.idle()
        offset = None if idle is None else idle.offset()
        moved = offset is not None and offset != self._offset
        if not beats and not (moved and time.monotonic() - self._stored_at >= IDLE_S):
            return []
        if beats:
            self._run_heartbeat_query()
        prefix = self._settings.heartbeat_prefix if beats else None
        return [ProgressSlice(self._settings.prefix, offset, prefix)]

    def _run_heartbeat_query(self) -> None:
        query = self._settings.heartbeat_query
        if not query or self._connection is None:
            return
        try:
            if not self._connection.open:
                self._connection = connect(self._settings)
            execute(self._connection, query)
        except ERRORS as error:
            self._connection._force_close()  # for the next try to begin with a new one
            raise failed("heartbeat.action.query cannot be run", error) from None
