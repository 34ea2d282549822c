"""From a definition to stages: where the graph is cut, and which engine each stage gets.

Pure: no Spark, no broker. Spark runs at most one stateful operator in a query that emits updates,
so a second one starts a new stage that reads the first one's results from a topic. A stateful
result that several sinks share is cut the same way, so that it is computed once.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ottla.pipelines.app import changelog_topic
from ottla.pipelines.definitions import (
    Aggregate,
    Application,
    Changes,
    DefinitionError,
    Delivery,
    Field,
    ForeignKeyJoin,
    Format,
    Node,
    OutputMode,
    Plain,
    Process,
    PythonMap,
    Sink,
    Source,
    StreamJoin,
    Subscribe,
    TableJoin,
    walk,
)
from ottla.pipelines.formats import string

Mode = Literal["real-time", "micro-batch"]
STATEFUL = (Aggregate, StreamJoin, TableJoin, ForeignKeyJoin, Subscribe, Process)
SUBSCRIPTION = (
    Field("pk", "STRING"),
    Field("row", "STRING"),
    Field("silent", "BOOLEAN"),
    Field("version", "BIGINT"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One Spark query: what it reads, the one topic it writes, and how it runs."""

    name: str
    sink: Sink
    sources: tuple[Source, ...]
    mode: Mode
    why: str
    delivery: Delivery
    internal: bool
    dead: tuple[Source, ...] = ()  # sources whose undecodable records this stage carries along
    only_dead: bool = False  # it writes nothing but the dead letters of `dead`

    @property
    def node(self) -> Node:
        return self.sink.input

    @property
    def stateful(self) -> Node | None:
        return next((node for node in walk(self.node) if isinstance(node, STATEFUL)), None)

    @property
    def by_foreign_key(self) -> bool:
        """Whether rows move between keys, so that what was true of one must never come again."""
        return isinstance(self.stateful, ForeignKeyJoin | Subscribe)

    @property
    def output_mode(self) -> OutputMode:
        if isinstance(self.node, Plain):
            return self.node.output_mode
        node = self.stateful
        if isinstance(node, StreamJoin) or (isinstance(node, Aggregate) and node.final):
            return "append"
        if node is None and self.mode == "micro-batch":
            return "append"
        return "update"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Stages in the order in which results flow through them."""

    application: Application
    stages: tuple[Stage, ...]

    def read_topics(self) -> tuple[Source, ...]:
        """What must exist before the application starts, each topic once."""
        found = {
            source.topic: source
            for stage in self.stages
            for source in stage.sources
            if source.internal is None
        }
        return tuple(found.values())


def make_plan(application: Application, *, force: Mode | None = None) -> Plan:
    """Cut the application into stages. `force` overrides the choice of engine (for replays)."""
    if not application.sinks:
        raise DefinitionError(application.where, "the application writes nothing: add to().")
    cutter = _Cutter(application)
    for sink in application.sinks:
        cutter.cut_sink(sink)
    stages = [_stage(application, sink, cutter.internal, force) for sink in cutter.sinks]
    if application.latency != "low" and application.delivery is None:
        stages = _without_repeats(stages)
    return Plan(application=application, stages=tuple(_with_dead_letters(application, stages)))


@dataclass
class _Cutter:
    application: Application
    sinks: list[Sink] = field(default_factory=list)
    internal: set[str] = field(default_factory=set)
    done: dict[int, Node] = field(default_factory=dict)
    topics: dict[int, Source] = field(default_factory=dict)
    subscriptions: list[Node] = field(default_factory=list)  # alive, so that no other has their id
    count: int = 0

    def __post_init__(self) -> None:
        self.users = Counter(
            id(node) for sink in self.application.sinks for node in walk(sink.input)
        )
        self.kept = {
            id(sink.input): sink.topic
            for sink in self.application.sinks
            if isinstance(sink.input, Aggregate | Changes)
            and sink.input.name is not None
            and sink.topic == changelog_topic(self.application.name, sink.input.name)
        }

    def cut_sink(self, sink: Sink) -> None:
        if any(done.topic == sink.topic for done in self.sinks):
            return  # a kept table that another sink needed first
        if self.kept.get(id(sink.input)) == sink.topic:
            self.topic_of(sink.input)
            return
        self.sinks.append(replace(sink, input=self.rewrite(sink.input, below_stateful=False)))

    def rewrite(self, node: Node, *, below_stateful: bool) -> Node:
        """The node with every cut before it made. `below_stateful`: results feed another state."""
        if id(node) in self.kept or (
            isinstance(node, STATEFUL) and (below_stateful or self.users[id(node)] > 1)
        ):
            return self.topic_of(node)
        return self.inside(node, below_stateful=below_stateful)

    def inside(self, node: Node, *, below_stateful: bool) -> Node:
        deeper = below_stateful or isinstance(node, STATEFUL)
        if isinstance(node, ForeignKeyJoin):
            subscribe = Subscribe(
                where=node.where, schema=SUBSCRIPTION, input=node.left, on=node.on, kind=node.kind
            )
            self.subscriptions.append(subscribe)
            left = self.topic_of(subscribe)
            return replace(node, left=left, right=self.rewrite(node.right, below_stateful=True))
        changed: dict[str, Any] = {
            name: self.rewrite(value, below_stateful=deeper)
            for name, value in vars(node).items()
            if isinstance(value, Node) and name != "internal"
        }
        if parts := getattr(node, "parts", None):
            changed["parts"] = tuple(self.rewrite(p, below_stateful=deeper) for p in parts)
        return replace(node, **changed) if changed else node

    def topic_of(self, node: Node) -> Source:
        """Write the node's results to a topic of the application, and read them from there."""
        if id(node) in self.topics:
            return self.topics[id(node)]
        inner = self.inside(node, below_stateful=False)
        topic = self.kept.get(id(node))
        if topic is None:
            self.count += 1
            topic = f"{self.application.name}-{self.count}-{type(node).__name__.lower()}"
            self.internal.add(topic)
        sink = Sink(
            where=node.where, input=inner, topic=topic, value=Format("json"),
            compacted=node.is_table,
        )  # fmt: skip
        self.sinks.append(sink)
        source = Source(
            where=node.where,
            schema=node.schema,
            is_table=node.is_table,
            topic=topic,
            key=string(),
            value=Format("json", node.schema),
            internal=inner,
        )
        self.topics[id(node)] = source
        return source


def _stage(application: Application, sink: Sink, internal: set[str], force: Mode | None) -> Stage:
    obstacle = _obstacle(sink)
    mode: Mode = "real-time"
    if obstacle is not None:
        if application.latency == "low":
            raise DefinitionError(
                obstacle[0].where,
                f"latency='low' asks for real-time mode, which Spark does not allow here: "
                f"{obstacle[1]}.",
            )
        mode, why = "micro-batch", obstacle[1]
    elif application.latency == "throughput":
        mode, why = "micro-batch", "the application asks for throughput"
    elif application.delivery == "exactly_once":
        mode, why = "micro-batch", "the application asks for exactly once"
    else:
        why = "every operator in it is one that real-time mode runs"
    if force is not None and force != mode:
        mode, why = force, "this run asks for it"
    delivery: Delivery = "at_least_once"
    if mode == "micro-batch":
        delivery = application.delivery or "exactly_once"
    sources = tuple(node for node in walk(sink.input) if isinstance(node, Source))
    stage = Stage(
        name=sink.topic,
        sink=sink,
        sources=sources,
        mode=mode,
        why=why,
        delivery=delivery,
        internal=sink.topic in internal,
    )
    if stage.by_foreign_key and mode == "micro-batch":
        # Spark's own sink knows no versions, and a repeat brings back a row that has moved on.
        return replace(stage, delivery="exactly_once")
    return stage


def _without_repeats(stages: list[Stage]) -> list[Stage]:
    """Rows that a later stage counts must not repeat, so what writes them delivers exactly once."""
    counted = {
        source.topic
        for stage in stages
        if isinstance(stage.stateful, Aggregate | Process | StreamJoin)
        for source in stage.sources
        if source.internal is not None and not source.is_table
    }
    while True:
        behind = {
            source.topic
            for stage in stages
            if stage.sink.topic in counted
            for source in stage.sources
            if source.internal is not None and not source.is_table
        }
        if behind <= counted:
            break
        counted |= behind
    why = "a later stage counts its rows, so none may repeat"
    return [
        replace(stage, mode="micro-batch", delivery="exactly_once", why=why)
        if stage.sink.topic in counted and stage.mode == "real-time"
        else stage
        for stage in stages
    ]


def _obstacle(sink: Sink) -> tuple[Node, str] | None:
    """What keeps the stage from real-time mode: the node, and the reason in half a sentence."""
    for node in walk(sink.input):
        match node:
            case PythonMap(kind=kind):
                return node, f"{kind}() runs a Python function"
            case StreamJoin():
                return node, "two streams are joined"
            case Aggregate(window=window, final=final) if window is not None:
                if window.kind in ("session", "sliding"):
                    return node, f"{window.kind} windows are not in it"
                if final:
                    return node, "suppress() waits for windows to close"
            case ForeignKeyJoin() | Subscribe():
                return node, "a foreign-key join keeps its state in Python"
            case Process():
                return node, "a custom processor keeps its state in Python"
            case Plain():
                return node, "a DataFrame of your own may hold anything"
    if sink.timestamp is not None:
        return sink.input, "its Kafka sink cannot set timestamps"
    return None


def _with_dead_letters(application: Application, stages: list[Stage]) -> list[Stage]:
    """Give the dead letters of each source to exactly one stage.

    A stateless stage carries them along; when no stage can, one more is added for them alone. A
    global table is read anew by every batch, so its bad records are found by a reader of its own.
    """
    read = [source for stage in stages for source in stage.sources if may_fail(source)]
    waiting = {s.topic: replace(s, is_global=False) for s in read if s.is_global}
    waiting |= {source.topic: source for source in read if not source.is_global}
    result = []
    for stage in stages:
        mine: tuple[Source, ...] = ()
        if stage.stateful is None and not isinstance(stage.node, Plain):
            streamed = (source for source in stage.sources if not source.is_global)
            mine = tuple(s for s in streamed if waiting.pop(s.topic, None) is not None)
        result.append(replace(stage, dead=mine))
    if waiting:
        result.append(_dead_letter_stage(application, tuple(waiting.values())))
    return result


def _dead_letter_stage(application: Application, sources: tuple[Source, ...]) -> Stage:
    """One more query, for the sources whose readers keep state and so cannot carry bad rows."""
    assert sources[0].dead_letters is not None
    sink = Sink(where=sources[0].where, input=sources[0], topic=sources[0].dead_letters)
    return Stage(
        name=f"{application.name}-dead-letters",
        sink=sink,
        sources=sources,
        mode="micro-batch",
        why="dead letters can wait a second",
        delivery=application.delivery or "at_least_once",
        internal=False,
        dead=sources,
        only_dead=True,
    )


def may_fail(source: Source) -> bool:
    """Whether a record can fail to decode: text and bytes always can be read."""
    checked = source.value.name in ("json", "long") or source.key.name == "long"
    return source.internal is None and checked


def renamed(topic: str, generation: int) -> str:
    """The topic of a later generation: a replay writes beside what is there, never over it."""
    return topic if generation == 1 else f"{topic}-v{generation}"


def written_topics(plan: Plan) -> Mapping[str, Sink]:
    return {stage.sink.topic: stage.sink for stage in plan.stages if not stage.only_dead}
