"""Driving an application in a test: records in, results out, time under the test's control.

A real broker (one for the whole test run, topics apart for each driver) and real Spark. Records
wait until the test reads, or settles; then each stage in turn takes all of them and ends. So the
cuts between batches are the test's, and the same test gives the same results.
"""

import atexit
import contextlib
import io
import json
import os
import re
import shutil
import tempfile
import threading
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ottla.client.connection import ClientProperties, given_properties
from ottla.client.schema_registry import URL_VARIABLE
from ottla.errors import OttlaError
from ottla.pipelines.api.app import App
from ottla.pipelines.api.definitions import Application, Plain, Source, walk
from ottla.pipelines.api.windows import Duration, milliseconds
from ottla.pipelines.formats.format import Format
from ottla.pipelines.formats.registered import Registered
from ottla.pipelines.lifecycle.brokers import create, describe, wait_until_stable
from ottla.pipelines.lifecycle.connectors import Connectors
from ottla.pipelines.lifecycle.progress import Recorder
from ottla.pipelines.lifecycle.status import Status
from ottla.pipelines.lifecycle.views import Lines
from ottla.pipelines.planning.plan import Plan, make_plan, written_topics
from ottla.pipelines.planning.stages import Stage
from ottla.pipelines.planning.topics import FOREVER, NewTopic, of_connectors, topic_names
from ottla.testing.node import Node
from ottla.testing.registry import Registry

if TYPE_CHECKING:
    from ottla.pipelines.engine.queries import Starter

START = datetime(2026, 1, 1, tzinfo=UTC)
TIMEOUT_S = 30.0
_shared: list[Node] = []


@dataclass(frozen=True, slots=True)
class Record:
    """A record as the test sees it: keys as text, values as JSON or text, other bytes alone.

    What is written behind the id of a schema is bytes, for the deserializer that a test brings.
    """

    key: Any
    value: Any
    headers: Mapping[str, bytes]
    timestamp_ms: int
    partition: int = 0


@contextlib.contextmanager
def drive(
    app: App, *, bootstrap: str | None = None, client: ClientProperties | None = None
) -> "Iterator[Driver]":
    """`with drive(app) as d: d.send("orders", value={…}); assert d.read("totals") == […]`.

    Brokers: `bootstrap`, else `$OTTLA_TEST_BOOTSTRAP`, else a node that this process starts once.
    `client` as in `App`, which keeps its own but for what it says of security. An application with
    schemas of a registry, which it has not named, gets an empty one of its own: `d.registry`.
    """
    definition = app.definition()
    if uses_frames(definition):  # they are bound to their brokers and topics already
        connection = definition.connection
    else:
        address = bootstrap or os.environ.get("OTTLA_TEST_BOOTSTRAP") or shared_node()
        said = given_properties(client or {}, "client=")
        connection = definition.connection.elsewhere(address, said)
    definition = replace(
        definition,
        connection=connection,
        parallelism=1,
        start="earliest",
        latency="throughput",
    )
    with contextlib.ExitStack() as open_until_done:
        registry = open_until_done.enter_context(_registry_of(definition))
        driver = Driver(definition, Path(tempfile.mkdtemp(prefix="ottla-drive-")), registry)
        open_until_done.callback(driver.close)
        yield driver


@contextlib.contextmanager
def _registry_of(application: Application) -> Iterator[str | None]:
    """The URL of the registry that the application uses; one is started where it named none."""
    formats = [one for one in formats_of(application) if isinstance(one, Registered)]
    unnamed = [one for one in formats if not one.registry]
    if not unnamed or any(one.held for one in unnamed):  # there is one, and it was asked already
        yield formats[0].url if formats else None
        return
    own = uuid.uuid4().hex[:8]
    settings = {"kafkastore.topic": f"_schemas-{own}", "schema.registry.group.id": f"drive-{own}"}
    for name, value in application.connection.java().items():
        if name.startswith(("security.", "sasl.", "ssl.")):
            settings[f"kafkastore.{name}"] = value
    with Registry(application.bootstrap, settings=settings) as registry:
        before = os.environ.get(URL_VARIABLE)
        os.environ[URL_VARIABLE] = registry.url
        try:
            yield registry.url
        finally:
            if before is None:
                del os.environ[URL_VARIABLE]
            else:
                os.environ[URL_VARIABLE] = before


def formats_of(application: Application) -> Iterator[Format]:
    for sink in application.sinks:
        yield from (one for one in (sink.key_format, sink.value) if one is not None)
        for node in walk(sink.input):
            if isinstance(node, Source):
                yield from (node.key, node.value)


def shared_node() -> str:
    """The address of a broker that lives as long as this process."""
    if not _shared:
        node = Node(settings={"offsets.topic.num.partitions": 4}).start()
        atexit.register(node.stop)
        _shared.append(node)
    return _shared[0].bootstrap_servers


def uses_frames(application: Application) -> bool:
    nodes = (node for sink in application.sinks for node in walk(sink.input))
    return any(isinstance(node, Plain) for node in nodes)


class Driver:
    """One run of an application. `now_ms` is the timestamp of the next record sent."""

    def __init__(self, application: Application, folder: Path, registry: str | None = None) -> None:
        self.application = application
        self.folder = folder
        self.registry = registry  # the URL of the schemas' registry, where there are any
        self.now_ms = int(START.timestamp() * 1000)
        self.plan: Plan = make_plan(application)
        self._tag = uuid.uuid4().hex[:8]
        self._names = {
            source.topic: f"{source.topic}-{self._tag}"
            for source in self.plan.read_topics()
            if not source.is_pattern
        }
        self._names |= {
            topic: f"{name}-{self._tag}" for topic, name in topic_names(self.plan, 1).items()
        }
        for stage in self.plan.stages:
            if isinstance(stage.node, Plain):
                self._names |= {source.topic: source.topic for source in stage.sources}
        self._names |= {one.name: f"{one.name}-{self._tag}" for one in of_connectors(application)}
        sinks = written_topics(self.plan)
        self._patterns = {
            source.topic: f"(?:{source.topic})-{self._tag}"
            for source in self.plan.read_topics()
            if source.is_pattern
        }
        self._partitions = {
            topic: (sinks[topic].partitions or 1) if topic in sinks else 1 for topic in self._names
        }
        # The test's time is not the broker's: nothing may be too old to keep.
        create(
            application,
            [
                NewTopic(name, self._partitions[topic], FOREVER)
                for topic, name in self._names.items()
                if not self._is_routed(topic)
            ],
        )
        self._producer = application.connection.producer({"linger.ms": 0})
        self._waiting = 0  # records that were sent since all was settled
        self._starter: Starter | None = None
        self._connectors: Connectors | None = None
        self._recorder = Recorder()
        self._read: dict[str, dict[int, int]] = {}
        sinks_of = [stage.sink for stage in self.plan.stages]
        self._framed = {sink.topic for sink in sinks_of if _is_framed(sink.value)}
        self._framed_keys = {sink.topic for sink in sinks_of if _is_framed(sink.key_format)}
        self._routed: set[str] = set()

    def advance(self, duration: Duration) -> None:
        """Let time pass: the next records are that much younger."""
        self.now_ms += milliseconds(duration)

    def send(
        self,
        topic: str,
        value: Any = None,
        *,
        key: Any = None,
        headers: Mapping[str, str | bytes] | None = None,
        timestamp_ms: int | None = None,
    ) -> None:
        """Write a record: dictionaries and lists as JSON, text as UTF-8, None as a tombstone."""
        if topic not in self._names and any(re.fullmatch(one, topic) for one in self._patterns):
            self._names[topic] = f"{topic}-{self._tag}"
            self._partitions[topic] = 1
            create(self.application, [NewTopic(self._names[topic], 1, FOREVER)])
        if topic not in self._names:
            raise OttlaError(f"The application does not read {topic}.")
        self._waiting += 1
        when = timestamp_ms if timestamp_ms is not None else self.now_ms
        self._producer.produce(
            self._names[topic],
            _encode(value),
            _encode(key),
            timestamp=when,
            headers=list((headers or {}).items()),
        )
        if timestamp_ms is None:
            self.now_ms += 1  # so that what was sent later is later

    def settle(self) -> None:
        """Let everything that was sent, or that sources have, pass through every stage."""
        if self._producer.flush(TIMEOUT_S):
            raise OttlaError("The broker did not take the test's records in time.")
        if not self._waiting and self._starter is not None and self._connectors is None:
            return
        self._waiting = 0
        starter = self._spark()
        if self._connectors is not None:
            self._connectors.bring()
        for stage in self.plan.stages:
            query = starter.start(stage, "catch-up")
            query.awaitTermination()
            for progress in query.recentProgress:
                self._recorder.note(stage.name, json.loads(progress.json))
            wait_until_stable(self.application, self._written(stage))
        if self._connectors is not None:
            self._connectors.deliver()

    def read(self, topic: str) -> list[tuple[Any, Any]]:
        """Key and value of each result since the last read, in the order they were written."""
        return [(record.key, record.value) for record in self.records(topic)]

    def table(self, topic: str) -> dict[Any, Any]:
        """The latest value of each key that the topic holds; deleted keys are absent."""
        self.settle()
        latest = {record.key: record.value for record in self._fetch(topic, from_start=True)}
        return {key: value for key, value in latest.items() if value is not None}

    def records(self, topic: str) -> list[Record]:
        """As `read`, with headers and timestamps."""
        self.settle()
        return list(self._fetch(topic))

    def dead_letters(self) -> list[Record]:
        """What could not be decoded since the last call."""
        return self.records(f"{self.application.name}-dead-letters")

    def dropped_rows(self) -> dict[str, int]:
        """By topic, the rows that belong to no group or join because they have no key."""
        self.settle()
        rows = {s.sink.topic: self._recorder.of(s.name).keyless_rows for s in self.plan.stages}
        return {topic: count for topic, count in rows.items() if count}

    def late_rows(self) -> dict[str, int]:
        """By topic, the rows that came too late for their window."""
        self.settle()
        rows = {s.sink.topic: self._recorder.of(s.name).late_rows for s in self.plan.stages}
        return {topic: count for topic, count in rows.items() if count}

    def close(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def _written(self, stage: Stage) -> dict[str, int]:
        topics = {stage.sink.topic, *(source.dead_letters or "" for source in stage.letters)}
        if stage.sink.route is not None:
            topics.remove(stage.sink.topic)
            self._find_routed()
            topics |= self._routed
        return {self._names[topic]: self._partitions[topic] for topic in topics}

    def _is_routed(self, topic: str) -> bool:
        """Whether it is the name of a stage whose rows say their topics."""
        return any(s.sink.topic == topic and s.sink.route is not None for s in self.plan.stages)

    def _find_routed(self) -> None:
        """The topics that rows have asked for, by the names that rows know."""
        for name, count in describe(self.application).partitions.items():
            topic = name.removesuffix(f"-{self._tag}")
            if topic != name and topic not in self._names:
                self._names[topic] = name
                self._partitions[topic] = count
                self._routed.add(topic)

    def _spark(self) -> "Starter":
        from ottla.pipelines.engine.queries import Starter
        from ottla.pipelines.runtime.sessions import session
        from ottla.pipelines.runtime.settings import SparkSettings

        if self._starter is None:
            spark = session(SparkSettings(name="ottla tests", parallelism=1))
            names = self._names | self._patterns
            self._starter = Starter(spark, self.plan, names, self.folder)
            if self.application.connectors:
                status = Status(self.plan, self._recorder, names=self._names)
                self._connectors = Connectors(
                    self.plan, status, Lines(io.StringIO()), self._starter, threading.Event()
                )
        return self._starter

    def _fetch(self, topic: str, *, from_start: bool = False) -> Iterator[Record]:
        from confluent_kafka import TopicPartition

        if topic not in self._names:
            raise OttlaError(f"The application does not write {topic}.")
        place = {} if from_start else self._read.setdefault(topic, {})
        consumer = self.application.connection.consumer(
            {
                "group.id": f"drive-{self._tag}",
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                "enable.auto.commit": False,
                "fetch.wait.max.ms": 10,
            }
        )
        open_partitions = set(range(self._partitions[topic]))
        consumer.assign(
            [TopicPartition(self._names[topic], p, place.get(p, 0)) for p in open_partitions]
        )
        try:
            while open_partitions:
                message = consumer.poll(TIMEOUT_S)
                if message is None:
                    raise OttlaError(f"The broker stopped answering while {topic} was read.")
                partition = message.partition() or 0
                if message.error():
                    open_partitions.discard(partition)  # its end
                    continue
                place[partition] = (message.offset() or 0) + 1
                yield Record(
                    message.key() if topic in self._framed_keys else _text(message.key()),
                    message.value() if topic in self._framed else _decode(message.value()),
                    dict(cast("list[tuple[str, bytes]]", message.headers() or [])),
                    message.timestamp()[1],
                    partition,
                )
        finally:
            consumer.close()


def _is_framed(format: Format | None) -> bool:
    """Whether an id stands before the bytes, which then are no text even where they look so."""
    return isinstance(format, Registered) and format.id_in == "value"


def _encode(value: Any) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    return json.dumps(value).encode()


def _text(data: bytes | None) -> str | bytes | None:
    try:
        return None if data is None else data.decode()
    except UnicodeDecodeError:
        return data


def _decode(data: bytes | None) -> Any:
    text = _text(data)
    if isinstance(text, str) and text[:1] in ("{", "["):
        with contextlib.suppress(ValueError):
            return json.loads(text)
    return text
