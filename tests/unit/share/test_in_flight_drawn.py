"""A share group's queue against a plain model: whatever is taken, answered or lost."""

from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from ottla.errors import KafkaError
from ottla.groups.share.acknowledging import Acknowledge
from ottla.groups.share.delivery import DeliveryState, StateBatch, StateChange
from unit.share.in_flight_model import (
    ACCEPT,
    AVAILABLE,
    DONE,
    LOCK_S,
    RELEASE,
    Model,
    Queue,
    everything_is_delivered_in_the_end,
)


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
    everything_is_delivered_in_the_end(model, queue, now)


def _agree(model: Model, queue: Queue) -> None:
    assert queue.start_offset <= model.start()
    for first, last, state, deliveries in queue.runs():
        for offset in range(max(first, queue.start_offset), last + 1):
            record = model.records[offset]
            assert record.deliveries == deliveries
            assert record.is_done == (state in (DONE, DeliveryState.ARCHIVED))
            assert (record.holder is not None) == (state is DeliveryState.ACQUIRED)
    assert all(record.deliveries == 0 for record in model.records[queue.end_offset :])


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
    everything_is_delivered_in_the_end(storm.model, storm.queue, storm.now)
