"""TLS of one connection: a protocol to the socket's transport, a transport to who is served.

The event loops bring one of their own, which allots 256 KiB to each connection, makes a record of
each buffer and does all handshakes that are due in one turn. Here a connection has what OpenSSL
needs, short buffers share a record, and when a step of a handshake is taken is decided by the door
(`broker.transport.handshakes`). Nobody waits for the other side's farewell, as in Kafka.
"""

import asyncio
import logging
import ssl
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, cast

log = logging.getLogger(__name__)

PIECE_BYTES = 64 * 1024
"""Of ciphertext in OpenSSL's hands, either way: its buffers keep the size they once had."""
RECORD_BYTES = 16 * 1024
UNREAD_ANSWERS_MAX = 2 * PIECE_BYTES
Buffer = bytes | bytearray | memoryview


class EncryptedConnection(asyncio.Transport, asyncio.BufferedProtocol):
    """Its handshake goes on only when `shake_hands` is called, which `is_due` is told of."""

    def __init__(
        self,
        make: Callable[[], asyncio.BaseProtocol],
        encryption: ssl.SSLContext,
        scratch: memoryview,
        is_due: Callable[["EncryptedConnection"], None],
        ended: Callable[["EncryptedConnection"], None],
    ) -> None:
        super().__init__()
        self._make = make
        self._scratch = scratch  # of all connections: nothing is left in it
        self._is_due = is_due
        self._ended = ended
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._session = encryption.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._raw: asyncio.Transport | None = None
        self._protocol: asyncio.BufferedProtocol | None = None  # once hands are shaken
        self._awaits_turn = self._is_unwanted = False
        self._reading_paused = False
        self._unread_answers = 0  # bytes that TLS itself had to say, behind what nobody reads

    # Below: what the event loop calls --------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._raw = cast(asyncio.Transport, transport)  # uvloop's is not a subclass
        if self._is_unwanted:
            self._raw.abort()

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._scratch if self._protocol is not None else self._scratch[:RECORD_BYTES]

    def buffer_updated(self, nbytes: int) -> None:
        if self._protocol is not None:
            for begin in range(0, nbytes, PIECE_BYTES):
                self._incoming.write(self._scratch[begin : min(begin + PIECE_BYTES, nbytes)])
                self._decrypt()
            return
        self._incoming.write(self._scratch[:nbytes])
        if not self._awaits_turn:
            self._awaits_turn = True
            self._is_due(self)
        elif self._raw is not None and self._incoming.pending > RECORD_BYTES:
            self._raw.pause_reading()  # before anybody is known nothing is gathered

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._raw = None
        if self._protocol is None:
            self._ended(self)
        else:
            self._protocol.connection_lost(exc)

    def pause_writing(self) -> None:
        if self._protocol is not None:
            self._protocol.pause_writing()

    def resume_writing(self) -> None:
        if self._protocol is not None:
            self._protocol.resume_writing()

    # Between: TLS ----------------------------------------------------------------------------

    def shake_hands(self) -> None:
        """As far as the bytes that have come allow."""
        self._awaits_turn = False
        if self._raw is None or self._raw.is_closing():
            return
        try:
            self._session.do_handshake()
        except ssl.SSLWantReadError:
            self._flush()
            self._raw.resume_reading()
            return
        except ssl.SSLError:
            self._flush()  # an alert: the other side learns what was wrong
            self._raw.close()
            return
        self._flush()
        self._protocol = cast(asyncio.BufferedProtocol, self._make())
        self._ended(self)
        self._raw.resume_reading()
        self._protocol.connection_made(self)
        self._decrypt()

    def _decrypt(self) -> None:
        protocol = self._protocol
        assert protocol is not None
        while self._raw is not None and not self._reading_paused and not self._raw.is_closing():
            space = protocol.get_buffer(-1)
            assert isinstance(space, memoryview)
            try:
                filled, is_over = self._fill(space)
            except ssl.SSLError as error:
                log.warning("broken TLS from %s: %s", self.get_extra_info("peername"), error.reason)
                self.abort()
                return
            if filled:
                protocol.buffer_updated(filled)
            if is_over:
                self.close()
            elif filled < len(space):
                break
        if self._outgoing.pending:
            self._answer()

    def _fill(self, space: memoryview) -> tuple[int, bool]:
        """How much there was, and whether the other side has said farewell."""
        filled, size, read = 0, len(space), self._session.read
        try:
            while filled < size:
                count = read(size - filled, space[filled:])
                if not count:
                    return filled, True
                filled += cast(int, count)
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:
            return filled, True
        return filled, False

    def _answer(self) -> None:
        """New keys are answered with new keys: who asks on and on and reads nothing is closed."""
        if not self.get_write_buffer_size():
            self._unread_answers = 0
        self._unread_answers += self._outgoing.pending
        self._flush()
        if self._unread_answers > UNREAD_ANSWERS_MAX:
            peer = self.get_extra_info("peername")
            log.warning("closed %s: it does not read what TLS answers", peer)
            self.abort()

    def _flush(self) -> None:
        if self._raw is not None and self._outgoing.pending:
            self._raw.write(self._outgoing.read())

    # Above: what a transport is asked for ------------------------------------------------------

    def write(self, data: Buffer) -> None:
        if len(data) > PIECE_BYTES:
            self.writelines((data,))
        elif data and self._raw is not None and not self._raw.is_closing():
            try:
                self._session.write(data)
            except ssl.SSLError:
                self.abort()
                return
            self._raw.write(self._outgoing.read())

    def writelines(self, list_of_data: Iterable[Buffer]) -> None:
        if self._raw is None or self._raw.is_closing():
            return
        out: list[bytes] = []
        try:
            for piece in pieces(list_of_data):
                self._session.write(piece)
                out.append(self._outgoing.read())
        except ssl.SSLError:
            self.abort()
            return
        self._raw.writelines(out)

    def pause_reading(self) -> None:
        self._reading_paused = True
        if self._raw is not None and not self._raw.is_closing():
            self._raw.pause_reading()

    def resume_reading(self) -> None:
        self._reading_paused = False
        if self._raw is not None and not self._raw.is_closing():
            self._raw.resume_reading()
            asyncio.get_running_loop().call_soon(self._decrypt)

    def is_reading(self) -> bool:
        return not self._reading_paused

    def close(self) -> None:
        if self._raw is None or self._raw.is_closing():
            return
        with suppress(ssl.SSLError, OSError):  # it wants the other side's farewell
            self._session.unwrap()
        self._flush()
        self._raw.close()

    def abort(self) -> None:
        self._is_unwanted = True
        if self._raw is not None:
            self._raw.abort()

    def is_closing(self) -> bool:
        return self._raw is None or self._raw.is_closing()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        if name == "ssl_object":
            return self._session
        return default if self._raw is None else self._raw.get_extra_info(name, default)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        if self._raw is not None:
            self._raw.set_write_buffer_limits(high, low)

    def get_write_buffer_size(self) -> int:
        return 0 if self._raw is None else self._raw.get_write_buffer_size()


def pieces(buffers: Iterable[Buffer]) -> Iterator[Buffer]:
    """The same bytes: short buffers joined, as a record ends with each piece, and long ones cut."""
    short: list[Buffer] = []
    size = 0
    for buffer in buffers:
        if size + len(buffer) > RECORD_BYTES:
            if short:
                yield b"".join(short)
            short, size = [], 0
            while len(buffer) > RECORD_BYTES:
                view = memoryview(buffer)
                yield view[:PIECE_BYTES]
                buffer = view[PIECE_BYTES:]
        short.append(buffer)
        size += len(buffer)
    if size:
        yield b"".join(short)
