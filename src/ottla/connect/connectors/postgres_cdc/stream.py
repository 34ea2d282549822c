"""The receiving thread: messages of the slot as they come, and how far the server may forget them.

The server hears only of what was committed in Kafka. It is told one byte less than the end of the
last transaction: psycopg2 would otherwise confirm what follows an idle slot by itself, and the slot
would run ahead of the offsets that are stored.
"""

import contextlib
import select
import time

import psycopg2
from psycopg2.extensions import connection as Connection
from psycopg2.extras import LogicalReplicationConnection, ReplicationCursor

from ottla.connect.connectors.debezium.receiver import WAIT_S, Receiver
from ottla.connect.connectors.postgres_cdc import protocol
from ottla.connect.connectors.postgres_cdc.catalog import Catalog
from ottla.connect.connectors.postgres_cdc.changes import Piece
from ottla.connect.connectors.postgres_cdc.connections import (
    connect,
    connect_to_replicate,
    failed,
)
from ottla.connect.connectors.postgres_cdc.envelope import Naming
from ottla.connect.connectors.postgres_cdc.offsets import Position, Resume
from ottla.connect.connectors.postgres_cdc.pieces import Pieces
from ottla.connect.connectors.postgres_cdc.settings import Settings

AT_ONCE = 1024
_MESSAGES_SINCE = 140_000  # servers that tell of pg_logical_emit_message()


class Stream(Receiver[Piece, Position]):
    def __init__(self, settings: Settings, naming: Naming, resume: Resume) -> None:
        self._settings = settings
        self._resume = resume
        self._pieces = Pieces(naming, settings.options, settings.batch_size, resume)
        self._confirmed = 0
        self._told = 0
        self._told_at = time.monotonic()
        super().__init__(settings.slot, self._pieces, settings.queue_size)

    def confirm(self, lsn: int) -> None:
        self._confirmed = max(self._confirmed, lsn)

    def _receive(self) -> None:
        try:
            with contextlib.ExitStack() as stack:
                catalog = connect(self._settings.database)
                stack.callback(catalog.close)
                replication = connect_to_replicate(self._settings.database)
                stack.callback(replication.close)
                self._replicate(catalog, replication)
        except psycopg2.Error as error:
            slot = self._settings.slot
            raise failed(f"The replication slot {slot} cannot be read", error) from None

    def _replicate(self, catalog: Connection, replication: LogicalReplicationConnection) -> None:
        tables = Catalog(catalog)
        cursor = replication.cursor()
        cursor.start_replication(
            slot_name=self._settings.slot,
            start_lsn=self._resume.lsn,
            options=self._plugin_options(replication),
            status_interval=self._settings.status_interval_s,
        )
        while not self._stopping:
            self._tell(cursor)
            if self._has_room() and not self._read(cursor, tables):
                select.select([cursor], [], [], WAIT_S)
        self._tell(cursor)

    def _plugin_options(self, replication: LogicalReplicationConnection) -> dict[str, str]:
        quoted = self._settings.publication.replace('"', '""')
        options = {"proto_version": "1", "publication_names": f'"{quoted}"'}
        if replication.server_version >= _MESSAGES_SINCE:
            options["messages"] = "true"
        return options

    def _read(self, cursor: ReplicationCursor, tables: Catalog) -> bool:
        """What has arrived; whether there was any."""
        received: list[tuple[int, bytes]] = []
        while len(received) < AT_ONCE:
            message = cursor.read_message()
            if message is None:
                break
            received.append((message.data_start, message.payload))
        with self._changed:
            for lsn, data in received:
                if data[:1] == b"R":
                    self._relation(data, tables)
                else:
                    self._pieces.message(lsn, data)
            if self._pieces.ready:
                self._changed.notify_all()
        return bool(received)

    def _relation(self, data: bytes, tables: Catalog) -> None:
        relation = protocol.decode(data)
        assert isinstance(relation, protocol.Relation)
        if self._settings.filters.captures(relation.schema, relation.name):
            self._pieces.table(tables.relation(relation))

    def _tell(self, cursor: ReplicationCursor) -> None:
        now = time.monotonic()
        due = now - self._told_at >= self._settings.status_interval_s
        confirmed = self._confirmed
        if confirmed > self._told or due:
            cursor.send_feedback(flush_lsn=max(0, confirmed - 1), force=True)
            self._told, self._told_at = confirmed, now
