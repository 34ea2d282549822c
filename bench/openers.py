"""Processes that open many connections and hold them: what one interpreter can open is not much.

Each of them opens its part with a few threads, asks one question on each connection and waits for
the answers, when it is told to; then it waits for the end.
"""

import multiprocessing
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection

from bench.reach import Reach, receive

PROCESSES = 2
METADATA_REQUEST = struct.pack(">ihhihi", 14, 3, 1, 1, -1, 0)


class Openers:
    def __init__(self, reach: Reach, count: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipes: list[Connection] = []
        self._processes = []
        for number in range(PROCESSES):
            ours, theirs = context.Pipe()
            part = count // PROCESSES + (number < count % PROCESSES)
            self._pipes.append(ours)
            self._processes.append(context.Process(target=work, args=(reach, part, theirs)))
            self._processes[-1].start()
        for pipe in self._pipes:
            pipe.recv()

    def open(self) -> None:
        """All of them, each with an answer."""
        for pipe in self._pipes:
            pipe.send("open")
        for pipe in self._pipes:
            pipe.recv()

    def end(self) -> None:
        for process in self._processes:
            process.terminate()
            process.join()


def work(reach: Reach, count: int, pipe: Connection) -> None:
    reach.open().close()  # the password is stretched once
    pipe.send("ready")
    pipe.recv()
    opened = reach.open_many(count)
    for connection in opened:
        connection.sendall(METADATA_REQUEST)
    for connection in opened:
        assert len(receive(connection, 4)) == 4
    pipe.send("done")
    pipe.recv()  # holds them until it is ended


@contextmanager
def openers(reach: Reach, count: int) -> Iterator[Openers]:
    them = Openers(reach, count)
    try:
        yield them
    finally:
        them.end()
