"""What an application is: a frozen graph of nodes, each knowing the line that wrote it.

Nothing here knows Spark. The fluent classes (`streams`, `tables`) build nodes, `plan` cuts the
graph into stages, `build` turns a stage into a DataFrame. Besides its own fields every row carries
the columns in `META`, which pass through an operator unless it says otherwise.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ottla.client.connection import Connection
from ottla.pipelines.api.connectors import Connector
from ottla.pipelines.formats.format import Format
from ottla.pipelines.formats.schema import Schema
from ottla.pipelines.runtime.where import DefinitionError, Where

META = ("_key", "_timestamp", "_headers", "_topic", "_partition", "_offset", "_deleted")
META_TYPES: Mapping[str, str] = {
    "_key": "STRING",
    "_timestamp": "TIMESTAMP",
    "_headers": "ARRAY<STRUCT<key: STRING, value: BINARY>>",
    "_topic": "STRING",
    "_partition": "INT",
    "_offset": "BIGINT",
    "_deleted": "BOOLEAN",
}

# Fields that came later: while they have their default, a node is described as it was before.
LATER: Mapping[str, bool] = {"later": True}

OnError = Literal["fail", "dead_letter", "skip"]  # what becomes of a row the user's code fails on
JoinKind = Literal["inner", "left", "outer"]
OutputMode = Literal["append", "update"]


def check_on_error(on_error: "OnError", where: Where) -> "OnError":
    if on_error not in ("fail", "dead_letter", "skip"):
        raise DefinitionError(where, "on_error is 'fail', 'dead_letter' or 'skip'.")
    return on_error


@dataclass(frozen=True, slots=True)
class Window:
    """`grace_ms` is how late a record may be, against the newest one seen, and still count."""

    kind: Literal["tumbling", "hopping", "sliding", "session"]
    size_ms: int  # of a session: the gap that ends it
    every_ms: int
    grace_ms: int
    offset_ms: int = 0  # how much later than at a multiple of `every_ms` it starts
    # Whose midnights days begin at; None: sizes are fixed, and days those of UTC.
    time_zone: str | None = field(default=None, metadata=LATER)
    growing: bool = field(default=False, metadata=LATER)  # a session is told whenever it changes


@dataclass(frozen=True, eq=False, kw_only=True)
class Node:
    """One operation. The same one written twice is two: a node is equal to itself only."""

    where: Where
    schema: Schema
    is_table: bool = False
    label: str | None = None  # what named() calls the operator's stage

    @property
    def inputs(self) -> "tuple[Node, ...]":
        return ()


@dataclass(frozen=True, eq=False, kw_only=True)
class Source(Node):
    topic: str  # or the pattern of topics
    key: Format
    value: Format
    timestamp: str | None = None  # event time as an expression; None: the record's own
    dead_letters: str | None = None  # where records go that do not decode
    is_global: bool = False
    internal: "Node | None" = None  # the node whose results this intermediate topic carries
    is_pattern: bool = field(default=False, metadata=LATER)

    def reads(self, topic: str) -> bool:
        """Whether a topic of the cluster is one of its own."""
        return bool(re.fullmatch(self.topic, topic)) if self.is_pattern else topic == self.topic


@dataclass(frozen=True, eq=False, kw_only=True)
class Plain(Node):
    """A DataFrame made by the user's own PySpark, from any of the `reads`."""

    frame: Any
    reads: tuple[Source, ...]
    output_mode: OutputMode

    @property
    def inputs(self) -> "tuple[Node, ...]":
        return self.reads


@dataclass(frozen=True, eq=False, kw_only=True)
class StatefulPlain(Plain):
    """One in the middle that folds or joins rows: cut off from other operators with state."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Step(Node):
    input: Node

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)


@dataclass(frozen=True, eq=False, kw_only=True)
class Filter(Step):
    condition: str


@dataclass(frozen=True, eq=False, kw_only=True)
class Project(Step):
    columns: tuple[tuple[str, str], ...]  # (name, expression), in order


@dataclass(frozen=True, eq=False, kw_only=True)
class Explode(Step):
    """A row for each element of an array (`name`), or for each entry of a map (`key`, `name`)."""

    expression: str
    name: str
    key: str | None = None
    outer: bool = False  # a row without elements passes once, with nulls


@dataclass(frozen=True, eq=False, kw_only=True)
class Transform(Step):
    """A function of the user's from DataFrame to DataFrame. It may drop what rows carry."""

    function: Callable[[Any], Any]
    obstacle: str | None  # why real-time mode cannot run it; None: it can
    output_mode: OutputMode
    on_error: OnError = "fail"


@dataclass(frozen=True, eq=False, kw_only=True)
class StatefulTransform(Transform):
    """One that folds or joins rows, so that it is cut off from other operators with state."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Deduplicate(Step):
    """The first of the rows with the same values in `on`; for ever, or within a time."""

    on: tuple[str, ...]
    within_ms: int | None


@dataclass(frozen=True, eq=False, kw_only=True)
class PythonMap(Step):
    """A Python function over rows as dictionaries: map, flat_map and peek."""

    function: Callable[[dict[str, Any]], Any]
    kind: Literal["map", "flat_map", "peek"]
    on_error: OnError = "fail"


@dataclass(frozen=True, eq=False, kw_only=True)
class Rekey(Step):
    expression: str


@dataclass(frozen=True, eq=False, kw_only=True)
class Changes(Step):
    """A table read as the stream of its updates, or a stream's latest rows read as a table."""

    name: str | None = None  # the compacted topic it is kept in


@dataclass(frozen=True, eq=False, kw_only=True)
class Merge(Node):
    parts: tuple[Node, ...]

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.parts


@dataclass(frozen=True, eq=False, kw_only=True)
class Aggregate(Step):
    keys: tuple[str, ...]
    aggregates: tuple[tuple[str, str], ...]  # (name, expression)
    window: Window | None
    final: bool  # only when the window has closed
    name: str | None


@dataclass(frozen=True, eq=False, kw_only=True)
class PythonAggregate(Aggregate):
    """Folds rows with functions of the user's. `aggregates` are its fields with their types."""

    zero: Any  # None: the first row of a group (reduce)
    function: Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]]
    merge: Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]] | None  # of two sessions


@dataclass(frozen=True, eq=False, kw_only=True)
class TableAggregate(Aggregate):
    """Folds the latest rows of a table, group by group; a row that moves leaves its old group.

    It runs as two stages: `input` is then the topic of a `Subscribe`, keyed by the group.
    """

    members: Schema = field(default=(), metadata=LATER)  # of the rows that are folded


@dataclass(frozen=True, eq=False, kw_only=True)
class Join(Node):
    left: Node
    right: Node
    kind: JoinKind

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)


@dataclass(frozen=True, eq=False, kw_only=True)
class StreamJoin(Join):
    """Two streams, by key, within a time of each other."""

    before_ms: int
    after_ms: int
    grace_ms: int


@dataclass(frozen=True, eq=False, kw_only=True)
class TableJoin(Join):
    """A stream with the latest row of a table, or two tables, by key."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ForeignKeyJoin(Join):
    """Two tables; `on` is an expression over the left row that gives the right row's key.

    It runs as two stages: `left` is then the topic of a `Subscribe`, keyed by the right row's key.
    """

    on: str
    left_schema: Schema  # of the rows that are joined, which travel inside the subscriptions


@dataclass(frozen=True, eq=False, kw_only=True)
class Subscribe(Step):
    """The first half of a foreign-key join: tells each right key which left rows want it."""

    on: str
    kind: JoinKind


@dataclass(frozen=True, eq=False, kw_only=True)
class GlobalJoin(Join):
    """A stream with a table that every task reads whole; `on` gives the table's key."""

    on: str


@dataclass(frozen=True, eq=False, kw_only=True)
class Process(Step):
    processor: Any  # a processors.Processor
    grace_ms: int
    on_error: OnError = "fail"


STATEFUL = (
    Aggregate,
    Deduplicate,
    StreamJoin,
    TableJoin,
    ForeignKeyJoin,
    StatefulPlain,
    StatefulTransform,
    Subscribe,
    Process,
)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Sink:
    where: Where
    input: Node
    topic: str  # with a route: the stage's name, and no topic
    route: str | None = None  # an expression that gives each row its topic
    value: Format | None = None  # None: JSON, or the bytes of a lone column called value
    key: str | None = None  # an expression; None: the row's key
    key_format: Format | None = None  # None: text, or the number that the row's key is
    headers: tuple[tuple[str, str], ...] = ()
    partition: str | None = None
    timestamp: str | None = None
    compacted: bool = False
    partitions: int | None = None
    retention_ms: int | None = None  # of the topic, when the application makes it; None: for ever


Latency = Literal["auto", "low", "throughput"]
Delivery = Literal["exactly_once", "at_least_once"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """Everything that was said about an application, ready to be planned."""

    name: str
    where: Where
    sinks: tuple[Sink, ...]
    latency: Latency = "auto"
    delivery: Delivery | None = None
    parallelism: int = 2
    start: Literal["earliest", "latest"] = "earliest"
    connection: Connection = field(default_factory=Connection)
    checkpoints: str | None = None  # where they lie; None: the user's folder for state
    conf: Mapping[str, str] = field(default_factory=dict)  # Spark's own settings
    memory: str = "1g"  # of Spark's driver
    connectors: tuple[Connector, ...] = ()

    @property
    def bootstrap(self) -> str:
        return self.connection.bootstrap


def changelog_topic(application: str, table: str) -> str:
    return f"{application}-{table}-changelog"


def walk(node: Node) -> Iterator[Node]:
    """The node and everything before it, each once, inputs first."""
    seen: set[Node] = set()

    def visit(at: Node) -> Iterator[Node]:
        if at in seen:
            return
        seen.add(at)
        for before in at.inputs:
            yield from visit(before)
        yield at

    yield from visit(node)
