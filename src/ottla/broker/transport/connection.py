"""One client's connection: frames in, replies out, in order.

As in Apache Kafka a connection's requests are taken up one after another. Only a Produce may
follow a Produce before the first is acknowledged: the order of appends is kept, and waiting for
replicas or the disk is shared. What comes meanwhile waits in `_backlog`; a client that sends more
than that, or does not read its replies, is not read from.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, cast

from ottla.broker.dispatch import PRODUCE, BadRequest, Dispatcher, api_of
from ottla.broker.transport.context import Peer, unheard
from ottla.broker.transport.long_writes import (
    drop,
    front,
    own_descriptor,
    send,
    send_at_once,
    senders,
)
from ottla.broker.transport.pending_reply import Body, ConnectionLost, PendingReply
from ottla.broker.transport.request_memory import (
    STRANGERS_COUNTED_BYTES_MIN,
    RequestMemoryShare,
)
from ottla.wire.framing import COUNTED_BYTES_MIN, FrameAssembler, FrameTooLong, LooksLikeTls

if TYPE_CHECKING:
    from ottla.broker.transport.authentication import Authentication

log = logging.getLogger(__name__)

BACKLOG_FRAMES_MAX = 64
BACKLOG_BYTES_MAX = 1024 * 1024
WRITE_BUFFER_BYTES = 1024 * 1024
PIECE_BYTES = 1024 * 1024
"""A reply of more is a long one. What no thread can send of it is handed to the socket in pieces of
that, one in a turn of the loop: the kernel copies it there and then, and others wait."""


class UnreadReplies:
    """How much is queued for clients that do not read; shared by all connections."""

    __slots__ = ("now", "stalled_bytes")

    def __init__(self, now: Callable[[], float]) -> None:
        self.now = now  # patience with them is limited
        self.stalled_bytes = 0


class Connection(asyncio.BufferedProtocol):
    """Opened and forgotten through the callbacks of the listener that accepted it."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        assembler: FrameAssembler,
        share: RequestMemoryShare,
        unread_replies: UnreadReplies,
        make_peer: Callable[[str], Peer],
        opened: Callable[["Connection"], bool],
        closed: Callable[["Connection"], None],
    ) -> None:
        self._dispatcher = dispatcher
        self._assembler = assembler
        self._share = share
        share.let_in, share.give_up = self._let_in, self._give_up
        self._unread = unread_replies
        self._stalled_bytes = 0
        self._make_peer = make_peer
        self._opened = opened
        self._closed = closed
        self._transport: asyncio.Transport | None = None
        self._out: Body = []
        self._out_bytes = 0
        self._rest: deque[memoryview] = deque()  # of long replies, behind what was written
        self._is_sending = False  # a thread, the first of them: nobody else may write
        self._closes_when_sent = False
        self._pending: deque[_Slot] = deque()  # replies that are awaited, oldest first
        self._only_produce = True  # among the pending ones
        self._backlog: deque[tuple[memoryview, int]] = deque()  # and what it holds of the room
        self._backlog_bytes = 0
        self._taking = False
        self._unmuting: asyncio.TimerHandle | None = None  # while it is muted
        self._writing_paused = False
        self._backlog_full = False
        self._reading_paused = False
        self.active_at = 0.0  # set by the listener's sweep, cleared by traffic
        self.was_active = True

    # What the event loop calls -------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport = cast(asyncio.Transport, transport)  # uvloop's is not a subclass
        address = transport.get_extra_info("peername")
        self.peer = self._make_peer(address[0] if address else "")
        self.peer.mute = self._mute
        encryption = transport.get_extra_info("ssl_object")
        if encryption is not None:
            self.peer.certificate = encryption.getpeercert(True)
        self._transport = transport
        if not self._opened(self):
            transport.abort()
            return
        transport.set_write_buffer_limits(high=WRITE_BUFFER_BYTES)
        if self.peer.authentication is not None:
            self._be_careful(self.peer.authentication)

    def _be_careful(self, authentication: "Authentication") -> None:
        """Frames of one who has not said yet who it is are small, and count with all others'."""
        assembler, usual = self._assembler, self._assembler.frame_bytes_max
        assembler.frame_bytes_max = min(usual, authentication.frame_bytes_max)
        assembler.counted_bytes_min = STRANGERS_COUNTED_BYTES_MIN

        def trust() -> None:
            assembler.frame_bytes_max = usual
            assembler.counted_bytes_min = COUNTED_BYTES_MIN
            self._share.trust()

        authentication.completed = trust

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._assembler.space()

    def buffer_updated(self, nbytes: int) -> None:
        self.was_active = True
        try:
            assembler = self._assembler
            for frame in assembler.received(nbytes):
                if self._backlog or not self._may_take(frame):
                    self._put_off(frame, assembler.taken)
                else:
                    self._take(frame)
                    if assembler.taken:
                        self._share.give_back(assembler.taken)
            if assembler.is_kept_out:
                self._read_or_pause()
            if assembler.taken and self._share.is_strangers:
                assembler.forget_buffer()  # which nobody counts any more
        except (BadRequest, ConnectionLost, FrameTooLong) as error:
            self._refuse(error)
        self._write()

    def _let_in(self) -> None:
        """There is room for the large request that began."""
        self._assembler.let_in()
        self._read_or_pause()

    def _give_up(self) -> None:
        self._refuse(BadRequest("a large request was left unfinished while others waited for room"))

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self.peer.mute = unheard
        if self._unmuting is not None:
            self._unmuting.cancel()
        self._count_stalled(0)
        for slot in self._pending:
            if slot.later is not None:
                slot.later.abandon()
        self._pending.clear()
        self._backlog.clear()
        self._rest.clear()
        self._share.close()
        self._closed(self)

    def pause_writing(self) -> None:
        self._writing_paused = True
        assert self._transport is not None
        self._count_stalled(self._transport.get_write_buffer_size() + sum(map(len, self._rest)))

    def resume_writing(self) -> None:
        self._writing_paused = False
        self._count_stalled(0)
        if self._rest:
            self._write_piece()
        else:
            self._continue()

    def _count_stalled(self, size: int) -> None:
        self._unread.stalled_bytes += size - self._stalled_bytes
        self._stalled_bytes = size

    # Requests ------------------------------------------------------------------------------

    def _may_take(self, frame: memoryview) -> bool:
        if self._writing_paused or self._rest or self._transport is None:
            return False
        if self._unmuting is not None:
            return False
        if not self._pending:
            return True
        return self._only_produce and api_of(frame) == PRODUCE

    def _take(self, frame: memoryview) -> None:
        reply = self._dispatcher.take(frame, self.peer)
        if isinstance(reply, PendingReply):
            if not self._pending:
                self._only_produce = True
            follows = api_of(frame) == PRODUCE and not reply.is_first
            self._only_produce = self._only_produce and follows
            slot = _Slot(reply)
            self._pending.append(slot)
            reply.then(partial(self._arrived, slot))
        elif reply is not None:
            if self._pending:
                self._pending.append(_Slot(None, reply))
            else:
                self._reply(reply)
                self._end_if_refused()

    def _arrived(self, slot: "_Slot", body: Body | ConnectionLost | None) -> None:
        slot.body, slot.is_due = body, True
        if self._pending and self._pending[0] is slot:
            self._continue()

    def _continue(self) -> None:
        """Send what is due, then take up what had to wait."""
        if self._taking:
            return
        self._taking = True
        try:
            self._send_due()
            while self._backlog and self._may_take(self._backlog[0][0]):
                frame, held = self._backlog.popleft()
                self._backlog_bytes -= len(frame)
                self._take(frame)
                self._share.give_back(held)
                self._send_due()
        except (BadRequest, ConnectionLost) as error:
            self._refuse(error)
        finally:
            self._taking = False
        self._write()
        if not self._backlog:
            self._backlog_full = False
            self._read_or_pause()

    def _send_due(self) -> None:
        while self._pending and self._pending[0].is_due:
            body = self._pending.popleft().body
            if isinstance(body, ConnectionLost):
                raise body
            if body is not None:
                self._reply(body)
            self._end_if_refused()

    def _end_if_refused(self) -> None:
        """Whoever failed to authenticate is told so, and no more."""
        if self.peer.is_refused:
            self._backlog.clear()
            raise ConnectionLost

    def _reply(self, body: Body) -> None:
        """Short ones are gathered; behind a long one nothing is taken up before it is out."""
        self._out += body
        size = sum(map(len, body))
        self._out_bytes += size
        if size > PIECE_BYTES:
            self._write()

    def _mute(self, seconds: float) -> None:
        """Nothing is taken up or read for so long; what is on its way goes out (KIP-219)."""
        if self._transport is None:
            return
        until = self._unread.now() + seconds
        if self._unmuting is not None:
            if self._unmuting.when() >= until:
                return
            self._unmuting.cancel()
        self._unmuting = asyncio.get_running_loop().call_at(until, self._unmute)
        self._read_or_pause()

    def _unmute(self) -> None:
        self._unmuting = None
        self._read_or_pause()
        self._continue()

    def _put_off(self, frame: memoryview, held: int) -> None:
        if not held:
            held = len(frame)
            self._share.hold(held)
        self._backlog.append((memoryview(bytes(frame)), held))  # its buffer is about to be reused
        self._backlog_bytes += len(frame)
        if len(self._backlog) >= BACKLOG_FRAMES_MAX or self._backlog_bytes >= BACKLOG_BYTES_MAX:
            self._backlog_full = True
            self._read_or_pause()

    def _read_or_pause(self) -> None:
        pause = self._backlog_full or self._assembler.is_kept_out or self._unmuting is not None
        if pause == self._reading_paused or self._transport is None:
            return
        self._reading_paused = pause
        if pause:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    def _write(self) -> None:
        if self._out and self._transport is not None:
            out, self._out = self._out, []
            size, self._out_bytes = self._out_bytes, 0
            if self._rest or size > PIECE_BYTES:
                is_first = not self._rest
                self._rest.extend(memoryview(part) for part in out if len(part))
                if is_first:
                    self._write_long()
            elif len(out) == 1:
                self._transport.write(out[0])
            elif size < 4096:
                self._transport.write(b"".join(out))
            else:
                self._transport.writelines(out)

    def _write_long(self) -> None:
        """By a thread, if there is a socket that is free."""
        assert self._transport is not None
        descriptor = own_descriptor(self._transport)
        if descriptor is None:
            self._write_piece()
            return
        drop(self._rest, send_at_once(descriptor, self._rest))
        self._is_sending = True
        loop = asyncio.get_running_loop()
        sending = loop.run_in_executor(
            senders(), send, descriptor, tuple(self._rest), self._unread.now
        )
        sending.add_done_callback(self._was_sent)

    def _was_sent(self, sending: asyncio.Future[int]) -> None:
        self._is_sending = False
        if self._transport is None:
            return
        if sending.exception() is not None:  # how much went out is not known
            self._transport.abort()
            return
        drop(self._rest, sending.result())
        if self._closes_when_sent:
            self.close()
        elif self._rest:
            self._write_piece()
        else:
            self._continue()

    def _write_piece(self) -> None:
        """The next of a long reply; those who wait for the loop come in between."""
        if self._transport is None or self._writing_paused or not self._rest:
            return
        piece = front(self._rest, PIECE_BYTES)
        drop(self._rest, sum(map(len, piece)))
        self._transport.writelines(piece)
        if self._rest:
            asyncio.get_running_loop().call_soon(self._write_piece)
        else:
            self._continue()

    # The end -------------------------------------------------------------------------------

    def _refuse(self, error: Exception) -> None:
        if isinstance(error, LooksLikeTls):
            self.peer.complain(
                f"{self.peer.client_host} speaks TLS, and listener {self.peer.listener_name} does "
                "not: its security.protocol is another than the client's"
            )
        elif not isinstance(error, ConnectionLost):  # else it was logged where it broke
            log.warning("closed the connection from %s: %s", self.peer.client_host, error)
        self._write()
        self.close()

    def close(self) -> None:
        if self._is_sending:
            self._closes_when_sent = True
        elif self._transport is not None:
            if self._rest:
                self._transport.writelines(self._rest)
                self._rest.clear()
            self._transport.close()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    @property
    def is_awaiting(self) -> bool:
        """A reply is owed, or it is muted: the silence is ours."""
        return bool(self._pending) or self._unmuting is not None

    def forget_buffer(self) -> None:
        self._assembler.forget_buffer()


class _Slot:
    """A place in the order of replies."""

    __slots__ = ("body", "is_due", "later")

    def __init__(
        self, later: PendingReply | None, body: Body | ConnectionLost | None = None
    ) -> None:
        self.later = later  # None: the reply is there, but others come first
        self.body = body
        self.is_due = later is None
