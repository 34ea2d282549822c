"""The receiving thread: events of the binlog as they come, and definitions into the history."""

import time
from collections.abc import Sequence

from ottla.connect.connectors.debezium.progress import partition
from ottla.connect.connectors.debezium.receiver import Receiver
from ottla.connect.connectors.mysql_cdc.changes import Piece
from ottla.connect.connectors.mysql_cdc.ddl import Schema
from ottla.connect.connectors.mysql_cdc.envelope import Naming
from ottla.connect.connectors.mysql_cdc.history import SchemaHistory
from ottla.connect.connectors.mysql_cdc.offsets import Position
from ottla.connect.connectors.mysql_cdc.pieces import HistoryEntry, Pieces
from ottla.connect.connectors.mysql_cdc.replication import Replication
from ottla.connect.connectors.mysql_cdc.schema_changes import history_document
from ottla.connect.connectors.mysql_cdc.settings import Settings


class Stream(Receiver[Piece, Position]):
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
        self._replication: Replication | None = None
        super().__init__(settings.prefix, self._pieces, settings.queue_size)

    def _interrupt(self) -> None:
        if self._replication is not None:
            self._replication.close()

    def _receive(self) -> None:
        self._replication = Replication(self._settings, self._resume)
        try:
            while not self._stopping:
                if self._has_room():
                    self._take_event(self._replication.read())
        finally:
            self._replication.close()

    def _take_event(self, event: bytes) -> None:
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
