"""Replies in the order of requests, whatever finishes first. No socket."""

import struct
from typing import Any

from ottla.broker.api import Listeners
from ottla.broker.connection import Connection, Outflow
from ottla.broker.context import Peer
from ottla.broker.later import Body, Later
from ottla.wire.framing import FrameAssembler

PRODUCE, FETCH, METADATA = 0, 1, 3


class Dispatcher:
    """Answers with the frame's last byte, at once or when told."""

    def __init__(self) -> None:
        self.taken: list[int] = []
        self.laters: dict[int, Later] = {}
        self.slow: set[int] = set()

    def take(self, frame: memoryview, peer: Peer) -> Body | Later:
        number = frame[-1]
        self.taken.append(number)
        if number in self.slow:
            self.laters[number] = Later()
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
        return ("127.0.0.1", 1)

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

    def __init__(self, *slow: int) -> None:
        self.dispatcher = Dispatcher()
        self.dispatcher.slow = set(slow)
        self.transport = Transport()
        self.outflow = Outflow()
        self.connection = Connection(
            self.dispatcher,  # type: ignore[arg-type]
            FrameAssembler(memoryview(bytearray(4096)), 10_000),
            self.outflow,
            lambda host: Peer("PLAINTEXT", Listeners.BROKER, host),
            lambda connection: True,
            lambda connection: None,
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
    assert line.outflow.stalled_bytes == 2_000_000
    line.send((METADATA, 1))
    assert line.dispatcher.taken == []
    line.connection.resume_writing()
    assert line.transport.written == bytes([1])
    assert line.outflow.stalled_bytes == 0


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
