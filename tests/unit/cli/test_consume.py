"""When everything has been read, though a rebalance changed what that is."""

from collections.abc import Sequence
from typing import cast

import pytest
from confluent_kafka import Consumer, Message, TopicPartition
from confluent_kafka import KafkaError as ClientError

from ottla.cli.consume import _messages

IDLE_MAX = 5


class Event:
    """A record of a partition, or the news that its end was reached."""

    def __init__(self, partition: int, ended: bool = False) -> None:
        self._partition = partition
        self._ended = ended

    def topic(self) -> str:
        return "t"

    def partition(self) -> int:
        return self._partition

    def error(self) -> ClientError | None:
        return ClientError(ClientError._PARTITION_EOF) if self._ended else None


def end(partition: int) -> Event:
    return Event(partition, ended=True)


class Script:
    """A consumer that is given partitions (a list) and events one after the other."""

    def __init__(self, *steps: list[int] | Event) -> None:
        self._steps = iter(steps)
        self._assigned: Sequence[int] = ()
        self._idle = 0

    def assignment(self) -> list[TopicPartition]:
        return [TopicPartition("t", number) for number in self._assigned]

    def poll(self, _timeout: float) -> Event | None:
        step = next(self._steps, None)
        if isinstance(step, Event):
            return step
        if step is not None:
            self._assigned = step
        self._idle += 1
        assert self._idle <= IDLE_MAX, "all was read, and it waits for more"
        return None


@pytest.mark.parametrize(
    ("script", "read"),
    [
        (Script([0, 1], Event(0), end(0), Event(1), end(1)), [0, 1]),
        (Script([0, 1], Event(0), end(0), [1], Event(1), end(1)), [0, 1]),
        (Script([0, 1], end(1), Event(0), [1]), [0]),
        (Script([0, 1], end(0), [1, 2], Event(1), end(1), Event(2), end(2)), [1, 2]),
        (Script([0], end(0), Event(0), end(0)), []),
        (Script([0, 1], end(0), [], [0], Event(0), end(0)), [0]),
    ],
    ids=["all", "one taken", "one taken after the end", "one for another", "end", "all anew"],
)
def test_reading_ends_where_all_that_is_assigned_has_ended(script: Script, read: list[int]) -> None:
    messages: list[Message] = list(_messages(cast("Consumer", script), True, None))
    assert [message.partition() for message in messages] == read
