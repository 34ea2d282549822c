"""Connect with file and Debezium connectors under load, Ottla in its place, and back again.

Workers take turns on one file of settings; one of either kind is killed with -9. Lines are written
to a file and rows to a table all the while.
"""

import json
import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka import Message

from ottla.client.connection import Connection
from support.cdc import config as cdc_config
from support.connect_from_file import FromFile
from support.debezium import plugin_folder
from support.postgres import Postgres
from system.connect.asking import ask, until
from system.connect.original import Original
from system.connect.requests import get, put
from system.connect.running import committed, lines_in

pytestmark = [
    pytest.mark.java,
    pytest.mark.long,
    pytest.mark.skipif(
        shutil.which("java") is None or shutil.which("mvn") is None,
        reason="Debezium needs Java, and Maven brings it",
    ),
    pytest.mark.timeout(1200),
]
STRINGS = "org.apache.kafka.connect.storage.StringConverter"


class Load:
    """Lines and rows, each with a number of its own, until it is ended."""

    def __init__(self, postgres: Postgres, file: Path) -> None:
        self._postgres = postgres
        self._file = file
        self.lines = 0
        self._done = threading.Event()
        self._threads = [threading.Thread(target=one) for one in (self._feed, self._write)]

    def _feed(self) -> None:
        with self._file.open("a", buffering=1) as into:
            while not self._done.wait(0.05):
                into.write("".join(f"{self.lines + at}\n" for at in range(10)))
                self.lines += 10

    def _write(self) -> None:
        connection = self._postgres.connect()
        while not self._done.wait(0.05):
            with connection, connection.cursor() as cursor:
                cursor.execute("INSERT INTO orders (item) SELECT 'new' FROM generate_series(1, 5)")
        connection.close()

    def __enter__(self) -> "Load":
        for one in self._threads:
            one.start()
        return self

    def end(self) -> None:
        self._done.set()
        for one in self._threads:
            one.join()

    def __exit__(self, *_: object) -> None:
        self.end()


@dataclass(frozen=True)
class Leg:
    ours: bool
    ends: dict[str, int]  # of the topics, as they are read when it is over
    length: int  # of the sink's file


class Relay:
    def __init__(self, connect: Original, load: Load, topics: tuple[str, str], out: Path) -> None:
        self._connect = connect
        self._load = load
        self._postgres = load._postgres
        self.topics = topics
        self._out = out
        self.legs: list[Leg] = []
        self._bootstrap = connect.options["bootstrap.servers"]
        self._offsets: dict[str, int] = {}

    @contextmanager
    def worker(self, *, ours: bool, killed: bool) -> Iterator[str]:
        """One that goes on from what the last one left; what all of them must show is checked."""
        worker = FromFile(self._connect.file) if ours else self._connect
        if isinstance(worker, Original):
            worker.launch()
            worker.wait_until_serving()
        else:
            worker.start()
        try:
            yield worker.url
        finally:
            (worker.kill if killed else worker.stop)()
            self._wait_until_nobody_is_in_the_group()
        ends = {topic: self._end(topic) for topic in self.topics}
        self.legs.append(Leg(ours, ends, self._out.stat().st_size))

    def is_right(self, url: str) -> None:
        """States are as they were asked for, and nobody has gone back."""
        for name in ("lines", "changes", "back"):
            until(url, f"{name}/0", "RUNNING")
        until(url, "rests", "PAUSED")
        until(url, "stands", "STOPPED")
        for name, field in (("lines", "position"), ("changes", "lsn")):
            (found,) = ask(url, get(f"/connectors/{name}/offsets")).body["offsets"]
            assert found["offset"][field] >= self._offsets.get(name, 0)
            self._offsets[name] = found["offset"][field]

    def goes_on(self, url: str) -> None:
        """Until lines and rows have come through that were written after now."""
        lines = self._load.lines
        rows = self._rows()[-1]
        self._until(lambda: self._has_line(lines), url)
        self._until(lambda: any(one >= rows for one in self._ids()[-500:]), url)
        self._until(lambda: any(int(one) >= lines for one in lines_in(self._out)[-50:]), url)

    def _has_line(self, wanted: int) -> bool:
        last = committed(self._bootstrap, self.topics[0], 0)[-1:]
        return any(int(_line(one)) >= wanted for one in last)

    def _ids(self) -> list[int]:
        return [_id(one) for one in committed(self._bootstrap, self.topics[1], 0)]

    def _rows(self) -> list[int]:
        return [one for (one,) in self._postgres.rows("SELECT id FROM orders ORDER BY id")]

    def _until(self, true: Callable[[], bool], url: str) -> None:
        deadline = time.monotonic() + 240
        while not true():
            told = ask(url, get("/connectors?expand=status")).body
            assert time.monotonic() < deadline, json.dumps(told)[:3000]
            time.sleep(0.5)

    def ends(self, url: str) -> None:
        """The load is over, and all of it has arrived."""
        self._load.end()
        rows = set(self._rows())
        self._until(lambda: rows <= set(self._ids()), url)
        self._until(lambda: len(set(lines_in(self._out))) == self._load.lines, url)

    def _end(self, topic: str) -> int:
        last = committed(self._bootstrap, topic, 0)[-1:]
        return max((_offset(one) + 1 for one in last), default=0)

    def _wait_until_nobody_is_in_the_group(self) -> None:
        admin = Connection(self._bootstrap).admin()
        group = self._connect.options["group.id"]
        deadline = time.monotonic() + 60
        while True:
            if not any(one.members for one in admin.list_groups(group, timeout=10)):
                return
            assert time.monotonic() < deadline, "somebody is still in the group"
            time.sleep(0.5)


def _line(message: Message) -> str:
    return (message.value() or b"").decode()


def _id(message: Message) -> int:
    found: int = json.loads(message.value() or b"")["after"]["id"]
    return found


def _offset(message: Message) -> int:
    offset = message.offset()
    assert offset is not None
    return offset


def repeated(values: list[Any], before: set[Any]) -> list[Any]:
    """What is there twice, or was there before."""
    counted = Counter(values)
    return [one for one, count in counted.items() if count > 1 or one in before]


@pytest.mark.parametrize("killed", ["connect", "ottla"])
def test_connectors_are_swapped_under_load_and_back_again(
    bootstrap: str, postgres: Postgres, slot: str, tmp_path: Path, killed: str
) -> None:
    prefix = f"shop-{uuid4().hex[:8]}"
    topics = (f"{prefix}-lines", f"{prefix}.public.orders")
    postgres.run(
        "CREATE TABLE orders (id bigserial PRIMARY KEY, item text)",
        "INSERT INTO orders (item) SELECT 'old' FROM generate_series(1, 200)",
    )
    into, out = tmp_path / "in", tmp_path / "out"
    connect = Original(bootstrap, {"plugin.path": str(plugin_folder())})
    with Load(postgres, into) as load:
        relay = Relay(connect, load, topics, out)
        with relay.worker(ours=False, killed=killed == "connect") as url:
            for name, config in connectors(postgres, prefix, slot, into, out).items():
                assert ask(url, put(f"/connectors/{name}/config", config)).status == 201
            until(url, "rests/0", "RUNNING")
            ask(url, put("/connectors/rests/pause"))
            ask(url, put("/connectors/stands/stop"))
            relay.goes_on(url)
            relay.is_right(url)
        with relay.worker(ours=True, killed=killed == "ottla") as url:
            relay.goes_on(url)
            relay.is_right(url)
        with relay.worker(ours=False, killed=False) as url:
            relay.is_right(url)
            relay.ends(url)
        rows = relay._rows()
    lines = committed(bootstrap, topics[0], 0)
    changes = committed(bootstrap, topics[1], 0)
    assert {_line(one) for one in lines} == {str(number) for number in range(load.lines)}
    assert {_id(one) for one in changes} == set(rows)
    told: list[str] = []
    values: tuple[tuple[list[Message], str, Callable[[Message], Any]], ...] = (
        (lines, topics[0], _line),
        (changes, topics[1], _id),
    )
    for read, topic, value in values:
        told += [f"{topic}: {len(read)} records"]
        begin = 0
        for leg in relay.legs:
            end = leg.ends[topic]
            mine = [value(one) for one in read if begin <= _offset(one) < end]
            before = {value(one) for one in read if _offset(one) < begin}
            twice = repeated(mine, before)
            told += [f"  {'Ottla' if leg.ours else 'Connect'}: {len(mine)}, {len(twice)} twice"]
            assert not (leg.ours and twice), f"{topic}: {twice[:10]}"
            begin = end
    whole, begin = out.read_bytes(), 0
    for leg in relay.legs:
        written = whole[begin : leg.length].decode().split()
        told += [f"  {'Ottla' if leg.ours else 'Connect'} wrote {len(written)} lines"]
        assert not (leg.ours and repeated(written, set()))
        begin = leg.length
    print("\n".join(told))


def connectors(
    postgres: Postgres, prefix: str, slot: str, into: Path, out: Path
) -> dict[str, dict[str, str]]:
    source = {
        "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
        "file": str(into),
        "topic": f"{prefix}-lines",
        "value.converter": STRINGS,
    }
    return {
        "lines": source,
        "rests": source | {"topic": "nowhere"},
        "stands": source | {"topic": "nowhere"},
        "changes": cdc_config(postgres, name="changes", topic_prefix=prefix, slot_name=slot),
        "back": {
            "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
            "file": str(out),
            "topics": f"{prefix}-lines",
            "value.converter": STRINGS,
            "consumer.override.isolation.level": "read_committed",
        },
    }
