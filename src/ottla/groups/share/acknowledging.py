"""What members answer for records they took, and what becomes of records nobody answered for."""

from collections.abc import Iterable, Sequence
from enum import IntEnum

from ottla.errors import ErrorCode, KafkaError
from ottla.groups.share.delivery import (
    Delivery,
    DeliveryState,
    InFlightBatch,
    StateBatch,
    StateChange,
    joined,
)
from ottla.groups.share.window import Window


class Acknowledge(IntEnum):
    GAP = 0
    ACCEPT = 1
    RELEASE = 2
    REJECT = 3
    RENEW = 4


BECOMES = {
    Acknowledge.GAP: DeliveryState.ARCHIVED,
    Acknowledge.ACCEPT: DeliveryState.ACKNOWLEDGED,
    Acknowledge.RELEASE: DeliveryState.AVAILABLE,
    Acknowledge.REJECT: DeliveryState.ARCHIVED,
}
Answer = tuple[int, int, Sequence[int]]
"""First and last offset, and one type for all of them or one for each."""


class Answering:
    """One request's answers for one window: all are begun, or none."""

    def __init__(
        self, window: Window, member: str, now: float, renewed_until: float | None
    ) -> None:
        self._window = window
        self._member = member
        self._now = now
        self._renewed_until = renewed_until  # None: locks are not renewed in this group
        self._batches: list[StateBatch] = []
        self._begun: list[Delivery] = []

    def acknowledge(self, answers: Iterable[Answer]) -> StateChange:
        try:
            for answer in answers:
                if answer[1] >= self._window.start_offset:
                    self._answer(answer)
        except KafkaError:
            complete(self._window, self._begun, self._now, is_written=False)
            raise
        return self._change()

    def release(self) -> StateChange:
        """The member is gone: others may have what it had."""
        start = self._window.start_offset
        for batch in self._window.batches:
            if batch.first < start <= batch.last and self._is_mine(batch.at(start)):
                batch.split()
            for first, last, delivery in batch.runs():
                if self._is_mine(delivery):
                    self._begin(first, last, delivery, Acknowledge.RELEASE, is_gone=last < start)
        return self._change()

    def _is_mine(self, delivery: Delivery) -> bool:
        return delivery.state is DeliveryState.ACQUIRED and delivery.member == self._member

    def _change(self) -> StateChange:
        window = self._window
        complete = window.complete_count()
        return StateChange(window.start_offset, joined(self._batches), complete, self._begun)

    def _answer(self, answer: Answer) -> None:
        first, last, types = answer
        for batch in self._answered_batches(first, last):
            if batch.last < self._window.start_offset:
                continue
            if batch.whole is not None:
                self._check(batch.whole)
                is_part = batch.first < first or batch.last > last or len(types) > 1
                is_part |= batch.first < self._window.start_offset
                if not is_part:
                    self._settle(batch.first, batch.last, batch.whole, types[0])
                    continue
                batch.split()
            for offset, delivery in batch.between(max(first, self._window.start_offset), last):
                self._check(delivery)
                kind = types[offset - first] if len(types) > 1 else types[0]
                self._settle(offset, offset, delivery, kind)

    def _answered_batches(self, first: int, last: int) -> list[InFlightBatch]:
        window = self._window
        found = window.floor(first)
        if found < 0 and first < window.start_offset <= last:
            found = window.floor(window.start_offset)
        if found < 0:
            raise KafkaError(
                ErrorCode.INVALID_RECORD_STATE, "Nobody holds records as old as these."
            )
        batches = window.batches[found : window.floor(last) + 1]
        if batches[-1].last < last:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "The records were never given out.")
        return batches

    def _check(self, delivery: Delivery) -> None:
        if delivery.state is not DeliveryState.ACQUIRED or delivery.member != self._member:
            raise KafkaError(
                ErrorCode.INVALID_RECORD_STATE, "The records are not locked by this member."
            )

    def _settle(self, first: int, last: int, delivery: Delivery, kind: int) -> None:
        if kind != Acknowledge.RENEW:
            self._begin(first, last, delivery, Acknowledge(kind))
        elif self._renewed_until is None:
            raise KafkaError(ErrorCode.INVALID_RECORD_STATE, "Locks are not renewed in this group.")
        else:
            delivery.deadline = self._renewed_until

    def _begin(
        self, first: int, last: int, delivery: Delivery, kind: Acknowledge, *, is_gone: bool = False
    ) -> None:
        state = DeliveryState.ARCHIVED if is_gone else BECOMES[kind]
        delivery.begin(state, self._window.delivery_limit)
        self._begun.append(delivery)
        self._batches.append(StateBatch(first, last, delivery.state, delivery.count))


def complete(window: Window, begun: Iterable[Delivery], now: float, *, is_written: bool) -> None:
    for delivery in begun:
        delivery.finish(is_written, window.delivery_limit, now)
        if delivery.state is DeliveryState.AVAILABLE:
            window.may_have_available = True
        if delivery.deadline is not None:
            window.expect(delivery.deadline)


def give_back_late(window: Window, now: float) -> StateChange:
    """Locks that ran out."""
    start, limit = window.start_offset, window.delivery_limit
    given_back: list[StateBatch] = []
    for batch in window.batches:
        if batch.first < start <= batch.last and _is_late(batch.at(start), now):
            batch.split()
        for first, last, delivery in batch.runs():
            if _is_late(delivery, now):
                delivery.give_back(limit, is_gone=last < start)
                given_back.append(StateBatch(first, last, delivery.state, delivery.count))
                window.may_have_available |= delivery.is_available
    window.look_for_deadline()
    return StateChange(start, joined(given_back), window.complete_count())


def _is_late(delivery: Delivery, now: float) -> bool:
    return (
        delivery.state is DeliveryState.ACQUIRED
        and delivery.deadline is not None
        and delivery.deadline <= now
    )
