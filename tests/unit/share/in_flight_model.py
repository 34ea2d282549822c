"""A share group's queue over one partition as tests use it, and a plain model of it."""

from collections.abc import Sequence

from ottla.groups.share.acknowledging import Acknowledge, Answer
from ottla.groups.share.acquiring import Span, Taking, isolation_limit
from ottla.groups.share.delivery import Acquired, DeliveryState, StateChange
from ottla.groups.share.in_flight import InFlight

ACCEPT, RELEASE, REJECT = [Acknowledge.ACCEPT], [Acknowledge.RELEASE], [Acknowledge.REJECT]
AVAILABLE, DONE = DeliveryState.AVAILABLE, DeliveryState.ACKNOWLEDGED
LOCK_S = 30.0


class Queue(InFlight):
    """What changes is written down at once, unless told."""

    def take(
        self,
        member: str,
        read: Sequence[Span],
        records_max: int = 500,
        *,
        at: float = 0.0,
        is_record_limit: bool = False,
        hidden: Sequence[Span] = (),
    ) -> list[Acquired]:
        taking = Taking(
            member, records_max, at + LOCK_S, batch_size=500, is_record_limit=is_record_limit
        )
        return self.acquire(taking, self.next_fetch_offset, read, hidden)

    def answer(self, member: str, *answers: Answer, at: float = 0.0) -> StateChange:
        change = self.acknowledge(member, answers, at, at + LOCK_S)
        self.complete(change, at, is_written=True)
        return change


class Record:
    """What there is to know of one record, without batches."""

    def __init__(self) -> None:
        self.deliveries = 0
        self.holder: str | None = None
        self.until = 0.0
        self.is_done = False
        self.is_changing = False  # an answer is on its way to be written


class Model:
    """A log of records in batches, and what becomes of each. It does not know how many are given
    out at once, but what must hold of those that are."""

    def __init__(self, sizes: list[int], limit: int) -> None:
        self.limit = limit
        self.batches: list[Span] = []
        for size in sizes:
            start = self.batches[-1][1] + 1 if self.batches else 0
            self.batches.append((start, start + size - 1))
        self.records = [Record() for _ in range(sum(sizes))]

    def read_from(self, offset: int, count: int) -> list[Span]:
        found = [span for span in self.batches if span[1] >= offset]
        return found[:count]

    def taken(self, member: str, acquired: list[Acquired], now: float) -> None:
        offsets = [one for run in acquired for one in range(run.first, run.last + 1)]
        assert len(offsets) == len(set(offsets))
        for first, last, deliveries in acquired:
            for record in self.records[first : last + 1]:
                assert record.holder is None
                assert not record.is_done
                assert not record.is_changing
                record.deliveries += 1
                record.holder, record.until = member, now + LOCK_S
                assert record.deliveries == deliveries <= self.limit
        counts = [self.records[offset].deliveries for offset in offsets]
        if self.limit > 2 and self.limit in counts:
            assert len(counts) == 1, "the last delivery of a record is its own"
        late = [count for count in counts if count > isolation_limit(self.limit)]
        if late and len(late) == len(counts):
            largest = max(last - first + 1 for first, last in self.batches) * len(self.batches)
            assert len(counts) <= max(1, largest >> (late[0] - isolation_limit(self.limit)))

    def given_back(self, record: Record) -> None:
        record.holder = None
        record.is_done |= record.deliveries >= self.limit

    def answered(self, member: str, offset: int, kind: Acknowledge) -> None:
        record = self.records[offset]
        assert record.holder == member
        if kind is Acknowledge.RELEASE:
            self.given_back(record)
        else:
            record.holder, record.is_done = None, True

    def start(self) -> int:
        """No record before it is of any interest."""
        undone = (n for n, record in enumerate(self.records) if not record.is_done)
        return next(undone, len(self.records))


def everything_is_delivered_in_the_end(model: Model, queue: Queue, now: float) -> None:
    for member in "ab":
        queue.complete(queue.release(member, now), now, is_written=True)
        for record in model.records:
            if record.holder == member:
                model.given_back(record)
    for _ in range(len(model.records) * model.limit):
        read = model.read_from(queue.next_fetch_offset, 99)
        acquired = queue.take("c", read, at=now)
        model.taken("c", acquired, now)
        for first, last, _ in acquired:
            queue.answer("c", (first, last, ACCEPT), at=now)
            for offset in range(first, last + 1):
                model.answered("c", offset, Acknowledge.ACCEPT)
    assert model.start() == len(model.records)
    end = len(model.records)
    assert queue.next_fetch_offset == end
    assert queue.take("c", [(end, end)], at=now) == [Acquired(end, end, 1)]
    queue.answer("c", (end, end, ACCEPT), at=now)
    assert queue.start_offset == end + 1
