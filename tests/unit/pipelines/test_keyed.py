"""The Python state machines behind joins and sliding windows, against plain models, without Spark.

Hypothesis draws the history: updates, deletions, repeats and rows out of order, cut into batches
at random. `Memory` stands in for Spark's state store.
"""

import json
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ottla.pipelines.engine.keyed import ForeignJoiner, SlidingFolder, Subscriber, by_time


class Memory:
    """One key's state: what Spark's handle gives, as plain Python."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}

    def getValueState(self, name: str, schema: str) -> "Cell":
        return Cell(self.values, name)

    def getMapState(self, name: str, key: str, value: str) -> "Cells":
        return Cells(self.values.setdefault(name, {}))


class Cell:
    def __init__(self, values: dict[str, Any], name: str) -> None:
        self._values, self._name = values, name

    def get(self) -> Any:
        return self._values.get(self._name)

    def update(self, value: Any) -> None:
        self._values[self._name] = value

    def clear(self) -> None:
        self._values.pop(self._name, None)


class Cells:
    def __init__(self, values: dict[Any, Any]) -> None:
        self._values = values

    def updateValue(self, key: Any, value: Any) -> None:
        self._values[key] = value

    def removeKey(self, key: Any) -> None:
        self._values.pop(key, None)

    def containsKey(self, key: Any) -> bool:
        return key in self._values

    def iterator(self) -> Iterable[tuple[Any, Any]]:
        return list(self._values.items())


def row(**fields: Any) -> Any:
    return SimpleNamespace(**({"_partition": 0} | {f"_{name}": v for name, v in fields.items()}))


def cut(items: list[Any], sizes: list[int]) -> Iterable[list[Any]]:
    """The items in batches of these sizes, the rest as the last one."""
    start = 0
    for size in sizes:
        yield items[start : start + size]
        start += size
    yield items[start:]


CUTS = st.lists(st.integers(0, 7), max_size=8)


MOVES = st.lists(
    st.one_of(
        st.tuples(st.just("order"), st.sampled_from("ab"), st.none() | st.sampled_from("xyz")),
        st.tuples(st.just("forget"), st.sampled_from("ab"), st.none()),
        st.tuples(st.just("product"), st.sampled_from("xyz"), st.none() | st.integers(0, 3)),
    ),
    max_size=25,
)


@given(MOVES, st.sampled_from(["inner", "left"]))
def test_a_foreign_key_join_ends_as_the_tables_do(
    moves: list[tuple[str, str, Any]], kind: str
) -> None:
    """Both halves step by step: what the first half says reaches the second at once."""
    subscribers: dict[str, Subscriber] = {}
    joiners: dict[str, ForeignJoiner] = {}
    result: dict[str, Any] = {}
    orders: dict[str, str | None] = {}
    products: dict[str, Any] = {}
    moved: set[str] = set()

    def joined(key: str, event: Any) -> None:
        if key not in joiners:
            joiners[key] = ForeignJoiner(kind)
            joiners[key].init(Memory())  # type: ignore[arg-type]
        for made in joiners[key].handleInputRows((key,), iter([event]), None):
            if made["_deleted"]:
                # Of a row that moves nobody knows whether the other key had a result for it.
                assert made["_key"] in result or made["_key"] in moved
                result.pop(made["_key"], None)
            else:
                result[made["_key"]] = (made["_l"], made["_r"])

    for n, (what, key, value) in enumerate(moves):
        if what == "product":
            products[key] = value
            text = None if value is None else str(value)
            joined(key, row(side="r", row=text, time=n, offset=n))
            continue
        if key not in subscribers:
            subscribers[key] = Subscriber(kind)
            subscribers[key].init(Memory())  # type: ignore[arg-type]
        gone = what == "forget"
        if orders.get(key) is not None and orders[key] != value:
            moved.add(key)
        orders.pop(key, None)
        if not gone:
            orders[key] = value
        text = None if gone else f"order of {value}"
        event = row(row=text, on=value, time=n, offset=n)
        for said in subscribers[key].handleInputRows((key,), iter([event]), None):
            joined(
                said["_key"],
                row(
                    side="l", row=said["row"], pk=said["pk"], silent=said["silent"],
                    version=said["version"], time=n, offset=n,
                ),
            )  # fmt: skip
    expected = {}
    for order, product in orders.items():
        found = products.get(product) if product is not None else None
        if found is not None or kind == "left":
            expected[order] = (f"order of {product}", None if found is None else str(found))
    assert result == expected


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(-5, 5)), min_size=1, max_size=20),
    CUTS,
)
def test_sliding_windows_hold_what_a_model_says(
    events: list[tuple[int, int]], cuts: list[int]
) -> None:
    folder = SlidingFolder(10, 1000)
    folder.init(Memory())  # type: ignore[arg-type]
    history = [
        row(row=f"{n}: {value}", time=time, offset=n) for n, (time, value) in enumerate(events)
    ]
    windows = {}
    for batch in cut(history, cuts):
        if batch:
            for made in folder.handleInputRows(("g",), iter(batch), None):
                windows[made["_end"]] = made["_rows"]
    assert set(windows) == {time for time, _ in events}
    for end, result in windows.items():
        inside = [f"{n}: {v}" for n, (time, v) in enumerate(events) if end - 10 <= time <= end]
        assert sorted(result) == sorted(inside)


def test_the_oldest_head_of_all_partitions_goes_first_and_the_table_at_a_tie() -> None:
    def at(side: str, partition: int, offset: int, time: int) -> Any:
        return row(side=side, partition=partition, offset=offset, time=time)

    rows = [
        at("l", 0, 0, 1),
        at("l", 0, 1, 5),
        at("l", 1, 0, 4),
        at("r", 0, 1, 0),  # older than the record before it: it waits for its turn
        at("r", 0, 0, 4),
    ]
    assert [(one._side, one._partition, one._time) for one in by_time(rows)] == [
        ("l", 0, 1),
        ("r", 0, 4),
        ("r", 0, 0),
        ("l", 1, 4),
        ("l", 0, 5),
    ]


def test_a_window_takes_over_rows_that_an_earlier_version_kept_as_objects() -> None:
    memory = Memory()
    memory.values["recent"] = (json.dumps([[5, {"total": 1}]]),)
    folder = SlidingFolder(10, 1000)
    folder.init(memory)  # type: ignore[arg-type]
    [made] = folder.handleInputRows(("g",), iter([row(row="new", time=6, offset=1)]), None)
    assert made["_rows"] == ['{"total": 1}', "new"]
