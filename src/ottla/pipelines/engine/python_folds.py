"""What runs inside Python workers for `reduce`, `aggregate` and sessions that show themselves.

State by group, and by window where there is one. Times are milliseconds since 1970; a window that
the watermark has passed is forgotten, and rows that come for it later are left out: an answer of
its own tells how many (`_late`).
"""

import json
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from ottla.pipelines.engine.keyed import ONE_ROW
from ottla.pipelines.engine.session_windows import Session, Sessions
from ottla.pipelines.runtime.failures import UserCodeError, told_in_a_line

Fields = dict[str, Any]
Fold = Callable[[Fields, Fields], Any]
GROWN = Row("_g", "_rows", "_start", "_end", "_time", "_gone", "_late")


@dataclass(frozen=True)
class Folding:
    """The user's functions, and the fields of what they fold into."""

    call: str  # what the user wrote: reduce or aggregate
    zero: Any  # None: the first row itself
    function: Callable[[Fields, Fields], Fields]
    merge: Callable[[Fields, Fields], Fields] | None
    takes: Sequence[str]
    gives: Sequence[str]

    def begin(self, row: Fields) -> Fields:
        if self.zero is None:
            return {name: row[name] for name in self.gives}
        start = self.zero() if callable(self.zero) else deepcopy(self.zero)
        return self._called(self.function, start, row)

    def fold(self, folded: Fields | None, row: Fields) -> Fields:
        return self.begin(row) if folded is None else self._called(self.function, folded, row)

    def join(self, earlier: Fields, later: Fields) -> Fields:
        assert self.merge is not None
        return self._called(self.merge, earlier, later)

    def _called(
        self, function: Callable[[Fields, Fields], Any], one: Fields, two: Fields
    ) -> Fields:
        try:
            made = function(one, two)
            if not isinstance(made, dict):
                raise TypeError(f"{self.call}() gives {type(made).__name__}, not a dictionary")
            if unknown := sorted(set(made) - {*self.gives, *self.takes}):
                raise ValueError(f"{self.call}() gives {', '.join(unknown)}, which it lacks")
        except Exception as error:
            raise UserCodeError(told_in_a_line(error)) from error
        return {name: made.get(name) for name in self.gives}

    def row(self, row: Any) -> Fields:
        return {name: plain(row[name]) for name in self.takes}

    def stored(self, folded: Fields) -> tuple[Any, ...]:
        return tuple(folded.get(name) for name in self.gives)

    def loaded(self, stored: Any) -> Fields:
        return dict(zip(self.gives, map(plain, stored), strict=True))


class GroupFolder(StatefulProcessor):
    """Keyed by a group and, where there is one, its window (`_start`, `_end`)."""

    def __init__(self, folding: Folding, types: str, *, final: bool) -> None:
        self.folding = folding
        self.types = types
        self.final = final  # told once, when the window has closed
        self.answer = Row("_g", "_start", "_end", "_time", *folding.gives, "_late")

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle
        self.folded = handle.getValueState("folded", f"_time bigint, {self.types}")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Row]:
        start, end = key[1], key[2]
        if end is not None and end <= timerValues.getCurrentWatermarkInMs():
            yield late(self.answer, sum(1 for _ in rows))  # the window is over
            return
        stored = self.folded.get()
        latest, folded = (
            (0, None) if stored is None else (stored[0], self.folding.loaded(stored[1:]))
        )
        for row in in_order(rows):
            latest = max(latest, row._time)
            folded = self.folding.fold(folded, self.folding.row(row))
        assert folded is not None
        self.folded.update((latest, *self.folding.stored(folded)))
        if end is not None:
            self.handle.registerTimer(end)
        if not self.final:
            yield self.answer(key[0], start, end, latest, *self.folding.stored(folded), None)

    def handleExpiredTimer(
        self, key: Any, timerValues: Any, expiredTimerInfo: Any
    ) -> Iterator[Row]:
        stored = self.folded.get()
        self.folded.clear()
        if self.final and stored is not None:
            yield self.answer(key[0], key[1], key[2], *stored, None)

    def close(self) -> None:
        pass


class SessionFolder(StatefulProcessor):
    """Keyed by a group: its open sessions, each folded by the user's functions."""

    def __init__(self, folding: Folding, types: str, gap_ms: int, *, growing: bool) -> None:
        self.folding = folding
        self.types = types
        self.gap_ms = gap_ms
        self.growing = growing
        self.answer = Row("_g", "_start", "_end", "_time", "_gone", *folding.gives, "_late")

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle
        value = f"_last bigint, {self.types}"
        self.sessions = handle.getMapState("sessions", "_start bigint", value)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Row]:
        sessions = self._open()
        before = {(one.start_ms, one.last_ms): one for one in sessions.open}
        watermark = timerValues.getCurrentWatermarkInMs()
        over = 0
        for row in in_order(rows):
            if row._time + self.gap_ms <= watermark:
                over += 1  # a session of it alone would be over
                continue
            fields = self.folding.row(row)
            sessions.add(row._time, lambda held, fields=fields: self.folding.fold(held, fields))  # type: ignore[misc]
        after = {(one.start_ms, one.last_ms): one for one in sessions.open}
        for start, _ in before.keys() - after.keys():
            self.sessions.removeKey((start,))
        changed = [one for place, one in after.items() if before.get(place) is not one]
        for one in changed:
            self.sessions.updateValue(
                (one.start_ms,), (one.last_ms, *self.folding.stored(one.held))
            )
            self.handle.registerTimer(one.end_ms(self.gap_ms))
        if self.growing:
            gone = [before[place] for place in sorted(before.keys() - after.keys())]
            yield from (self._told(key, one, gone=True) for one in gone)
            changed.sort(key=lambda one: one.start_ms)
            yield from (self._told(key, one) for one in changed)
        if over:
            yield late(self.answer, over)

    def handleExpiredTimer(
        self, key: Any, timerValues: Any, expiredTimerInfo: Any
    ) -> Iterator[Row]:
        for one in self._open().close(timerValues.getCurrentWatermarkInMs()):
            self.sessions.removeKey((one.start_ms,))
            if not self.growing:
                yield self._told(key, one)

    def _open(self) -> Sessions[Fields]:
        stored = [
            Session(start, value[0], self.folding.loaded(value[1:]))
            for (start,), value in self.sessions.iterator()
        ]
        return Sessions(self.gap_ms, self.folding.join, stored)

    def _told(self, key: Any, one: Session[Fields], *, gone: bool = False) -> Row:
        end = one.end_ms(self.gap_ms)
        fields = self.folding.stored(one.held)
        return self.answer(key[0], one.start_ms, end, one.last_ms, gone, *fields, None)

    def close(self) -> None:
        pass


class GrowingSessions(StatefulProcessor):
    """Keyed by a group: its open sessions with their rows as text, which Spark folds."""

    def __init__(self, gap_ms: int) -> None:
        self.gap_ms = gap_ms

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle
        self.sessions = handle.getMapState("sessions", "start bigint", f"last bigint, {ONE_ROW}")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Row]:
        sessions = self._open()
        before = {(one.start_ms, one.last_ms): one for one in sessions.open}
        watermark = timerValues.getCurrentWatermarkInMs()
        over = 0
        for row in in_order(rows):
            if row._time + self.gap_ms <= watermark:
                over += 1
                continue
            mine = [[row._time, row._row]]
            sessions.add(row._time, lambda held, mine=mine: [*(held or ()), *mine])  # type: ignore[misc]
        after = {(one.start_ms, one.last_ms): one for one in sessions.open}
        for place in sorted(before.keys() - after.keys()):
            self.sessions.removeKey((place[0],))
            yield self._told(key, before[place], gone=True)
        changed = [one for place, one in after.items() if before.get(place) is not one]
        for one in sorted(changed, key=lambda one: one.start_ms):
            self.sessions.updateValue((one.start_ms,), (one.last_ms, json.dumps(one.held)))
            self.handle.registerTimer(one.end_ms(self.gap_ms))
            yield self._told(key, one)
        if over:
            yield late(GROWN, over)

    def handleExpiredTimer(
        self, key: Any, timerValues: Any, expiredTimerInfo: Any
    ) -> Iterator[Row]:
        for one in self._open().close(timerValues.getCurrentWatermarkInMs()):
            self.sessions.removeKey((one.start_ms,))
        yield from ()

    def _open(self) -> Sessions[list[Any]]:
        stored = [
            Session(start, last, json.loads(rows))
            for (start,), (last, rows) in self.sessions.iterator()
        ]
        return Sessions(self.gap_ms, lambda earlier, later: earlier + later, stored)

    def _told(self, key: Any, one: Session[list[Any]], *, gone: bool = False) -> Row:
        rows = [] if gone else [row for _, row in sorted(one.held, key=lambda pair: pair[0])]
        end = one.end_ms(self.gap_ms)
        return GROWN(key[0], rows, one.start_ms, end, one.last_ms, gone, None)

    def close(self) -> None:
        pass


def late(answer: Row, count: int) -> Row:
    """An answer that holds nothing but how many rows came too late; `_late` is its last field."""
    return answer(*[None] * (len(answer) - 1), count)


def in_order(rows: Iterator[Any]) -> list[Any]:
    return sorted(rows, key=lambda row: (row._time, row._partition or 0, row._offset or 0))


def plain(value: Any) -> Any:
    """A value as Python writes it: rows inside it are dictionaries."""
    if isinstance(value, Row):
        return {name: plain(one) for name, one in value.asDict().items()}
    if isinstance(value, list):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {plain(name): plain(one) for name, one in value.items()}
    return value
