"""What runs inside Python workers: state by key for joins, sliding windows and processors.

Rows of both sides of a foreign-key join travel as JSON text, which Python stores and passes on but
never reads; `stateful` writes it before and reads it after. Times are milliseconds since 1970.
"""

import heapq
import json
from collections.abc import Iterable, Iterator
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from ottla.pipelines.processors import Processor

ONE_ROW = "row string"
# What each class answers with, in the order of the schemas in `stateful`.
SUBSCRIBED = Row("_key", "pk", "row", "silent", "version", "_time")
FOREIGN = Row("_key", "_l", "_r", "_time", "_version", "_deleted")
SLID = Row("_g", "_result", "_start", "_end", "_time")


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
                yield SUBSCRIBED(new, pk, row._row, False, row._offset or 0, row._time)
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
                right = row._row
                for (pk,), (left, version) in self.lefts.iterator():
                    yield self._result(pk, left, right, version, row)
            elif row._row is None:
                self.lefts.removeKey((row._pk,))
                if not row._silent:
                    yield FOREIGN(row._pk, None, None, row._time, row._version, True)
            else:
                self.lefts.updateValue((row._pk,), (row._row, row._version))
                yield self._result(row._pk, row._row, right, row._version, row)
        if right != before:
            _put(self.right, right)

    def _result(self, pk: str, left: str, right: str | None, version: int, row: Any) -> Row:
        gone = right is None and self.kind == "inner"
        return FOREIGN(pk, None if gone else left, right, row._time, version, gone)

    def close(self) -> None:
        pass


class SlidingFolder(StatefulProcessor):
    """For each record the fold over the window that ends with it, and over those it falls into."""

    def __init__(self, size_ms: int, grace_ms: int, folds: list[tuple[str, str]]) -> None:
        self.size_ms = size_ms
        self.grace_ms = grace_ms
        self.folds = folds  # (name, function), the argument is the row's field of that name

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.recent = handle.getValueState("recent", ONE_ROW)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Row]:
        stored = _get(self.recent)
        recent: list[list[Any]] = json.loads(stored) if stored else []
        for row in sorted(rows, key=lambda row: (row._time, row._partition or 0, row._offset or 0)):
            newest = max((time for time, _ in recent), default=row._time)
            if row._time < newest - self.size_ms - self.grace_ms:
                continue  # too late: the rows of its window are forgotten
            recent.append([row._time, json.loads(row._row)])
            recent.sort(key=lambda item: item[0])
            ends = {time for time, _ in recent if row._time <= time <= row._time + self.size_ms}
            for end in sorted(ends):
                inside = [v for time, v in recent if end - self.size_ms <= time <= end]
                result = {name: fold(function, inside, name) for name, function in self.folds}
                yield SLID(key[0], json.dumps(result), end - self.size_ms, end, row._time)
        horizon = recent[-1][0] - self.size_ms - self.grace_ms
        _put(self.recent, json.dumps([item for item in recent if item[0] >= horizon]))

    def close(self) -> None:
        pass


def fold(function: str, rows: list[dict[str, Any]], name: str) -> Any:
    """Spark's simple aggregates in Python, over the argument each row carries under `name`."""
    if function == "count_all":
        return len(rows)
    values = [row[name] for row in rows if row.get(name) is not None]
    if function == "count":
        return len(values)
    if function == "collect_list":
        return values
    if not values:
        return None
    match function:
        case "sum":
            return sum(values)
        case "min":
            return min(values)
        case "max":
            return max(values)
        case "avg":
            return sum(values) / len(values)
    raise ValueError(function)


class Custom(StatefulProcessor):
    """Runs the application's own processor."""

    def __init__(
        self, processor: Processor, names: list[str], outputs: list[str], states: dict[str, Any]
    ) -> None:
        self.processor = processor
        self.names = names
        self.outputs = outputs
        self.states = states  # name -> names of its fields
        self.made = Row("_key", "_time", *outputs)

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
            for result in self.processor.process(key[0], fields, context) or ():
                yield self._row(key[0], result, row._time)
        context.save()

    def handleExpiredTimer(
        self, key: Any, timerValues: Any, expiredTimerInfo: Any
    ) -> Iterator[Row]:
        context = KeyContext(self, timerValues.getCurrentWatermarkInMs())
        when = expiredTimerInfo.getExpiryTimeInMs()
        for result in self.processor.on_timer(key[0], when, context) or ():
            yield self._row(key[0], result, when)
        context.save()

    def _row(self, key: str, result: dict[str, Any], time: int) -> Row:
        unknown = set(result) - set(self.outputs)
        if unknown:
            raise ValueError(f"the processor yields {sorted(unknown)}, which its schema lacks")
        return self.made(key, time, *(result.get(name) for name in self.outputs))

    def close(self) -> None:
        pass


class KeyContext:
    """The state of one key while its rows are processed: read once, written once."""

    def __init__(self, custom: Custom, watermark_ms: int) -> None:
        self.custom = custom
        self.watermark_ms = watermark_ms
        self.read: dict[str, dict[str, Any] | None] = {}
        self.changed: set[str] = set()

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
        self.custom.handle.registerTimer(when_ms)

    def cancel_timer(self, when_ms: int) -> None:
        self.custom.handle.deleteTimer(when_ms)

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
