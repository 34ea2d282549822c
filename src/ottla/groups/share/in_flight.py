"""A share group's queue over one partition: records are taken, answered, given back, given up.

Pure. `delivery` has the state of one record, `window` of all that are in flight; `acquiring` and
`acknowledging` change them. A `StateChange` has to be written down and then completed.
"""

from collections.abc import Iterable, Sequence

from ottla.groups.share.acknowledging import Answer, Answering, complete, give_back_late
from ottla.groups.share.acquiring import Span, Taking, acquire, without
from ottla.groups.share.delivery import Acquired, DeliveryState, StateChange
from ottla.groups.share.window import Window


class InFlight(Window):
    def acquire(
        self,
        taking: Taking,
        fetch_offset: int,
        read: Sequence[Span],
        hidden: Sequence[Span] = (),
    ) -> list[Acquired]:
        """Lock what is free of the batches that were read from `fetch_offset` on; the `hidden`
        ones nobody may see: they are done."""
        acquired = acquire(self, taking, fetch_offset, read)
        if not acquired or not hidden:
            return acquired
        for first, last in hidden:
            self.archive(first, last, state=DeliveryState.ACQUIRED)
        if self.in_flight_count >= self.locks_max:
            self.advance()  # nobody will answer for them: the queue must not stand still
        return without(acquired, hidden)

    def acknowledge(
        self, member: str, answers: Iterable[Answer], now: float, renewed_until: float | None
    ) -> StateChange:
        """KafkaError where the records are not this member's to answer for: none is answered."""
        change = Answering(self, member, now, renewed_until).acknowledge(answers)
        if renewed_until is not None:
            self.expect(renewed_until)
        return change

    def release(self, member: str, now: float) -> StateChange:
        """A member is gone: others may have what it had."""
        return Answering(self, member, now, None).release()

    def tick(self, now: float) -> StateChange:
        """Locks that ran out."""
        return give_back_late(self, now)

    def complete(self, change: StateChange, now: float, *, is_written: bool) -> None:
        complete(self, change.begun, now, is_written=is_written)
        if is_written or not change.begun:
            self.advance()
