"""The receiving thread of connectors of changes, without a server."""

import queue
from collections.abc import Iterator

import pytest

from ottla.connect.connector import ConnectError
from ottla.connect.connectors.debezium.receiver import Receiver

LONG_S = 30.0  # only a test that fails waits for so long


class Numbers:
    """A piece is a number, and so is a position."""

    def __init__(self) -> None:
        self.waiting: list[int] = []
        self.idle: int | None = 0

    @property
    def ready(self) -> bool:
        return bool(self.waiting)

    @property
    def events(self) -> int:
        return len(self.waiting)

    def take(self) -> list[int]:
        taken, self.waiting = self.waiting, []
        return taken


class FromQueue(Receiver[int, int]):
    def __init__(self, queue_size: int = 100) -> None:
        self.numbers = Numbers()
        self.sent: queue.Queue[int | Exception | None] = queue.Queue()
        self.read: queue.Queue[int] = queue.Queue()
        super().__init__("test", self.numbers, queue_size)

    def _interrupt(self) -> None:
        self.sent.put(None)

    def _receive(self) -> None:
        while not self._stopping:
            if not self._has_room():
                continue
            match self.sent.get():
                case Exception() as error:
                    raise error
                case int(number):
                    with self._changed:
                        self.numbers.waiting.append(number)
                        self._changed.notify_all()
                    self.read.put(number)


@pytest.fixture
def receiver() -> Iterator[FromQueue]:
    made = FromQueue()
    yield made
    made.stop()


def test_what_was_received_is_waited_for_and_taken_once(receiver: FromQueue) -> None:
    receiver.start()
    assert receiver.idle() == 0
    receiver.sent.put(7)
    receiver.wait(LONG_S)
    assert receiver.idle() is None, "it waits to be written"
    assert receiver.take() == [7]
    assert receiver.take() == []


def test_a_failure_of_the_thread_comes_after_all_that_was_received(receiver: FromQueue) -> None:
    for sent in (1, ConnectError("The slot is gone.")):
        receiver.sent.put(sent)
    receiver.start()
    receiver._thread.join(LONG_S)
    receiver.wait(LONG_S)
    assert receiver.take() == [1]
    with pytest.raises(ConnectError, match=r"The slot is gone\."):
        receiver.take()


def test_what_nobody_foresaw_is_the_connectors_failure_too(receiver: FromQueue) -> None:
    receiver.sent.put(ValueError("a bug"))
    receiver.start()
    receiver.wait(LONG_S)
    with pytest.raises(ConnectError, match="The stream of changes cannot be read: a bug"):
        receiver.take()


def test_no_more_is_read_while_as_much_waits_as_may() -> None:
    receiver = FromQueue(queue_size=2)
    for number in range(3):
        receiver.sent.put(number)
    receiver.start()
    assert [receiver.read.get(timeout=LONG_S) for _ in range(2)] == [0, 1]
    assert receiver.read.empty()
    assert receiver.take() == [0, 1]
    assert receiver.read.get(timeout=LONG_S) == 2
    receiver.stop()


def test_who_stops_hears_of_no_failure_that_this_causes(receiver: FromQueue) -> None:
    receiver.start()
    receiver.sent.put(1)
    assert receiver.read.get(timeout=LONG_S) == 1
    receiver._stopping = True
    receiver.sent.put(OSError("closed"))
    receiver.stop()
    assert receiver.take() == [1]
    assert receiver.take() == []
