"""Replies in the order of requests, whatever finishes first. No socket."""

import asyncio
import gc
import struct
import weakref
from itertools import pairwise
from typing import Any

from ottla.broker.transport.connection import PIECE_BYTES, UnreadReplies
from ottla.broker.transport.context import Peer
from ottla.broker.transport.pending_reply import Body, PendingReply
from ottla.broker.transport.request_memory import RequestMemory
from ottla.ports.clock import SYSTEM_CLOCK
from support.connections import connection

PRODUCE, FETCH, METADATA = 0, 1, 3


class Dispatcher:
    """Answers with the frame's last byte, at once or when told."""

    def __init__(self) -> None:
        self.taken: list[int] = []
        self.laters: dict[int, PendingReply] = {}
        self.slow: set[int] = set()

    def take(self, frame: memoryview, peer: Peer) -> Body | PendingReply:
        number = frame[-1]
        self.taken.append(number)
        if number in self.slow:
            self.laters[number] = PendingReply()
            return self.laters[number]
        return [bytes([number])]

    def finish(self, number: int) -> None:
        self.laters[number].deliver([bytes([number])])


class Transport:
    def __init__(self) -> None:
        self.written = b""
        self.reading = True
        self.closed = False

    def close(self) -> None:
        self.closed = True

    def get_extra_info(self, name: str) -> Any:
        return ("127.0.0.1", 1) if name == "peername" else None

    def set_write_buffer_limits(self, high: int) -> None: ...

    def get_write_buffer_size(self) -> int:
        return 2_000_000

    def write(self, data: bytes) -> None:
        self.written += bytes(data)

    def writelines(self, data: list[bytes]) -> None:
        self.written += b"".join(data)

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True


class Line:
    """A connection with a dispatcher and a transport of the test's."""

    def __init__(
        self,
        *slow: int,
        request_memory: RequestMemory | None = None,
        trusted: RequestMemory | None = None,
    ) -> None:
        self.dispatcher = Dispatcher()
        self.dispatcher.slow = set(slow)
        self.transport = Transport()
        self.unread_replies = UnreadReplies(SYSTEM_CLOCK.monotonic)
        self.connection = connection(
            self.dispatcher, self.unread_replies, request_memory=request_memory, trusted=trusted
        )
        self.connection.connection_made(self.transport)  # type: ignore[arg-type]

    def send(self, *requests: tuple[int, int]) -> None:
        frames = [struct.pack(">hB", key, number) for key, number in requests]
        stream = b"".join(struct.pack(">i", len(frame)) + frame for frame in frames)
        self.connection.get_buffer(-1)[: len(stream)] = stream
        self.connection.buffer_updated(len(stream))


def test_a_slow_reply_holds_back_the_ones_behind_it() -> None:
    line = Line(1)
    line.send((PRODUCE, 1), (PRODUCE, 2), (PRODUCE, 3))
    assert line.dispatcher.taken == [1, 2, 3]
    assert line.transport.written == b""
    line.dispatcher.finish(1)
    assert line.transport.written == bytes([1, 2, 3])


def test_produces_that_wait_finish_in_any_order_and_are_answered_in_theirs() -> None:
    line = Line(1, 2, 3)
    line.send((PRODUCE, 1), (PRODUCE, 2), (PRODUCE, 3))
    line.dispatcher.finish(3)
    line.dispatcher.finish(1)
    assert line.transport.written == bytes([1])
    line.dispatcher.finish(2)
    assert line.transport.written == bytes([1, 2, 3])


def test_other_requests_wait_until_what_is_before_them_is_answered() -> None:
    line = Line(1)
    line.send((FETCH, 1), (METADATA, 2), (PRODUCE, 3))
    assert line.dispatcher.taken == [1]
    line.dispatcher.finish(1)
    assert line.dispatcher.taken == [1, 2, 3]
    assert line.transport.written == bytes([1, 2, 3])


def test_a_request_behind_a_produce_that_waits_is_put_off() -> None:
    line = Line(1)
    line.send((PRODUCE, 1), (METADATA, 2))
    assert line.dispatcher.taken == [1]
    line.dispatcher.finish(1)
    assert line.transport.written == bytes([1, 2])


def test_whoever_sends_too_far_ahead_is_not_read_until_the_backlog_is_gone() -> None:
    line = Line(0)
    line.send((FETCH, 0), *((METADATA, number) for number in range(1, 70)))
    assert not line.transport.reading
    line.dispatcher.finish(0)
    assert line.transport.reading
    assert line.transport.written == bytes(range(70))


def test_nothing_is_taken_up_while_the_client_does_not_read() -> None:
    line = Line()
    line.connection.pause_writing()
    assert line.unread_replies.stalled_bytes == 2_000_000
    line.send((METADATA, 1))
    assert line.dispatcher.taken == []
    line.connection.resume_writing()
    assert line.transport.written == bytes([1])
    assert line.unread_replies.stalled_bytes == 0


def test_a_client_that_goes_lets_go_of_what_it_waited_for() -> None:
    line = Line(1)
    line.connection.pause_writing()
    line.connection.resume_writing()
    line.send((FETCH, 1))
    line.connection.connection_lost(None)
    assert line.dispatcher.laters[1].abandoned
    line.dispatcher.finish(1)
    assert line.transport.written == b""


def test_a_promise_that_breaks_closes_the_connection_after_what_was_before_it() -> None:
    line = Line(1, 2)
    line.send((PRODUCE, 1), (PRODUCE, 2))
    line.dispatcher.laters[2].break_off()
    assert not line.transport.closed
    line.dispatcher.finish(1)
    assert line.transport.written == bytes([1])
    assert line.transport.closed


def test_a_promise_of_no_reply_lets_the_next_one_through() -> None:
    line = Line(1)
    line.send((PRODUCE, 1), (PRODUCE, 2))
    line.dispatcher.laters[1].deliver(None)
    assert line.transport.written == bytes([2])


LARGE = 100_000


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def large(number: int) -> bytes:
    frame = struct.pack(">h", METADATA) + bytes(LARGE) + bytes([number])
    return struct.pack(">i", len(frame)) + frame


def feed(line: Line, data: bytes) -> bytes:
    """As much of `data` as the connection reads; what is left of it."""
    while data and line.transport.reading and not line.transport.closed:
        space = line.connection.get_buffer(-1)
        count = min(len(space), len(data))
        space[:count] = data[:count]
        line.connection.buffer_updated(count)
        data = data[count:]
    return data


def test_large_requests_wait_for_room_in_the_order_in_which_they_came() -> None:
    request_memory = RequestMemory(2 * LARGE, Clock())
    first, second, third = (Line(request_memory=request_memory) for _ in range(3))
    rest = feed(first, large(1)[:-1]) + large(1)[-1:]
    left = feed(second, large(2)), feed(third, large(3))
    assert not second.transport.reading
    assert not third.transport.reading
    assert request_memory.used < 2 * LARGE
    assert feed(first, rest) == b""
    assert first.transport.written == bytes([1])
    assert second.transport.reading
    assert not third.transport.reading
    assert feed(second, left[0]) == b""
    assert feed(third, left[1]) == b""
    assert second.transport.written + third.transport.written == bytes([2, 3])
    assert request_memory.used == 0


def test_half_sent_requests_take_no_more_than_the_room_there_is() -> None:
    request_memory = RequestMemory(3 * LARGE, Clock())
    for _ in range(50):
        feed(Line(request_memory=request_memory), large(1)[:-1])
    assert request_memory.used <= 3 * LARGE


def test_who_keeps_others_waiting_with_half_a_request_is_closed() -> None:
    clock = Clock()
    request_memory = RequestMemory(LARGE, clock)
    lazy, waits = Line(request_memory=request_memory), Line(request_memory=request_memory)
    feed(lazy, large(1)[:-1])
    left = feed(waits, large(2))
    clock.now = 31.0
    request_memory.sweep()
    assert lazy.transport.closed
    lazy.connection.connection_lost(None)
    assert feed(waits, left) == b""
    assert waits.transport.written == bytes([2])


def test_half_a_request_may_take_its_time_while_nobody_waits() -> None:
    clock = Clock()
    request_memory = RequestMemory(LARGE, clock)
    line = Line(request_memory=request_memory)
    feed(line, large(1)[:-1])
    clock.now = 3_600.0
    request_memory.sweep()
    assert not line.transport.closed


def test_a_request_that_waits_for_its_turn_holds_its_room() -> None:
    request_memory = RequestMemory(10 * LARGE, Clock())
    line = Line(1, request_memory=request_memory)
    line.send((FETCH, 1))
    feed(line, large(2))
    assert request_memory.used >= LARGE
    line.dispatcher.finish(1)
    assert line.transport.written == bytes([1, 2])
    assert request_memory.used == 0


def test_what_strangers_send_ahead_takes_no_more_than_their_room() -> None:
    strangers, trusted = RequestMemory(2 * LARGE, Clock()), RequestMemory(100 * LARGE, Clock())
    lines = [Line(1, request_memory=strangers, trusted=trusted) for _ in range(20)]
    frame = struct.pack(">ih", 3003, METADATA) + bytes(3001)
    for line in lines:
        line.send((FETCH, 1))
        for _ in range(30):
            feed(line, frame)  # comes whole, and waits behind the first
    assert LARGE < strangers.used <= 2 * LARGE
    assert sum(line.transport.closed for line in lines) >= 17
    known = Line(1, request_memory=trusted)
    known.send((FETCH, 1))
    assert feed(known, frame) == b""
    assert not known.transport.closed


class Watching(Dispatcher):
    """Sees when the memory of requests goes."""

    def __init__(self) -> None:
        super().__init__()
        self.frames: list[weakref.ref[Any]] = []

    def take(self, frame: memoryview, peer: Peer) -> Body | PendingReply:
        self.frames.append(weakref.ref(frame.obj))
        return super().take(frame, peer)


def test_a_stranger_keeps_no_buffer_that_is_not_counted() -> None:
    strangers, trusted = RequestMemory(2 * LARGE, Clock()), RequestMemory(100 * LARGE, Clock())
    dispatcher, transport = Watching(), Transport()
    line = connection(
        dispatcher,
        UnreadReplies(SYSTEM_CLOCK.monotonic),
        request_memory=strangers,
        trusted=trusted,
    )
    line.connection_made(transport)  # type: ignore[arg-type]
    data = large(1)
    while data:
        space = line.get_buffer(-1)
        count = min(len(space), len(data))
        space[:count] = data[:count]
        del space
        line.buffer_updated(count)
        data = data[count:]
    assert transport.written == bytes([1])
    assert [frame() for frame in dispatcher.frames] == [None]


def test_who_leaves_while_waiting_for_room_makes_way() -> None:
    request_memory = RequestMemory(LARGE, Clock())
    first, second, third = (Line(request_memory=request_memory) for _ in range(3))
    feed(first, large(1)[:-1])
    feed(second, large(2))
    left = feed(third, large(3))
    second.connection.connection_lost(None)
    feed(first, large(1)[-1:])
    assert feed(third, left) == b""
    assert third.transport.written == bytes([3])


def long_reply(line: Line, number: int) -> bytes:
    """Three pieces and a bit, in buffers that are cut elsewhere."""
    body: Body = [bytes([number]), bytes(PIECE_BYTES + 100), b"x" * 2 * PIECE_BYTES, b"end"]
    line.dispatcher.laters[number].deliver(body)
    return b"".join(body)


def test_a_long_reply_is_written_in_pieces_between_which_others_have_their_turn() -> None:
    async def scenario() -> None:
        line = Line(1)
        line.send((FETCH, 1), (METADATA, 2))
        whole = long_reply(line, 1)
        sizes = [len(line.transport.written)]
        while len(line.transport.written) < len(whole):
            assert line.dispatcher.taken == [1], "the next comes when this one is out"
            await asyncio.sleep(0)
            sizes.append(len(line.transport.written))
        assert line.transport.written == whole + bytes([2])
        assert max(b - a for a, b in pairwise(sizes)) <= PIECE_BYTES

    asyncio.run(scenario())


def test_what_is_left_of_a_long_reply_waits_for_the_client_and_counts_as_queued() -> None:
    async def scenario() -> None:
        line = Line(1)
        line.send((FETCH, 1))
        whole = long_reply(line, 1)
        line.connection.pause_writing()
        left = len(whole) - PIECE_BYTES
        assert line.unread_replies.stalled_bytes == line.transport.get_write_buffer_size() + left
        await asyncio.sleep(0)
        assert len(line.transport.written) == PIECE_BYTES
        line.connection.resume_writing()
        assert line.unread_replies.stalled_bytes == 0
        while len(line.transport.written) < len(whole):
            await asyncio.sleep(0)
        assert line.transport.written == whole

    asyncio.run(scenario())


def test_a_connection_that_is_closed_amid_a_long_reply_writes_the_rest_first() -> None:
    async def scenario() -> None:
        line = Line(1)
        line.send((FETCH, 1))
        whole = long_reply(line, 1)
        line.connection.close()
        assert line.transport.closed
        assert line.transport.written == whole
        await asyncio.sleep(0)
        assert line.transport.written == whole

    asyncio.run(scenario())


def test_a_connection_that_is_over_leaves_nothing_for_the_collector() -> None:
    """It comes so seldom that a thousand connections an hour would pile up."""
    line = Line(1)
    line.send((FETCH, 1))
    line.connection.connection_lost(None)
    gone = weakref.ref(line.connection)
    gc.disable()
    try:
        del line
        assert gone() is None
    finally:
        gc.enable()
