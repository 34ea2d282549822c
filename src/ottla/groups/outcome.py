"""What a decision gathers on its way, and who asked for it."""

from typing import NamedTuple, TypeVar

from ottla.coordination.machine import Answer, CoordinatorRecord, Decision, Later, Ticket

R = TypeVar("R")


class Caller(NamedTuple):
    """The client behind a request."""

    client_id: str
    client_host: str  # as Kafka writes it: with a slash in front
    api_version: int


class Outcome:
    """Records and answers that one event leads to."""

    __slots__ = ("answers", "records")

    def __init__(self) -> None:
        self.records: list[CoordinatorRecord] = []
        self.answers: list[Answer] = []

    def answer(self, ticket: Ticket, reply: object) -> None:
        self.answers.append(Answer(ticket, reply))

    def decision(self, reply: "R | Later") -> Decision[R]:
        return Decision(self.records, reply, self.answers)
