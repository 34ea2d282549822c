"""The receiving thread: events of the binlog as they come, and definitions into the history."""

import logging
import threading
import time
from collections.abc import Sequence

from ottla.connect.connector import ConnectError
from ottla.connect.connectors.mysql_cdc.changes import Piece
from ottla.connect.connectors.mysql_cdc.ddl import Schema
from ottla.connect.connectors.mysql_cdc.envelope import Naming
from ottla.connect.connectors.mysql_cdc.history import SchemaHistory
from ottla.connect.connectors.mysql_cdc.offsets import Position, partition
from ottla.connect.connectors.mysql_cdc.pieces import HistoryEntry, Pieces
from ottla.connect.connectors.mysql_cdc.replication import Replication
from ottla.connect.connectors.mysql_cdc.schema_changes import history_document
from ottla.connect.connectors.mysql_cdc.settings import Settings

WAIT_S = 0.25
_log = logging.getLogger(__name__)


class Stream:
    def __init__(
        self,
        settings: Settings,
        naming: Naming,
        schema: Schema,
        history: SchemaHistory,
        resume: Position,
    ) -> None:
        self._settings = settings
        self._naming = naming
        self._history = history
        self._resume = resume
        self._pieces = Pieces(
            naming,
            settings.options,
            settings.batch_size,
            schema,
            resume,
            settings.history.only_captured_tables,
        )
        self._changed = threading.Condition()
        self._stopping = False
        self._failure: ConnectError | None = None
        self._replication: Replication | None = None
        name = f"cdc-{settings.prefix}"
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wait(self, timeout_s: float) -> None:
        """Until there is something to write, or a failure, or the end."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._pieces.ready or self._failure or self._stopping, timeout_s
            )

    def take(self) -> list[Piece]:
        with self._changed:
            pieces = self._pieces.take()
            if not pieces and self._failure is not None:
                raise self._failure
            self._changed.notify_all()
            return pieces

    def idle(self) -> Position | None:
        """The end of what was received, if nothing of it waits to be written."""
        with self._changed:
            return None if self._pieces.ready else self._pieces.idle

    def stop(self) -> None:
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        if self._replication is not None:
            self._replication.close()
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join(10)

    def _run(self) -> None:
        try:
            self._replication = Replication(self._settings, self._resume)
            try:
                self._receive(self._replication)
            finally:
                self._replication.close()
        except ConnectError as error:
            self._fail(error)
        except Exception as error:  # a thread's failure is the connector's
            _log.exception("The receiving thread failed")
            self._fail(ConnectError(f"The stream of changes cannot be read: {error}"))

    def _fail(self, error: ConnectError) -> None:
        with self._changed:
            if not self._stopping:
                self._failure = error
            self._changed.notify_all()

    def _receive(self, replication: Replication) -> None:
        while not self._stopping:
            with self._changed:
                if self._pieces.events >= self._settings.queue_size and self._pieces.ready:
                    self._changed.wait(WAIT_S)
                    continue
            event = replication.read()
            with self._changed:
                was_ready = self._pieces.ready
                entries = self._pieces.event(event)
                if entries:  # before a piece with what they define can be taken
                    self._remember(entries)
                if self._pieces.ready and not was_ready:
                    self._changed.notify_all()

    def _remember(self, entries: Sequence[HistoryEntry]) -> None:
        now_ms = time.time_ns() // 1_000_000
        place = partition(self._naming.prefix)
        self._history.append(
            history_document(place, one.position.offset(), one.change, now_ms) for one in entries
        )
