"""Connectors in a few lines: `@ottla.source` and `@ottla.sink`, on a function or a class.

Parameters with their types and defaults are the connector's keys (`base_url` is `base.url`; a text
in `Annotated` is its documentation). A source is a generator: it is given the offset that was
committed last, and yields rows, each with the offset behind it. A sink is given records.

    @ottla.source
    def ticker(symbol: str, *, offset: dict[str, int] | None) -> Iterator[...]:
        for price in prices(symbol, since=offset and offset["at"]):
            yield {"symbol": symbol, "price": price.value}, {"at": price.at}

What is decorated stays what it is. A worker finds it by the entry point `ottla.connectors` of an
installed package, never by a name in a request.
"""

import inspect
import queue
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints, overload

from ottla.connect.connector import (
    Config,
    Place,
    Plugin,
    Progress,
    Report,
    SinkTask,
    Slice,
    TopicPartition,
)
from ottla.connect.data import Record
from ottla.connect.definitions import REQUIRED, Definitions, Key, Kind

MARK = "__ottla_connector__"
ROWS_MAX = 10_000  # in one transaction
Made = TypeVar("Made", bound=Callable[..., Any])


class Password(str):
    """The type of a parameter that is never shown."""


_KINDS: Mapping[Any, Kind] = {
    str: Kind.STRING,
    int: Kind.LONG,
    float: Kind.DOUBLE,
    bool: Kind.BOOLEAN,
    list[str]: Kind.LIST,
    Password: Kind.PASSWORD,
}
_SOURCE_KEYS = (
    Key(name="topic", kind=Kind.STRING, importance="HIGH", doc="The topic that gets the rows."),
    Key(
        name="poll.interval.ms",
        kind=Kind.LONG,
        default=1000,
        doc="How long to wait before it is asked again, when it has yielded all there was.",
    ),
)


@dataclass(frozen=True, slots=True)
class OwnConnector:
    """What the decorators leave behind; looks like a connector's module to `plugins`."""

    kind: Literal["source", "sink"]
    name: str
    version: str
    made: Callable[..., Any]
    parameters: Mapping[str, str]  # keys by parameter
    DEFINITIONS: Definitions

    def plugin(self, module: str) -> Plugin:
        path = f"{self.made.__module__}.{self.made.__qualname__}"
        return Plugin(
            kind=self.kind,
            name=self.name,
            classes=(path, self.name),
            version=self.version,
            module=module,
        )

    def make(self, config: Config, alias: str) -> "OwnSource | OwnSink":
        values = self.DEFINITIONS.parse(config)
        arguments = {one: values[key] for one, key in self.parameters.items()}
        if self.kind == "sink":
            return OwnSink(self.made, arguments, config)
        return OwnSource(self.name, self.made, arguments, values, config)


@overload
def source(made: Made, /) -> Made: ...
@overload
def source(*, name: str | None = None, version: str = "1") -> Callable[[Made], Made]: ...
def source(made: Made | None = None, /, **named: Any) -> Any:
    """Rows of a generator, with offsets: a source connector."""
    return _decorated("source", made, **named)


@overload
def sink(made: Made, /) -> Made: ...
@overload
def sink(*, name: str | None = None, version: str = "1") -> Callable[[Made], Made]: ...
def sink(made: Made | None = None, /, **named: Any) -> Any:
    """What is given a partition's records: a sink connector.

    A class has `write(records)`; with `position(topic, partition)` too, which tells the offset
    that its target holds, it is exactly once.
    """
    return _decorated("sink", made, **named)


def _decorated(
    kind: Literal["source", "sink"],
    made: Callable[..., Any] | None,
    name: str | None = None,
    version: str = "1",
) -> Any:
    def decorate(made: Callable[..., Any]) -> Callable[..., Any]:
        parameters, own = _keys(kind, made)
        fixed = {one.name for one in own}
        more = () if kind == "sink" else (one for one in _SOURCE_KEYS if one.name not in fixed)
        called = name or made.__name__.replace("_", "-")
        table = Definitions((*own, *more))
        setattr(made, MARK, OwnConnector(kind, called, version, made, parameters, table))
        return made

    return decorate if made is None else decorate(made)


def _keys(kind: str, made: Callable[..., Any]) -> tuple[dict[str, str], list[Key]]:
    target = made.__init__ if inspect.isclass(made) else made
    hints = get_type_hints(target, include_extras=True)
    parameters = list(inspect.signature(made).parameters.values())
    if kind == "sink" and not inspect.isclass(made):
        parameters = parameters[1:]  # the records
    names: dict[str, str] = {}
    keys = []
    for one in parameters:
        if kind == "source" and one.name == "offset":
            continue
        names[one.name] = one.name.replace("_", ".")
        keys.append(_key(names[one.name], hints.get(one.name, str), one.default))
    return names, keys


def _key(name: str, hint: Any, default: Any) -> Key:
    doc = ""
    if get_origin(hint) is Annotated:
        hint, *notes = get_args(hint)
        doc = next((one for one in notes if isinstance(one, str)), "")
    options = [one for one in get_args(hint) if one is not type(None)]
    if hint not in _KINDS and len(options) == 1:  # X | None
        (hint,) = options
    if hint not in _KINDS:
        raise TypeError(f"{name}: a key is str, int, float, bool, list[str] or Password.")
    required = default is inspect.Parameter.empty
    return Key(
        name=name,
        kind=_KINDS[hint],
        default=REQUIRED if required else default,
        importance="HIGH" if required else "MEDIUM",
        doc=doc,
    )


# --- sources


@dataclass(frozen=True, slots=True)
class RowsSlice:
    """Rows that were yielded already: they travel with the job."""

    topic: str
    rows: Sequence[Any]
    progress: Progress
    task: int = 0

    def read(self) -> Iterator[Record | Progress]:
        for row in self.rows:
            if not isinstance(row, Record):
                yield Record(topic=self.topic, value=row)
            else:
                yield row if row.topic else replace(row, topic=self.topic)
        yield self.progress


class OwnSource:
    """The generator runs in a thread of the worker; one that ends is begun again."""

    def __init__(
        self,
        name: str,
        made: Callable[..., Any],
        arguments: Mapping[str, Any],
        values: Mapping[str, Any],
        config: Config,
    ) -> None:
        self._made = made
        self._arguments = arguments
        self._topic = values["topic"]
        self._interval_s = values["poll.interval.ms"] / 1000
        self._config = config
        self._partition: Place = {"source": name}
        self._yielded: queue.Queue[tuple[Any, Place] | Exception] = queue.Queue(ROWS_MAX)
        self._stopped = threading.Event()

    def task_configs(self, maximum: int) -> Sequence[Config]:
        return [self._config]

    def start(self, stored: Callable[[Place], Place | None]) -> None:
        offset = stored(self._partition)
        threading.Thread(target=self._run, args=(offset,), daemon=True).start()

    def poll(self, timeout_s: float) -> Sequence[Slice]:
        rows: list[Any] = []
        offset: Place | None = None
        until = time.monotonic() + timeout_s
        while len(rows) < ROWS_MAX and not self._stopped.is_set():
            wait_s = 0.0 if rows else min(0.25, until - time.monotonic())
            try:
                one = self._yielded.get(wait_s > 0, max(wait_s, 0.0))
            except queue.Empty:
                if rows or time.monotonic() >= until:
                    break
                continue
            if isinstance(one, Exception):
                raise one
            rows.append(one[0])
            offset = one[1]
        if not rows:
            return []
        return [RowsSlice(self._topic, rows, Progress(self._partition, offset))]

    def committed(self, progress: Sequence[Progress]) -> None:
        pass

    def stop(self) -> None:
        self._stopped.set()

    def _run(self, offset: Place | None) -> None:
        try:
            while not self._stopped.is_set():
                for row, behind in self._begun(offset):
                    offset = behind
                    if not self._put((row, behind)):
                        return
                self._stopped.wait(self._interval_s)
        except Exception as error:
            self._put(error)

    def _begun(self, offset: Place | None) -> Iterator[tuple[Any, Place]]:
        made: Any = self._made
        is_class = inspect.isclass(self._made)
        begun: Iterator[tuple[Any, Place]] = (
            made(**self._arguments).read(offset)
            if is_class
            else made(**self._arguments, offset=offset)
        )
        return begun

    def _put(self, one: tuple[Any, Place] | Exception) -> bool:
        while not self._stopped.is_set():
            try:
                self._yielded.put(one, timeout=0.25)
            except queue.Full:
                continue
            return True
        return False


# --- sinks


@dataclass(frozen=True, slots=True)
class OwnTask:
    made: Callable[..., Any]
    arguments: Mapping[str, Any]

    def put(
        self, partition: TopicPartition, records: Iterator[Record], report: Report
    ) -> int | None:
        made: Any = self.made
        if inspect.isclass(self.made):
            made(**self.arguments).write(records)
        else:
            made(records, **self.arguments)
        return None


class OwnSink:
    def __init__(
        self, made: Callable[..., Any], arguments: Mapping[str, Any], config: Config
    ) -> None:
        self._made = made
        self._arguments = arguments
        self._config = config

    def task_configs(self, maximum: int) -> Sequence[Config]:
        return [self._config] * maximum

    def start(self) -> None:
        pass

    def positions(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        if not hasattr(self._made, "position"):
            return {}
        made = self._made(**self._arguments)
        held = {one: made.position(*one) for one in partitions}
        return {one: offset for one, offset in held.items() if offset is not None}

    def move(self, positions: Mapping[TopicPartition, int | None]) -> None:
        if hasattr(self._made, "move"):
            made = self._made(**self._arguments)
            for (topic, partition), offset in positions.items():
                made.move(topic, partition, offset)

    def task(self) -> SinkTask:
        return OwnTask(self._made, self._arguments)

    def stop(self) -> None:
        pass
