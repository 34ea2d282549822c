"""What a shard asks of the state it keeps, and what that state answers with. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

from ottla.wire.message import Message

R = TypeVar("R")
Ticket = Any
"""Stands for a request that waits: a machine keeps it, and later answers it."""


class Instant(NamedTuple):
    """The two clocks: time-outs are measured on the first, records are stamped with the second."""

    seconds: float  # monotonic
    wall_ms: int


class CoordinatorRecord(NamedTuple):
    """A record to be: its key says what it is about; without a value it is a tombstone."""

    key: Message
    value: Message | None


class ProducerIdAndEpoch(NamedTuple):
    """Whose transaction records belong to."""

    id: int
    epoch: int


class Later:
    """The reply is not known yet: the machine keeps the ticket and answers it in a decision."""


LATER: Final = Later()


class Answer(NamedTuple):
    """The reply to a request that waited; an exception is raised where that request waits."""

    ticket: Ticket
    reply: object


class Decision(NamedTuple, Generic[R]):
    """Records to be written, and what to reply once they are committed."""

    records: Sequence[CoordinatorRecord]
    reply: R | Later
    answers: Sequence[Answer] = ()  # to requests that waited
    producer: ProducerIdAndEpoch | None = None  # the records are part of its transaction
    is_atomic: bool = True  # else the records may come to lie in several batches


class RecordTypes(NamedTuple):
    """How a topic's records look: the int16 in front of a key tells key and value class."""

    classes: Mapping[int, tuple[type[Message], type[Message]]]
    value_versions: Mapping[type[Message], int]  # what is written; 0 where nothing is said


class Machine(Protocol):
    """The state of one shard.

    `replay` is the only way durable state changes; `key` and `value` must not be kept and
    changed afterwards. `producer_id` is -1 unless the record belongs to a transaction: then it
    counts from `replay_marker` on, if that commits.
    """

    RECORDS: RecordTypes

    def replay(self, offset: int, producer_id: int, key: Message, value: Message | None) -> None:
        """Apply one record. `offset` is -1 for a record that is not appended yet."""

    def replay_marker(self, producer_id: int, producer_epoch: int, committed: bool) -> None:
        """A transaction ended here."""

    def loaded(self, now: Instant) -> Decision[None]:
        """The log was read to its end: start sessions, decide what the new leader must do."""

    def deadline(self) -> float | None:
        """When `tick` is wanted next, in seconds of the monotonic clock."""

    def tick(self, now: Instant) -> Decision[None]:
        """Time has passed."""
