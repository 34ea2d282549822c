"""The receiving thread: messages of the slot as they come, and how far the server may forget them.

The server hears only of what was committed in Kafka. It is told one byte less than the end of the
last transaction: psycopg2 would otherwise confirm what follows an idle slot by itself, and the slot
would run ahead of the offsets that are stored.
"""

import contextlib
import logging
import select
import threading
import time

import psycopg2
from psycopg2.extensions import connection as Connection
from psycopg2.extras import LogicalReplicationConnection, ReplicationCursor

from ottla.connect.connector import ConnectError
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

WAIT_S = 0.25
AT_ONCE = 1024
_MESSAGES_SINCE = 140_000  # servers that tell of pg_logical_emit_message()
_log = logging.getLogger(__name__)


class Stream:
    def __init__(self, settings: Settings, naming: Naming, resume: Resume) -> None:
        self._settings = settings
        self._resume = resume
        self._pieces = Pieces(naming, settings.options, settings.batch_size, resume)
        self._changed = threading.Condition()
        self._stopping = False
        self._failure: ConnectError | None = None
        self._confirmed = 0
        self._told = 0
        self._told_at = time.monotonic()
        self._thread = threading.Thread(target=self._run, name=f"cdc-{settings.slot}", daemon=True)

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
        """The end of what was received, if nothing of it is captured or waits."""
        with self._changed:
            return None if self._pieces.ready else self._pieces.idle

    def confirm(self, lsn: int) -> None:
        self._confirmed = max(self._confirmed, lsn)

    def stop(self) -> None:
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join(10)

    def _run(self) -> None:
        try:
            with contextlib.ExitStack() as stack:
                catalog = connect(self._settings.database)
                stack.callback(catalog.close)
                replication = connect_to_replicate(self._settings.database)
                stack.callback(replication.close)
                self._receive(catalog, replication)
        except ConnectError as error:
            self._fail(error)
        except psycopg2.Error as error:
            slot = self._settings.slot
            self._fail(failed(f"The replication slot {slot} cannot be read", error))
        except Exception as error:  # a thread's failure is the connector's
            _log.exception("The receiving thread failed")
            self._fail(ConnectError(f"The stream of changes cannot be read: {error}"))

    def _fail(self, error: ConnectError) -> None:
        with self._changed:
            self._failure = error
            self._changed.notify_all()

    def _receive(self, catalog: Connection, replication: LogicalReplicationConnection) -> None:
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
            if self._pieces.events >= self._settings.queue_size and self._pieces.ready:
                with self._changed:
                    self._changed.wait(WAIT_S)
                continue
            if not self._read(cursor, tables):
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
