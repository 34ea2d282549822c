"""Long replies are written by a thread: the kernel takes milliseconds to copy megabytes into a
socket, and an event loop that does it answers nobody meanwhile.

A client that does not read is none of its business: what is left after a moment goes back to the
loop, which can wait for many at once.
"""

import os
import select
from asyncio import Transport
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache

from ottla.ports.threads import threads_behind_the_loop

WAIT_S_MAX = 0.05
"""For a reply as a whole: slow clients must not keep the threads from the others."""
AT_ONCE_BYTES = 256 * 1024
CALL_BYTES = 512 * 1024
"""Handed over in one call: a kernel without preemption lets nobody have the core before it ends."""


def own_descriptor(transport: Transport) -> int | None:
    """A descriptor of the transport's socket; None where there is none any more, or bytes are
    queued for it that have to go first, or have to be encrypted."""
    socket = transport.get_extra_info("socket")
    if transport.get_extra_info("ssl_object") is not None:
        return None
    if socket is None or transport.is_closing() or transport.get_write_buffer_size():
        return None
    return os.dup(socket.fileno())


def send_at_once(descriptor: int, buffers: Iterable[memoryview]) -> int:
    """A first bit, so that the client has something to do until a thread goes on."""
    try:
        return os.writev(descriptor, front(buffers, AT_ONCE_BYTES))
    except OSError:  # no room, or broken: the thread will see
        return 0


def send(descriptor: int, buffers: Iterable[memoryview], now: Callable[[], float]) -> int:
    """Blocks. How many bytes the socket took; OSError where it is broken."""
    try:
        return _send(descriptor, deque(buffers), now)
    finally:
        os.close(descriptor)


def _send(descriptor: int, left: deque[memoryview], now: Callable[[], float]) -> int:
    room = select.poll()
    room.register(descriptor, select.POLLOUT)
    sent, patience_s = 0, WAIT_S_MAX
    while left and patience_s > 0:
        try:
            count = os.writev(descriptor, front(left, CALL_BYTES))
        except BlockingIOError:
            began = now()
            room.poll(patience_s * 1000)
            patience_s -= now() - began
            continue
        sent += count
        drop(left, count)
    return sent


def front(buffers: Iterable[memoryview], size: int) -> list[memoryview]:
    """So many bytes at most, from the first on."""
    piece: list[memoryview] = []
    for buffer in buffers:
        if not size:
            break
        piece.append(buffer[:size])
        size -= len(piece[-1])
    return piece


def drop(buffers: deque[memoryview], count: int) -> None:
    """Take so many bytes off the front; no buffer is empty."""
    while count:
        first = buffers.popleft()
        if len(first) > count:
            buffers.appendleft(first[count:])
            return
        count -= len(first)


@cache
def senders() -> ThreadPoolExecutor:
    """Threads of their own: nobody's reply stands behind a disk."""
    return threads_behind_the_loop(2, "ottla-send")
