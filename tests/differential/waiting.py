"""Runs that wait without a thread of their own: each is a coroutine that says what it waits for,
and who drives it waits, for one run or for many at once.

A thread for each costs a campaign as much again: every answer wakes one, which then waits for its
turn in the interpreter.
"""

import select
import time
from collections.abc import Coroutine, Generator, Iterator
from itertools import islice
from socket import socket as Socket
from types import coroutine
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")


class Wait(NamedTuple):
    """For something to read, until the deadline of the monotonic clock; None: for that alone."""

    socket: Socket | None
    deadline: float


Run = Coroutine[Wait, bool, T]
"""Told, each time it goes on, whether there is something to read."""


@coroutine
def readable(socket: Socket, deadline: float) -> Generator[Wait, bool, bool]:
    return (yield Wait(socket, deadline))


@coroutine
def sleep(seconds: float) -> Generator[Wait, bool, None]:
    yield Wait(None, time.monotonic() + seconds)


def drive(run: Run[T]) -> T:
    """One run, in this thread."""
    said: Any = None
    try:
        while True:
            said = wait_for(run.send(said))
    except StopIteration as end:
        result: T = end.value
        return result


def wait_for(wait: Wait) -> bool:
    seconds = max(wait.deadline - time.monotonic(), 0)
    if wait.socket is None:
        time.sleep(seconds)
        return False
    return bool(select.select([wait.socket], [], [], seconds)[0])


def drive_all(runs: Iterator[Run[None]], at_once: int) -> None:
    """All of them, so many at a time, in this thread."""
    crowd = Crowd()
    for run in islice(runs, at_once):
        crowd.go_on(run)
    while crowd.waits:
        crowd.wait()
        for run in islice(runs, at_once - len(crowd.waits)):
            crowd.go_on(run)


class Crowd:
    def __init__(self) -> None:
        self.waits: dict[Run[None], Wait] = {}
        self.reading: dict[int, Run[None]] = {}
        self.poll = select.poll()

    def go_on(self, run: Run[None], *, is_readable: Any = None) -> None:
        """To where it waits next, or ends."""
        try:
            wait = run.send(is_readable)
        except StopIteration:
            return
        self.waits[run] = wait
        if wait.socket is not None:
            number = wait.socket.fileno()
            self.reading[number] = run
            self.poll.register(number, select.POLLIN)

    def wait(self) -> None:
        """Until some can go on, and they do."""
        first = min(wait.deadline for wait in self.waits.values())
        milliseconds = max(first - time.monotonic(), 0) * 1000
        for number, _ in self.poll.poll(milliseconds):
            run = self.reading[number]
            self.stop_waiting(run)
            self.go_on(run, is_readable=True)
        now = time.monotonic()
        for run in [run for run, wait in self.waits.items() if wait.deadline <= now]:
            self.stop_waiting(run)
            self.go_on(run, is_readable=False)

    def stop_waiting(self, run: Run[None]) -> None:
        wait = self.waits.pop(run)
        if wait.socket is not None:
            number = wait.socket.fileno()
            self.poll.unregister(number)
            del self.reading[number]
