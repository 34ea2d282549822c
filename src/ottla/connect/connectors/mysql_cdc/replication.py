"""A replica's connection: asks for the binlog from a position on, and reads it event by event.

PyMySQL brings the connection. mysql-replication's own reader is not used: it connects again by
itself, wherever it stands, and decodes values so that some can no longer be told apart (an empty
SET and null, zero dates and null, texts in other character sets).
"""

import contextlib
import socket
import struct
from typing import Final

from ottla.connect.connector import ConnectError
from ottla.connect.connectors.mysql_cdc import binlog
from ottla.connect.connectors.mysql_cdc.connections import (
    ERRORS,
    Connection,
    connect,
    execute,
    failed,
    is_mariadb,
    told,
    variable,
)
from ottla.connect.connectors.mysql_cdc.gtids import MariaDbGtids, MySqlGtids, gtids
from ottla.connect.connectors.mysql_cdc.offsets import Position
from ottla.connect.connectors.mysql_cdc.settings import Settings

HEARTBEAT_S: Final = 1.0  # so that a reader who waits wakes up
_SILENCE_S: Final = 60.0  # after which a connection is dead
_COM_BINLOG_DUMP: Final = 0x12
_COM_BINLOG_DUMP_GTID: Final = 0x1E
_THROUGH_GTID: Final = 0x04
_MASTER_FATAL: Final = 1236


class Replication:
    def __init__(self, settings: Settings, position: Position) -> None:
        self._position = position
        self._connection: Connection = connect(settings, read_timeout_s=_SILENCE_S)
        self._server_id = settings.server_id
        self._checksum = 0
        try:
            self._ask()
        except ERRORS as error:
            self._connection.close()
            raise self._lost(error) from None

    def _ask(self) -> None:
        connection, position = self._connection, self._position
        checksum = variable(connection, "binlog_checksum") or "NONE"
        execute(connection, "SET @master_binlog_checksum = %s", (checksum,))
        self._checksum = 0 if checksum == "NONE" else binlog.CHECKSUM
        execute(connection, "SET @master_heartbeat_period = %s", (int(HEARTBEAT_S * 1e9),))
        known = gtids(position.gtids) if position.gtids else None
        if is_mariadb(connection):
            execute(connection, "SET @mariadb_slave_capability = 4")
            if isinstance(known, MariaDbGtids):
                execute(connection, "SET @slave_connect_state = %s", (known.connect_state,))
                execute(connection, "SET @slave_gtid_strict_mode = 0")
                self._send(self._dump("", 4))
                return
        elif isinstance(known, MySqlGtids):
            self._send(self._dump_gtids(known))
            return
        self._send(self._dump(position.file, position.position))

    def _dump(self, file: str, position: int) -> bytes:
        head = struct.pack("<BIHI", _COM_BINLOG_DUMP, max(position, 4), 0, self._server_id)
        return head + file.encode()

    def _dump_gtids(self, known: MySqlGtids) -> bytes:
        data = known.encoded()
        head = struct.pack("<BHII", _COM_BINLOG_DUMP_GTID, _THROUGH_GTID, self._server_id, 0)
        return head + struct.pack("<QI", 4, len(data)) + data

    def _send(self, command: bytes) -> None:
        self._connection._write_bytes(struct.pack("<I", len(command)) + command)
        self._connection._next_seq_id = 1

    def read(self) -> bytes:
        """The next event without its checksum; a heartbeat comes at the latest."""
        try:
            packet = self._connection._read_packet()
        except ERRORS as error:
            raise self._lost(error) from None
        if packet.is_eof_packet():
            raise self._lost(ConnectionError("the server has ended the stream"))
        event: bytes = packet.get_all_data()[1:]
        if event[4] == binlog.FORMAT_DESCRIPTION:  # begins a file, and tells how it was written
            self._checksum = binlog.CHECKSUM if event[-1 - binlog.CHECKSUM] else 0
        return event[: len(event) - self._checksum]

    def _lost(self, error: Exception) -> ConnectError:
        code, said = told(error)
        if code == _MASTER_FATAL:
            at = self._position
            where = at.gtids or f"{at.file}:{at.position}"
            return ConnectError(
                f"The server no longer has the binlog from {where} on ({said}): delete the"
                " connector's offsets to begin anew, or set snapshot.mode=when_needed."
            )
        return failed("The binlog cannot be read", error)

    def close(self) -> None:
        """Also wakes a `read` that waits in another thread."""
        sock = getattr(self._connection, "_sock", None)
        if sock is not None:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        self._connection._force_close()
