"""Who waits for an answer of a shard, and how each gets it: a reply, or a refusal."""

import asyncio
from collections.abc import Sequence
from typing import Any

from ottla.coordination.machine import Answer
from ottla.errors import ErrorCode, KafkaError

_COORDINATOR_ERRORS = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
}


def as_coordinator(error: KafkaError) -> KafkaError:
    """What befell the partition, in the words of who coordinates on it."""
    return KafkaError(_COORDINATOR_ERRORS.get(error.code, error.code), error.message)


class Replies:
    """Tickets are futures of the event loop; one whose asker is gone is passed over."""

    __slots__ = ("_parked",)

    def __init__(self) -> None:
        self._parked: dict[asyncio.Future[Any], None] = {}
        """A machine keeps these to answer them later; where it is dropped, so are they, in this
        order."""

    def park(self, ticket: "asyncio.Future[Any]") -> None:
        self._parked[ticket] = None

    def resolve(self, answers: Sequence[Answer]) -> None:
        for ticket, reply in answers:
            self._parked.pop(ticket, None)
            if ticket.done():
                continue  # who asked is gone
            if isinstance(reply, Exception):
                ticket.set_exception(reply)
            else:
                ticket.set_result(reply)

    def refuse(self, answers: Sequence[Answer], refusal: KafkaError) -> None:
        self.resolve([Answer(ticket, refusal) for ticket, _ in answers])

    def refuse_parked(self, refusal: KafkaError) -> None:
        self.resolve([Answer(ticket, refusal) for ticket in self._parked])
