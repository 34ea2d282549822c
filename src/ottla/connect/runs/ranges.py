"""Which offsets a sink is given next. Pure: told of positions, ends and what became of a job."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ottla.connect.connector import ConnectError, TopicPartition

RANGE_FIRST = 100_000  # offsets of a partition in one job; then as many as take so long:
JOB_S_MIN, JOB_S_MAX = 2.0, 8.0
RANGE_MIN, RANGE_MAX = 10_000, 4_000_000
TIMES_MAX = 4  # as many in the next job, at most
Bounds = Mapping[TopicPartition, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Start:
    """Where to begin, and where the target has to be told of it."""

    positions: dict[TopicPartition, int]
    moved: dict[TopicPartition, int]


def start_at(
    bounds: Bounds,
    target: Mapping[TopicPartition, int],
    group: Mapping[TopicPartition, int],
    reset: str,
) -> Start:
    """The target's own offset, else the group's, else by auto.offset.reset.

    A group that is ahead of the target was moved by another worker, which knew nothing of what the
    target holds: it is believed, and the target told.
    """
    start = Start({}, {})
    for one, (low, end) in bounds.items():
        known = [places[one] for places in (target, group) if one in places]
        position = max(known, default=None)
        if position is None or not low <= position <= end:
            position = _reset(one, low, end, reset)
        start.positions[one] = position
        if one in target and target[one] != position:
            start.moved[one] = position
    return start


def _reset(one: TopicPartition, low: int, end: int, reset: str) -> int:
    match reset.strip().lower():
        case "earliest":
            return low
        case "latest":
            return end
    raise ConnectError(
        f"No offset of {one.topic}-{one.partition} is known, and auto.offset.reset is {reset}."
    )


@dataclass(slots=True)
class Ranges:
    positions: dict[TopicPartition, int] = field(default_factory=dict)
    _given: dict[TopicPartition, int] = field(default_factory=dict)  # up to where, last time
    _most: int = field(default_factory=lambda: RANGE_FIRST)

    def add(self, positions: Mapping[TopicPartition, int]) -> None:
        self.positions |= positions
        self._given |= positions

    def drop(self, gone: set[TopicPartition]) -> None:
        for one in gone:
            self.positions.pop(one, None)
            self._given.pop(one, None)

    @property
    def ends(self) -> dict[TopicPartition, int]:
        """Behind which there is news."""
        return dict(self._given)

    def outside(self, bounds: Bounds) -> set[TopicPartition]:
        """Where what comes next is no longer there, or not yet: the topic was made anew, or its
        records were deleted before they were read."""
        return {
            one
            for one, (low, end) in bounds.items()
            if self.positions[one] < low or self._given[one] > end
        }

    def next(self, bounds: Bounds) -> dict[TopicPartition, tuple[int, int]]:
        """What is there and was not given yet, after what was given but is not safe."""
        found = {}
        for one, (_, end) in bounds.items():
            begin, given = self.positions[one], self._given[one]
            # Who waits for more is given at least as much again as what was not safe.
            until = min(end, given + max(self._most, given - begin))
            if until > given:
                found[one] = (begin, until)
        return found

    def done(
        self,
        ranges: Mapping[TopicPartition, tuple[int, int]],
        safe: Mapping[TopicPartition, int],
        seconds: float,
    ) -> None:
        """A partition that is not told of had no records in its range: all of it is safe."""
        self._judge(max(until - self._given[one] for one, (_, until) in ranges.items()), seconds)
        for one, (_, until) in ranges.items():
            self.positions[one] = safe.get(one, until)
            self._given[one] = until

    def _judge(self, longest: int, seconds: float) -> None:
        """A job costs some time of its own, and what it has done is lost when it is cancelled."""
        if seconds > JOB_S_MAX:
            self._most = max(RANGE_MIN, self._most // 2)
        elif seconds < JOB_S_MIN and longest >= self._most:
            times = min(TIMES_MAX, JOB_S_MIN / seconds)
            self._most = min(RANGE_MAX, int(self._most * times))
