"""What runs inside Python workers: state by key for joins, sliding windows and processors.

Rows of foreign-key joins and sliding windows travel as text, which Python stores and passes on but
never reads; `stateful` writes it before and reads it after. Times are milliseconds since 1970.
"""

import heapq
import json
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from functools import partial
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from ottla.pipelines.api.definitions import OnError
from ottla.pipelines.api.processors import Processor
from ottla.pipelines.runtime.failures import UserCodeError, told_in_a_line

ONE_ROW = "row string"
# What each class answers with, in the order of the schemas in `stateful`.
SUBSCRIBED = Row("_key", "pk", "row", "silent", "version", "_time")
FOREIGN = Row("_key", "_l", "_r", "_time", "_version", "_deleted")
# Where a row came from, which a dead letter tells.
ORIGIN = ("_topic", "_partition", "_offset", "_reason", "_raw", "_raw_key", "_raw_time")
FOLDED = Row("_g", "_rows", "_time")
SLID = Row("_g", "_rows", "_start", "_end", "_time", "_late")


def by_time(rows: Iterable[Any]) -> Iterator[Any]:
    """Rows of many partitions as one: each in the order of its offsets, the oldest head first.

    At a tie the right side goes first, so that a row meets the table that was written with it.
    """
    partitions: dict[tuple[str, int], list[Any]] = {}
    for row in rows:
        partitions.setdefault((row._side, row._partition or 0), []).append(row)
    for partition in partitions.values():
        partition.sort(key=lambda row: row._offset or 0)
    return heapq.merge(
        *(partitions[place] for place in sorted(partitions)),
        key=lambda row: (row._time, row._side == "l"),
    )


class Subscriber(StatefulProcessor):
    """Keyed by the left row's key: tells the old and the new right key about it."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.wanted = handle.getValueState("wanted", ONE_ROW)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Row]:
        old = before = _get(self.wanted)
        pk = key[0]
        for row in sorted(rows, key=lambda row: (row._partition or 0, row._offset or 0)):
            new = row._on if row._row is not None else None
            if row._row is not None and new is None and self.kind == "left":
                new = "\0" + pk  # no right row can have this key, so the left row stays alone
            if old is not None and old != new:
                # The row moves: what the new key says about it counts, the old key keeps quiet.
                yield SUBSCRIBED(old, pk, None, new is not None, row._offset or 0, row._time)
            if new is not None:
                # A row that is new and finds nothing has no result to be deleted.
                yield SUBSCRIBED(new, pk, row._row, old is None, row._offset or 0, row._time)
            old = new
        if old != before:
            _put(self.wanted, old)

    def close(self) -> None:
        pass


class ForeignJoiner(StatefulProcessor):
    """Keyed by the right row's key: the right row, and the left rows that want it."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.right = handle.getValueState("right", ONE_ROW)
        self.lefts = handle.getMapState("lefts", "pk string", "row string, version long")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Row]:
        right = before = _get(self.right)
        for row in by_time(rows):
            if row._side == "r":
                alone = self._alone(right) and self._alone(row._row)
                right = row._row
                for (pk,), (left, version) in self.lefts.iterator() if not alone else ():
                    yield self._result(pk, left, right, version, row)
            elif row._row is None:
                told = not row._silent and not self._without_result(right, row._pk)
                self.lefts.removeKey((row._pk,))
                if told:
                    yield FOREIGN(row._pk, None, None, row._time, row._version, True)
            else:
                new = self._alone(right) and row._silent
                told = not new and not self._without_result(right, row._pk)
                self.lefts.updateValue((row._pk,), (row._row, row._version))
                if told:
                    yield self._result(row._pk, row._row, right, row._version, row)
        if right != before:
            _put(self.right, right)

    def _alone(self, right: str | None) -> bool:
        """Whether left rows have no result beside this right row."""
        return right is None and self.kind == "inner"

    def _without_result(self, right: str | None, pk: str) -> bool:
        """Whether a row that is known here has no result: then there is nothing to delete."""
        return self._alone(right) and bool(self.lefts.containsKey((pk,)))

    def _result(self, pk: str, left: str, right: str | None, version: int, row: Any) -> Row:
        gone = right is None and self.kind == "inner"
        return FOREIGN(pk, None if gone else left, right, row._time, version, gone)

    def close(self) -> None:
        pass


class TableFolder(StatefulProcessor):
    """Keyed by a group: the rows of a table that are in it now."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.rows = handle.getMapState("rows", "pk string", ONE_ROW)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Row]:
        latest = 0
        for row in sorted(rows, key=lambda row: (row._partition or 0, row._offset or 0)):
            latest = max(latest, row._time)
            if row._row is None:
                self.rows.removeKey((row._pk,))
            else:
                self.rows.updateValue((row._pk,), (row._row,))
        members = sorted((pk, row) for (pk,), (row,) in self.rows.iterator())
        yield FOLDED(key[0], [row for _, row in members], latest)

    def close(self) -> None:
        pass


class SlidingFolder(StatefulProcessor):
    """For each record the rows of the window that ends with it, and of those it falls into."""

    def __init__(self, size_ms: int, grace_ms: int) -> None:
        self.size_ms = size_ms
        self.grace_ms = grace_ms

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.recent = handle.getValueState("recent", ONE_ROW)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Row]:
        stored = _get(self.recent)
        recent = [(time, _text(row)) for time, row in json.loads(stored)] if stored else []
        for row in sorted(rows, key=lambda row: (row._time, row._partition or 0, row._offset or 0)):
            newest = max((time for time, _ in recent), default=row._time)
            if row._time < newest - self.size_ms - self.grace_ms:
                # The rows of its window are forgotten: only counted.
                yield SLID(None, None, None, None, None, 1)
                continue
            recent.append((row._time, row._row))
            recent.sort(key=lambda item: item[0])
            ends = {time for time, _ in recent if row._time <= time <= row._time + self.size_ms}
            for end in sorted(ends):
                inside = [one for time, one in recent if end - self.size_ms <= time <= end]
                yield SLID(key[0], inside, end - self.size_ms, end, row._time, None)
        horizon = recent[-1][0] - self.size_ms - self.grace_ms
        _put(self.recent, json.dumps([item for item in recent if item[0] >= horizon]))

    def close(self) -> None:
        pass


def _text(row: Any) -> str:
    """A row as it travels; earlier versions kept an object of its fields in the state."""
    return row if isinstance(row, str) else json.dumps(row)


class Custom(StatefulProcessor):
    """Runs the application's own processor."""

    def __init__(
        self,
        processor: Processor,
        names: list[str],
        outputs: list[str],
        states: dict[str, Any],
        on_error: OnError = "fail",
    ) -> None:
        self.processor = processor
        self.names = names
        self.outputs = outputs
        self.states = states  # name -> names of its fields
        self.on_error = on_error
        self.origin = ORIGIN if on_error == "dead_letter" else ()
        self.answer = Row("_key", "_time", *outputs, *self.origin)

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle
        self.values = {
            name: handle.getValueState(name, self.processor.state[name]) for name in self.states
        }

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Row]:
        context = KeyContext(self, timerValues.getCurrentWatermarkInMs())
        order = sorted(rows, key=lambda row: (row._time, row._partition or 0, row._offset or 0))
        for row in order:
            fields = {name: _plain(row[name]) for name in self.names}
            fields["_timestamp_ms"] = row._time
            call = partial(self.processor.process, key[0], fields, context)
            yield from self._results(call, key[0], row._time, context, row)
        context.save()

    def handleExpiredTimer(
        self, key: Any, timerValues: Any, expiredTimerInfo: Any
    ) -> Iterator[Row]:
        context = KeyContext(self, timerValues.getCurrentWatermarkInMs())
        when = expiredTimerInfo.getExpiryTimeInMs()
        call = partial(self.processor.on_timer, key[0], when, context)
        yield from self._results(call, key[0], when, context, None)
        context.save()

    def _results(
        self, call: Callable[[], Any], key: str, time: int, context: "KeyContext", row: Any
    ) -> Iterable[Row]:
        """What the processor makes of a row or a timer; if it fails, the state is as before."""
        context.begin()
        try:
            return [self._row(key, result, time) for result in call() or ()]
        except Exception as error:
            said = told_in_a_line(error)
            if self.on_error == "fail":
                raise UserCodeError(said) from error
            context.undo()
            if self.on_error == "skip":
                return ()
            known = row.asDict() if row is not None else {"_raw_key": key.encode()}
            letter = known | {"_reason": said}
            fields = (None for _ in self.outputs)
            return [self.answer(key, time, *fields, *(letter.get(name) for name in self.origin))]

    def _row(self, key: str, result: dict[str, Any], time: int) -> Row:
        unknown = set(result) - set(self.outputs)
        if unknown:
            raise ValueError(f"the processor yields {sorted(unknown)}, which its schema lacks")
        fields = (result.get(name) for name in self.outputs)
        return self.answer(key, time, *fields, *(None for _ in self.origin))

    def close(self) -> None:
        pass


class KeyContext:
    """The state of one key while its rows are processed: read once, written once."""

    def __init__(self, custom: Custom, watermark_ms: int) -> None:
        self.custom = custom
        self.watermark_ms = watermark_ms
        self.read: dict[str, dict[str, Any] | None] = {}
        self.changed: set[str] = set()
        self.timers: list[tuple[bool, int]] = []  # set or cancelled since the row began

    def begin(self) -> None:
        """A row begins: what it changes can be undone."""
        if self.custom.on_error != "fail":
            self.before = (deepcopy(self.read), set(self.changed))
            self.timers = []

    def undo(self) -> None:
        self.read, self.changed = self.before
        for was_set, when_ms in reversed(self.timers):
            if was_set:
                self.custom.handle.deleteTimer(when_ms)
            else:
                self.custom.handle.registerTimer(when_ms)

    def get(self, name: str) -> dict[str, Any] | None:
        if name not in self.read:
            value = self.custom.values[name].get()
            fields = self.custom.states[name]
            self.read[name] = None if value is None else dict(zip(fields, value, strict=True))
        return self.read[name]

    def put(self, name: str, value: dict[str, Any]) -> None:
        self.read[name] = value
        self.changed.add(name)

    def delete(self, name: str) -> None:
        self.read[name] = None
        self.changed.add(name)

    def set_timer(self, when_ms: int) -> None:
        if self.custom.on_error != "fail" and when_ms not in self._set():
            self.timers.append((True, when_ms))
        self.custom.handle.registerTimer(when_ms)

    def cancel_timer(self, when_ms: int) -> None:
        if self.custom.on_error != "fail" and when_ms in self._set():
            self.timers.append((False, when_ms))
        self.custom.handle.deleteTimer(when_ms)

    def _set(self) -> set[int]:
        return set(self.custom.handle.listTimers())

    def save(self) -> None:
        for name in self.changed:
            value = self.read[name]
            if value is None:
                self.custom.values[name].clear()
            else:
                fields = self.custom.states[name]
                self.custom.values[name].update(tuple(value.get(field) for field in fields))


def _plain(value: Any) -> Any:
    return value.asDict(recursive=True) if isinstance(value, Row) else value


def _get(state: Any) -> str | None:
    value = state.get()
    return None if value is None else value[0]


def _put(state: Any, row: str | None) -> None:
    if row is None:
        state.clear()
    else:
        state.update((row,))
