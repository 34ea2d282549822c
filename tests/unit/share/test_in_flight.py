"""A share group's queue over one partition: taken, answered, given back, given up."""

from collections.abc import Sequence
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ottla.errors import ErrorCode, KafkaError
from ottla.groups.share.acknowledging import Acknowledge, Answer
from ottla.groups.share.acquiring import Span, Taking, isolation_limit
from ottla.groups.share.delivery import Acquired, DeliveryState, StateBatch, StateChange
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


def test_new_records_are_taken_once() -> None:
    queue = Queue(0)
    assert queue.take("a", [(0, 9)]) == [Acquired(0, 9, 1)]
    assert queue.next_fetch_offset == 10
    assert queue.take("b", [(0, 9)]) == []


def test_accepted_records_move_the_start_once_that_is_written() -> None:
    queue = Queue(0)
    queue.take("a", [(0, 9)])
    change = queue.answer("a", (5, 9, ACCEPT))
    assert change[:3] == (0, [StateBatch(5, 9, DONE, 1)], 5)
    change = queue.acknowledge("a", [(0, 4, ACCEPT)], 0.0, None)
    assert change[:3] == (0, [StateBatch(0, 4, DONE, 1)], 10)
    assert queue.start_offset == 0
    queue.complete(change, 0.0, is_written=True)
    assert queue.start_offset == 10


def test_an_answer_that_could_not_be_written_was_not_given() -> None:
    queue = Queue(0)
    queue.take("a", [(0, 9)])
    change = queue.acknowledge("a", [(0, 4, ACCEPT), (5, 9, RELEASE)], 0.0, None)
    assert queue.next_fetch_offset == 10  # nobody takes what may still be taken back
    queue.complete(change, 1.0, is_written=False)
    assert {run.state for run in queue.runs()} == {DeliveryState.ACQUIRED}
    assert queue.answer("a", (0, 9, ACCEPT)).batches == [StateBatch(0, 9, DONE, 1)]


def test_a_lock_that_runs_out_while_an_answer_is_written_in_vain_is_gone() -> None:
    queue = Queue(0)
    queue.take("a", [(0, 9)])
    change = queue.acknowledge("a", [(0, 9, ACCEPT)], 29.0, None)
    assert queue.tick(30.0).batches == []
    queue.complete(change, 31.0, is_written=False)
    assert queue.take("b", [(0, 9)]) == [Acquired(0, 9, 2)]


def test_a_lock_whose_answer_is_being_written_is_not_waited_for() -> None:
    queue = Queue(0)
    queue.take("a", [(0, 9)])
    change = queue.acknowledge("a", [(0, 9, ACCEPT)], 29.0, None)
    queue.tick(30.0)
    assert queue.deadline() is None  # else it would be due again at once, until that is written
    queue.complete(change, 31.0, is_written=True)
    assert queue.deadline() is None


def test_a_lock_is_waited_for_again_when_its_answer_could_not_be_written() -> None:
    queue = Queue(0)
    queue.take("a", [(0, 9)])
    queue.take("b", [(10, 19)], at=5.0)
    change = queue.acknowledge("b", [(10, 19, ACCEPT)], 29.0, None)
    queue.tick(30.0)
    queue.complete(change, 31.0, is_written=False)
    assert queue.deadline() == 35.0
    assert queue.tick(35.0).batches == [StateBatch(10, 19, AVAILABLE, 1)]


def test_released_records_are_delivered_again_and_counted() -> None:
    queue = Queue(0)
    queue.take("a", [(0, 9)])
    queue.answer("a", (0, 9, [1, 2] * 5))
    assert queue.next_fetch_offset == 1
    assert queue.take("b", [(0, 9)], 2, is_record_limit=True) == [
        Acquired(1, 1, 2),
        Acquired(3, 3, 2),
    ]


def test_a_lock_runs_out() -> None:
    queue = Queue(0)
    queue.take("a", [(0, 9)])
    assert queue.deadline() == 30.0
    assert queue.tick(29.9).batches == []
    assert queue.tick(30.0).batches == [StateBatch(0, 9, AVAILABLE, 1)]
    with pytest.raises(KafkaError) as refusal:
        queue.answer("a", (0, 9, ACCEPT))
    assert refusal.value.code is ErrorCode.INVALID_RECORD_STATE


def test_a_renewed_lock_lasts_longer() -> None:
    queue = Queue(0)
    queue.take("a", [(0, 9)])
    assert queue.answer("a", (0, 9, [Acknowledge.RENEW]), at=20.0).batches == []
    assert queue.tick(30.0).batches == []
    assert queue.deadline() == 50.0


def test_locks_are_not_renewed_where_that_is_switched_off() -> None:
    queue = Queue(0)
    queue.take("a", [(0, 9)])
    with pytest.raises(KafkaError) as refusal:
        queue.acknowledge("a", [(0, 9, [Acknowledge.RENEW])], 0.0, None)
    assert refusal.value.code is ErrorCode.INVALID_RECORD_STATE


def test_records_delivered_too_often_are_given_up() -> None:
    queue = Queue(0, delivery_limit=2)
    for _ in range(2):
        queue.take("a", [(0, 0)])
        queue.answer("a", (0, 0, RELEASE))
    assert queue.start_offset == 1


def test_records_near_the_delivery_limit_are_given_out_in_smaller_and_smaller_parts() -> None:
    queue = Queue(0, delivery_limit=10)
    seen = []
    for _ in range(10):
        (run,) = queue.take("a", [(0, 31)])
        seen.append(run)
        queue.answer("a", (run.first, run.last, RELEASE))
    assert seen[:5] == [Acquired(0, 31, count) for count in range(1, 6)]
    assert seen[5:] == [Acquired(0, 32 // 2**part - 1, 5 + part) for part in range(1, 6)]


def test_a_poison_record_does_not_take_its_neighbours_with_it() -> None:
    queue = Queue(0)
    given_up: set[int] = set()
    accepted: set[int] = set()
    while queue.start_offset < 10:
        for run in queue.take("a", [(0, 9)]):
            for offset in range(run.first, run.last + 1):
                is_poison = run.first <= 3 <= run.last  # who has it crashes, and answers nothing
                queue.answer("a", (offset, offset, RELEASE if is_poison else ACCEPT))
                (given_up if is_poison and run.deliveries == 5 else accepted).add(offset)
    assert given_up == {3}


def test_nobody_answers_for_another() -> None:
    queue = Queue(0)
    queue.take("a", [(0, 9)])
    with pytest.raises(KafkaError) as refusal:
        queue.answer("b", (0, 9, ACCEPT))
    assert refusal.value.code is ErrorCode.INVALID_RECORD_STATE
    with pytest.raises(KafkaError) as refusal:
        queue.answer("b", (5, 12, ACCEPT))
    assert refusal.value.code is ErrorCode.INVALID_REQUEST
    assert list(queue.runs()) == [StateBatch(0, 9, DeliveryState.ACQUIRED, 1)]


def test_answers_are_taken_all_or_none() -> None:
    queue = Queue(0)
    queue.take("a", [(0, 9)])
    queue.take("b", [(10, 19)])
    with pytest.raises(KafkaError):
        queue.answer("a", (0, 9, ACCEPT), (10, 19, ACCEPT))
    assert queue.start_offset == 0
    assert queue.answer("a", (0, 9, ACCEPT)).batches


def test_what_was_locked_is_free_for_the_next_leader() -> None:
    queue = Queue(0)
    queue.take("a", [(0, 9)])
    change = queue.answer("a", (2, 3, ACCEPT), (5, 5, REJECT), (7, 7, RELEASE))
    heir = Queue(change.start_offset, change.batches)
    assert heir.next_fetch_offset == 0
    assert heir.end_offset == 8
    assert heir.take("b", [(0, 9)]) == [
        Acquired(0, 1, 1),
        Acquired(4, 4, 1),
        Acquired(6, 6, 1),
        Acquired(7, 7, 2),
        Acquired(8, 9, 1),
    ]


def test_offsets_that_were_compacted_away_are_not_waited_for() -> None:
    queue = Queue(0, [StateBatch(0, 4, AVAILABLE, 1), StateBatch(5, 7, AVAILABLE, 1)])
    assert queue.next_fetch_offset == 0
    assert queue.take("a", [(5, 7)]) == [Acquired(5, 7, 2)]
    queue.answer("a", (5, 7, ACCEPT))
    assert queue.start_offset == 8


def test_too_many_records_under_way_stop_the_queue() -> None:
    queue = Queue(0, locks_max=10)
    queue.take("a", [(0, 9)])
    assert not queue.can_acquire
    queue.answer("a", (0, 4, ACCEPT))
    assert queue.can_acquire
    assert queue.next_fetch_offset == 10


def test_what_comes_back_is_taken_even_if_too_much_is_under_way() -> None:
    queue = Queue(0, locks_max=10)
    queue.take("a", [(0, 9)])
    queue.answer("a", (5, 6, RELEASE))
    assert queue.can_acquire
    assert queue.take("b", [(0, 19)]) == [Acquired(5, 6, 2)]


def test_records_of_aborted_transactions_are_done_without_being_seen() -> None:
    queue = Queue(0)
    assert queue.take("a", [(0, 4), (5, 6), (7, 9)], hidden=[(5, 6)]) == [
        Acquired(0, 4, 1),
        Acquired(7, 9, 1),
    ]
    queue.answer("a", (0, 4, ACCEPT), (7, 9, ACCEPT))
    assert queue.start_offset == 10


def test_hidden_records_alone_do_not_stop_the_queue() -> None:
    queue = Queue(0, locks_max=10)
    assert queue.take("a", [(0, 9)], hidden=[(0, 9)]) == []
    assert queue.can_acquire


def test_retention_takes_records_away() -> None:
    queue = Queue(0)
    queue.take("a", [(0, 9)])
    queue.log_starts_at(5)
    assert queue.start_offset == 5
    assert queue.answer("a", (0, 9, ACCEPT)).batches == [StateBatch(5, 9, DONE, 1)]
    queue.complete(queue.tick(30.0), 30.0, is_written=True)
    assert queue.start_offset == 10


def test_a_lock_on_records_that_retention_took_ends_with_them() -> None:
    queue = Queue(0)
    queue.take("a", [(0, 9)])
    queue.log_starts_at(5)
    assert queue.tick(30.0).batches == [
        StateBatch(0, 4, DeliveryState.ARCHIVED, 1),
        StateBatch(5, 9, AVAILABLE, 1),
    ]
    assert queue.next_fetch_offset == 5


# -- against a plain model --------------------------------------------------------------------


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


class Step(NamedTuple):
    what: str
    member: str
    offset: int
    size: int


steps = st.lists(
    st.builds(
        Step,
        st.sampled_from(["take"] * 4 + ["accept", "release", "release", "reject", "wait", "gone"]),
        st.sampled_from("ab"),
        st.integers(0, 40),
        st.integers(1, 12),
    ),
    max_size=80,
)


@settings(deadline=None)
@given(
    st.lists(st.integers(1, 8), min_size=1, max_size=6),
    st.integers(2, 7),
    st.booleans(),
    st.booleans(),
    steps,
)
def test_every_delivery_is_counted_and_the_last_one_is_a_record_s_own(
    sizes: list[int], limit: int, is_record_limit: bool, is_reliable: bool, steps: list[Step]
) -> None:
    model, queue, now = Model(sizes, limit), Queue(0, delivery_limit=limit), 0.0
    for what, member, offset, size in steps:
        if what == "take":
            read = model.read_from(queue.next_fetch_offset, size)
            acquired = queue.take(member, read, size, at=now, is_record_limit=is_record_limit)
            model.taken(member, acquired, now)
            if is_record_limit:
                assert sum(run.last - run.first + 1 for run in acquired) <= size
        elif what in ("accept", "release", "reject"):
            kind, last = Acknowledge[what.upper()], min(offset + size, len(model.records)) - 1
            mine = [
                model.records[one].holder == member
                for one in range(offset, last + 1)
                if one >= queue.start_offset
            ]
            try:
                change = queue.acknowledge(member, [(offset, last, [kind])], now, None)
            except KafkaError:
                assert not all(mine) or offset > last
                continue
            assert all(mine)
            is_written = is_reliable or size % 2 == 0
            queue.complete(change, now, is_written=is_written)
            for one in range(offset, last + 1) if is_written else ():
                if model.records[one].holder == member:
                    model.answered(member, one, kind)
        elif what == "wait":
            now += size * 5.0
            queue.complete(queue.tick(now), now, is_written=True)
            for record in model.records:
                if record.holder is not None and record.until <= now:
                    model.given_back(record)
        else:
            change = queue.release(member, now)
            queue.complete(change, now, is_written=True)
            for record in model.records:
                if record.holder == member:
                    model.given_back(record)
        _agree(model, queue)
    _everything_is_delivered_in_the_end(model, queue, now)


def _agree(model: Model, queue: Queue) -> None:
    assert queue.start_offset <= model.start()
    for first, last, state, deliveries in queue.runs():
        for offset in range(max(first, queue.start_offset), last + 1):
            record = model.records[offset]
            assert record.deliveries == deliveries
            assert record.is_done == (state in (DONE, DeliveryState.ARCHIVED))
            assert (record.holder is not None) == (state is DeliveryState.ACQUIRED)
    assert all(record.deliveries == 0 for record in model.records[queue.end_offset :])


def _everything_is_delivered_in_the_end(model: Model, queue: Queue, now: float) -> None:
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


@settings(deadline=None)
@given(st.lists(st.integers(1, 8), min_size=1, max_size=5), steps)
def test_the_next_leader_goes_on_where_the_last_one_was(
    sizes: list[int], steps: list[Step]
) -> None:
    """What was answered stays answered, with its count; only locks are forgotten."""
    model, queue = Model(sizes, 5), Queue(0)
    written: dict[int, tuple[DeliveryState, int]] = {}
    start = 0
    for what, member, offset, size in steps:
        if what == "take":
            queue.take(member, model.read_from(queue.next_fetch_offset, size), size)
            continue
        kind = Acknowledge.RELEASE if what == "release" else Acknowledge.ACCEPT
        try:
            change = queue.answer(member, (offset, offset + size - 1, [kind]))
        except KafkaError:
            continue
        start = change.start_offset
        for first, last, state, deliveries in change.batches:
            written |= dict.fromkeys(range(first, last + 1), (state, deliveries))
        heir = Queue(
            start, [StateBatch(one, one, *written[one]) for one in sorted(written) if one >= start]
        )
        assert all(written[one][0] is not AVAILABLE for one in range(start, heir.start_offset))
        known = {run.first: (run.state, run.deliveries) for run in heir.runs()}
        assert known == {one: written[one] for one in written if one >= heir.start_offset}
        free = [one for one in range(heir.start_offset, heir.end_offset) if one not in known]
        free += [one for one, (state, _) in known.items() if state is AVAILABLE]
        assert heir.next_fetch_offset == min(free, default=heir.end_offset)


class Turn(NamedTuple):
    """A member takes records, and something becomes of them."""

    member: str
    records_max: int
    read: int  # so many batches
    outcome: str
    is_late: bool  # others take records while it is written
    is_written: bool


turns = st.lists(
    st.builds(
        Turn,
        st.sampled_from("ab"),
        st.integers(1, 9),
        st.integers(1, 4),
        st.sampled_from(["release"] * 6 + ["accept the first", "accept", "run out", "new leader"]),
        st.booleans(),
        st.sampled_from([True, True, True, False]),
    ),
    max_size=60,
)


class Storm:
    """Deliveries that nearly always fail, leaders that change, writes that are slow or fail."""

    def __init__(self, sizes: list[int], limit: int, is_record_limit: bool) -> None:
        self.model = Model(sizes, limit)
        self.queue = Queue(0, delivery_limit=limit)
        self.is_record_limit = is_record_limit
        self.now = 0.0
        self.written: dict[int, tuple[DeliveryState, int]] = {}
        self.start = 0
        self.under_way: list[tuple[StateChange, Turn]] = []

    def run(self, turn: Turn) -> None:
        model, queue = self.model, self.queue
        read = model.read_from(queue.next_fetch_offset, turn.read)
        acquired = queue.take(
            turn.member, read, turn.records_max, at=self.now, is_record_limit=self.is_record_limit
        )
        model.taken(turn.member, acquired, self.now)
        if turn.outcome == "new leader":
            self.lead_anew()
        elif turn.outcome == "run out":
            self.finish()
            self.now += LOCK_S
            self.settle(queue.tick(self.now), turn)
        else:
            for first, last, _ in acquired:
                self.answer(first, last, turn)
        if not turn.is_late:
            self.finish()
        assert self.queue.start_offset <= model.start()

    def answer(self, first: int, last: int, turn: Turn) -> None:
        if turn.outcome == "accept the first":
            answers = [(first, first, ACCEPT)]
            answers += [(first + 1, last, RELEASE)] if last > first else []
        else:
            answers = [(first, last, ACCEPT if turn.outcome == "accept" else RELEASE)]
        self.settle(self.queue.acknowledge(turn.member, answers, self.now, None), turn)

    def settle(self, change: StateChange, turn: Turn) -> None:
        """Locks that ran out are over whether that is written or not."""
        for first, last, state, _ in change.batches:
            for record in self.model.records[first : last + 1]:
                record.is_changing, record.holder = bool(change.begun), None
                record.is_done |= not change.begun and state is DeliveryState.ARCHIVED
        self.under_way.append((change, turn))

    def finish(self) -> None:
        for change, turn in self.under_way:
            is_written = turn.is_written or not change.begun
            self.queue.complete(change, self.now, is_written=is_written)
            for first, last, state, deliveries in change.batches:
                for offset in range(first, last + 1):
                    record = self.model.records[offset]
                    if is_written:
                        self.written[offset] = (state, deliveries)
                    if change.begun:
                        record.is_changing = False
                        record.is_done = is_written and state in (DONE, DeliveryState.ARCHIVED)
                        record.holder = None if is_written else turn.member
            if is_written:
                self.start = max(self.start, change.start_offset)
        self.under_way.clear()

    def lead_anew(self) -> None:
        """What was not written is forgotten: locks, and deliveries nobody answered for."""
        self.finish()
        kept = [
            StateBatch(offset, offset, *self.written[offset])
            for offset in sorted(self.written)
            if offset >= self.start
        ]
        self.queue = Queue(self.start, kept, delivery_limit=self.model.limit)
        for offset, record in enumerate(self.model.records):
            state, record.deliveries = self.written.get(offset, (AVAILABLE, 0))
            record.is_done = offset < self.start or state in (DONE, DeliveryState.ARCHIVED)
            record.holder = None


@settings(deadline=None)
@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=4),
    st.integers(2, 6),
    st.booleans(),
    turns,
)
def test_records_that_nobody_can_process_are_isolated_and_given_up(
    sizes: list[int], limit: int, is_record_limit: bool, turns: list[Turn]
) -> None:
    storm = Storm(sizes, limit, is_record_limit)
    for turn in turns:
        storm.run(turn)
    storm.lead_anew()
    _everything_is_delivered_in_the_end(storm.model, storm.queue, storm.now)


def test_a_batch_of_the_log_is_taken_whole_unless_told() -> None:
    assert Queue(0).take("a", [(0, 4), (5, 9)], 2) == [Acquired(0, 4, 1)]
    assert Queue(0).take("a", [(0, 4), (5, 9)], 2, is_record_limit=True) == [Acquired(0, 1, 1)]


def test_what_was_never_answered_is_given_out_by_the_next_leader() -> None:
    heir = Queue(0, [StateBatch(0, 1, DONE, 1), StateBatch(4, 5, DONE, 1)])
    assert (heir.start_offset, heir.next_fetch_offset) == (2, 2)
    assert heir.take("a", [(0, 5)]) == [Acquired(2, 3, 1)]


def test_the_last_delivery_of_a_record_is_shared_with_no_other_of_its_batch() -> None:
    queue = Queue(0, delivery_limit=4)

    def take(count: int) -> list[Acquired]:
        return queue.take("a", [(0, 15)], count, is_record_limit=True)

    assert take(2) == [Acquired(0, 1, 1)]
    for deliveries in (2, 3):
        queue.answer("a", (1, 1, RELEASE))
        assert take(1) == [Acquired(1, 1, deliveries)]
    queue.answer("a", (0, 1, RELEASE))
    assert queue.take("b", [(0, 15)]) == [Acquired(0, 0, 2)]  # the next one is at its last
    assert queue.take("c", [(0, 15)]) == [Acquired(1, 1, 4)]  # and has no company
    assert queue.take("d", [(0, 15)]) == [Acquired(2, 15, 1)]


def test_a_record_near_its_last_delivery_waits_for_a_request_of_its_own() -> None:
    queue = Queue(
        0, [StateBatch(0, 1, AVAILABLE, 1), StateBatch(2, 3, AVAILABLE, 3)], delivery_limit=4
    )
    read = [(0, 1), (2, 3), (4, 5)]
    assert queue.take("a", read) == [Acquired(0, 1, 2)]
    assert queue.take("b", read[1:]) == [Acquired(2, 2, 4)]
    assert queue.take("c", read[1:]) == [Acquired(3, 3, 4)]
    assert queue.take("d", read[2:]) == [Acquired(4, 5, 1)]
