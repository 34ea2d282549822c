"""Connectors of one's own: keys of parameters, rows with offsets, records delivered."""

import pickle
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Annotated, Any

import pytest

import ottla
from ottla.connect import own, plugins
from ottla.connect.connector import ConnectError, Place, Progress, TopicPartition
from ottla.connect.data import Record
from ottla.connect.definitions import REQUIRED, InvalidConfig, Kind
from ottla.connect.own import Password

DELIVERED: list[Any] = []


@ottla.source(version="2.1")
def count_up(
    until: Annotated[int, "Where to stop."],
    step_by: int = 1,
    secret: Password | None = None,
    *,
    offset: dict[str, int] | None,
) -> Iterator[tuple[dict[str, int], dict[str, int]]]:
    for number in range(0 if offset is None else offset["next"], until, step_by):
        yield {"n": number}, {"next": number + step_by}


@ottla.sink
def keep(records: Iterator[Record], prefix: str = "") -> None:
    DELIVERED.extend(prefix + one.value for one in records)


@ottla.sink(name="held")
@dataclass
class Held:
    table: str

    def write(self, records: Iterator[Record]) -> None:
        DELIVERED.extend((self.table, one.value) for one in records)

    def position(self, topic: str, partition: int) -> int | None:
        return 7 if partition == 0 else None


@pytest.fixture
def _installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    DELIVERED.clear()
    named = [
        EntryPoint(name, f"{__name__}:{name}", plugins.ENTRY_POINTS)
        for name in ("count_up", "keep", "Held", "missing")
    ]
    monkeypatch.setattr(plugins, "entry_points", lambda group: named)
    plugins._installed.cache_clear()
    yield
    plugins._installed.cache_clear()


pytestmark = pytest.mark.usefixtures("_installed")


def read(source: Any, within_s: float = 5.0) -> list[Any]:
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        if slices := source.poll(0.1):
            return [one for slice in slices for one in pickle.loads(pickle.dumps(slice)).read()]
    raise AssertionError("nothing was read")


def test_parameters_are_keys() -> None:
    table = plugins.module_of(plugins.find("count-up")).DEFINITIONS
    keys = {one.name: one for one in table.keys}
    assert set(keys) == {"until", "step.by", "secret", "topic", "poll.interval.ms"}
    assert (keys["until"].kind, keys["until"].default) == (Kind.LONG, REQUIRED)
    assert keys["until"].doc == "Where to stop."
    assert (keys["step.by"].default, keys["secret"].kind) == (1, Kind.PASSWORD)
    with pytest.raises(InvalidConfig, match="until"):
        plugins.source({"connector.class": "count-up", "topic": "t"})


def test_a_source_goes_on_from_its_offset() -> None:
    config = {"connector.class": "count-up", "topic": "t", "until": "5", "step.by": "2"}
    stored: dict[str, Place | None] = {"count-up": {"next": 2}}
    source = plugins.source(config)
    source.start(lambda partition: stored[partition["source"]])
    try:
        *records, progress = read(source)
        while len(records) < 2:  # the thread may be slower than we
            *more, progress = read(source)
            records += [one for one in more if isinstance(one, Record)]
    finally:
        source.stop()
    assert [one.value for one in records] == [{"n": 2}, {"n": 4}]
    assert progress == Progress({"source": "count-up"}, {"next": 6})


def test_what_a_source_raises_ends_its_run() -> None:
    config = {"connector.class": "count-up", "topic": "t", "until": "5", "step.by": "0"}
    source = plugins.source(config)
    source.start(lambda _: None)
    with pytest.raises(ValueError, match="range"):
        read(source)
    source.stop()


def test_sinks_are_given_records_and_may_hold_their_offset() -> None:
    partition = TopicPartition("t", 0)
    records = [Record(topic="t", value="a"), Record(topic="t", value="b")]
    for config in ({"connector.class": "keep", "prefix": "-"},
                   {"connector.class": f"{__name__}.Held", "table": "x"}):  # fmt: skip
        task = pickle.loads(pickle.dumps(plugins.sink(config).task()))
        assert task.put(partition, iter(records), lambda *_: None) is None
    assert DELIVERED == ["-a", "-b", ("x", "a"), ("x", "b")]
    held = plugins.sink({"connector.class": "held", "table": "x"})
    assert held.positions([partition, TopicPartition("t", 1)]) == {partition: 7}


def test_only_installed_packages_bring_connectors() -> None:
    names = [one.name for one in plugins.served()]
    assert {"file-source", "file-sink", "count-up", "keep", "held"} <= set(names)
    assert plugins.find("count-up").version == "2.1"
    with pytest.raises(ConnectError, match=r"served are: .*FileStreamSourceConnector"):
        plugins.find("os.path.join")


def test_other_types_of_parameters_are_refused_at_once() -> None:
    def wrong(records: Iterator[Record], when: complex) -> None: ...

    with pytest.raises(TypeError, match="when: a key is"):
        own.sink(wrong)


def test_the_source_of_the_page_is_one() -> None:
    page = (Path(__file__).parents[3] / "docs" / "connect.md").read_text()
    (code,) = [one for one in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "leap" in one]
    names: dict[str, Any] = {"__name__": "years"}
    exec(code, names)
    own_one: own.OwnConnector = getattr(names["leap_years"], own.MARK)
    source = own_one.make({"since.year": "1999", "topic": "t"}, "leap-years")
    assert isinstance(source, own.OwnSource)
    source.start(lambda _: {"next": 2100})
    try:
        first = read(source)[0]
    finally:
        source.stop()
    assert first == Record(topic="t", value={"year": 2104})
