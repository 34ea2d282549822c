"""From a definition to stages: where the graph is cut, and what the stages are called.

Pure: no Spark, no broker. Spark runs at most one stateful operator in a query that emits updates,
so a second one starts a new stage that reads the first one's results from a topic. A stateful
result that several sinks share is cut the same way, so that it is computed once.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ottla.pipelines.api.definitions import (
    STATEFUL,
    Aggregate,
    Application,
    Changes,
    ForeignKeyJoin,
    Merge,
    Node,
    Sink,
    Source,
    Subscribe,
    TableAggregate,
    Transform,
    changelog_topic,
    walk,
)
from ottla.pipelines.formats import string, values
from ottla.pipelines.formats.format import Format
from ottla.pipelines.formats.row_format import SUBSCRIPTION, Kept, Row, Subscription
from ottla.pipelines.planning.signatures import origin, signature, title
from ottla.pipelines.planning.stages import (
    Mode,
    Stage,
    buries,
    make_stage,
    separates,
    with_dead_letters,
    without_repeats,
)
from ottla.pipelines.runtime.where import DefinitionError


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Stages in the order in which results flow through them."""

    application: Application
    stages: tuple[Stage, ...]
    # Releases before manifests numbered intermediate topics by their place: new names to old.
    numbered: Mapping[str, str] = field(default_factory=dict)

    def read_topics(self) -> tuple[Source, ...]:
        """What must exist before the application starts, each topic once."""
        found = {
            source.topic: source
            for stage in self.stages
            for source in stage.sources
            if source.internal is None
        }
        return tuple(found.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """What runs already, as far as it decides where the new code is cut.

    A state stays where it is: one that several sinks share now, but that a sink's own stage keeps,
    is left there, and one that has a topic of its own keeps it when only one sink is left.
    """

    fused: frozenset[str] = frozenset()  # sinks whose own stage keeps the state
    # Of intermediate stages, by signature: their names, and the sinks each of them leads to.
    names: Mapping[str, Mapping[str, frozenset[str]]] = field(default_factory=dict)
    internal: frozenset[str] = frozenset()  # names of intermediate stages
    dead: Mapping[str, str] = field(
        default_factory=dict
    )  # stages that carry a topic's dead letters


def make_plan(
    application: Application, *, force: Mode | None = None, before: Before | None = None
) -> Plan:
    """Cut the application into stages. `force` overrides the choice of engine (for replays)."""
    if not application.sinks:
        raise DefinitionError(application.where, "the application writes nothing: add to().")
    before = before or Before()
    cutter = _Cutter(application, before)
    for sink in application.sinks:
        cutter.cut_sink(sink)
    stages = [make_stage(application, sink, cutter.internal, force) for sink in cutter.sinks]
    if application.latency != "low" and application.delivery is None:
        stages = without_repeats(stages)
    stages = with_dead_letters(application, stages, before.dead)
    _check_patterns(stages)
    return Plan(application=application, stages=tuple(stages), numbered=cutter.numbered)


@dataclass
class _Cutter:
    application: Application
    before: Before
    sinks: list[Sink] = field(default_factory=list)
    internal: set[str] = field(default_factory=set)
    done: dict[int, Node] = field(default_factory=dict)
    topics: dict[int, Source] = field(default_factory=dict)
    subscriptions: dict[int, Subscribe] = field(default_factory=dict)  # by what they are for
    numbered: dict[str, str] = field(default_factory=dict)
    fused: bool = False  # whether the sink that is being cut keeps its state
    hidden: int = 0  # how many of the user's own frames the node lies behind
    merging: int = 0  # how many merges
    trying: int = 0  # how many whose failing records are looked for

    def __post_init__(self) -> None:
        self.users = Counter(
            id(node)
            for sink in self.application.sinks
            if sink.topic not in self.before.fused
            for node in walk(sink.input)
        )
        self.kept = {
            id(sink.input): sink.topic
            for sink in self.application.sinks
            if isinstance(sink.input, Aggregate | Changes)
            and sink.input.name is not None
            and sink.topic == changelog_topic(self.application.name, sink.input.name)
        }
        nodes = {id(node): node for sink in self.application.sinks for node in walk(sink.input)}
        for node in nodes.values():
            if isinstance(node, ForeignKeyJoin):
                self.subscriptions[id(node)] = _subscription(node)
            if isinstance(node, TableAggregate):
                self.subscriptions[id(node)] = _members(node)
        tried = {id(at) for node in nodes.values() if separates(node) for at in walk(node)}
        stateful = [
            node
            for node in nodes.values()
            if isinstance(node, STATEFUL)
            or buries(node)
            or separates(node)
            or (isinstance(node, Merge) and id(node) in tried)
        ]
        leads_to: dict[int, str] = {}
        for sink in sorted(self.application.sinks, key=lambda sink: sink.topic):
            for node in walk(sink.input):
                leads_to.setdefault(id(node), sink.topic)
        leads_to |= {id(asks): leads_to[join] for join, asks in self.subscriptions.items()}
        self.names = _names(
            self.application.name,
            [*stateful, *self.subscriptions.values()],
            leads_to,
            self.before,
        )

    def cut_sink(self, sink: Sink) -> None:
        if any(done.topic == sink.topic for done in self.sinks):
            return  # a kept table that another sink needed first
        self.fused = sink.topic in self.before.fused
        if self.kept.get(id(sink.input)) == sink.topic:
            self.topic_of(sink.input)
            return
        self.sinks.append(replace(sink, input=self.rewrite(sink.input, below_stateful=False)))

    def rewrite(self, node: Node, *, below_stateful: bool) -> Node:
        """The node with every cut before it made. `below_stateful`: results feed another state."""
        if id(node) in self.kept or (
            isinstance(node, STATEFUL) and (below_stateful or self._shared(node))
        ):
            return self.topic_of(node)
        if (below_stateful or self.hidden) and buries(node):
            return self.topic_of(node)  # what comes after would not pass dead letters on
        if separates(node) and (below_stateful or self.hidden or self.merging):
            return self.topic_of(node)  # what is tried again must be a stage's only such
        if self.trying and isinstance(node, Merge):
            return self.topic_of(node)  # a record to be found stands in one place
        return self.inside(node, below_stateful=below_stateful)

    def _shared(self, node: Node) -> bool:
        if self.fused:
            return False
        return self.users[id(node)] > 1 or self.names[id(node)] in self.before.internal

    def inside(self, node: Node, *, below_stateful: bool) -> Node:
        deeper = below_stateful or isinstance(node, STATEFUL) or separates(node)
        self.hidden += isinstance(node, Transform)
        self.merging += isinstance(node, Merge)
        self.trying += separates(node)
        try:
            return self.rebuilt(node, deeper)
        finally:
            self.hidden -= isinstance(node, Transform)
            self.merging -= isinstance(node, Merge)
            self.trying -= separates(node)

    def rebuilt(self, node: Node, deeper: bool) -> Node:
        if isinstance(node, ForeignKeyJoin):
            left = self.topic_of(self.subscriptions[id(node)])
            return replace(node, left=left, right=self.rewrite(node.right, below_stateful=True))
        if isinstance(node, TableAggregate):
            return replace(node, input=self.topic_of(self.subscriptions[id(node)]))
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
        around, self.merging, self.trying = (self.merging, self.trying), 0, 0
        inner = self.inside(node, below_stateful=False)
        self.merging, self.trying = around
        topic = self.kept.get(id(node))
        kept = topic is not None
        if topic is None:
            topic = self.names[id(node)]
            number = len(self.internal) + 1
            place = f"{self.application.name}-{number}-{type(node).__name__.lower()}"
            self.numbered[topic] = place
            self.internal.add(topic)
        sink = Sink(
            where=node.where, input=inner, topic=topic, value=Kept() if kept else Row(),
            compacted=node.is_table,
        )  # fmt: skip
        self.sinks.append(sink)
        source = Source(
            where=node.where,
            schema=node.schema,
            is_table=node.is_table,
            topic=topic,
            key=string(),
            value=_read_back(node, kept=kept),
            dead_letters=f"{self.application.name}-dead-letters",
            internal=inner,
        )
        self.topics[id(node)] = source
        return source


def _read_back(node: Node, *, kept: bool) -> Format:
    """The format in which a later stage reads a node's results."""
    if kept:
        return Kept(node.schema)
    return Subscription() if isinstance(node, Subscribe) else Row(node.schema)


def _subscription(join: ForeignKeyJoin) -> Subscribe:
    return Subscribe(
        where=join.where, schema=SUBSCRIPTION, input=join.left, on=join.on, kind=join.kind,
        label=f"{join.label}-asks" if join.label else None,
    )  # fmt: skip


def _members(fold: TableAggregate) -> Subscribe:
    """The first half of an aggregate over a table: tells each group which rows are in it."""
    nulls = " OR ".join(f"{values.name(key)} IS NULL" for key in fold.keys)
    group = f"if({nulls}, NULL, {values.row_text(values.struct_of(fold.keys))})"
    return Subscribe(
        where=fold.where, schema=SUBSCRIPTION, input=fold.input, on=group, kind="inner",
        label=f"{fold.label or origin(fold.input)}-in-{'-'.join(fold.keys)}",
    )  # fmt: skip


def _names(
    application: str, nodes: list[Node], sinks: Mapping[int, str], before: Before
) -> dict[int, str]:
    """What the stage of each operator would be called: after what it is, never where it stands.

    Those with the same title are told apart by the sink they lead to. One that is exactly what runs
    already keeps the name it has there, whoever else has come to share its title.
    """
    marks = {id(node): signature(node) for node in nodes}
    titles = {id(node): title(application, node) for node in nodes}
    shared = Counter(titles.values())
    alike = Counter(marks.values())
    found: dict[int, str] = {}
    for node in nodes:
        name = titles[id(node)]
        if shared[name] > 1:
            name = f"{name}-for-{sinks[id(node)]}"
        known = before.names.get(marks[id(node)], {})
        its = [other for other, leads in known.items() if sinks[id(node)] in leads]
        if name not in known and len(its or known) == 1 and (its or alike[marks[id(node)]] == 1):
            [name] = its or known
        found[id(node)] = name
    for base in (name for name, count in shared.items() if count > 1 and name in before.internal):
        unknown = [
            n for n in nodes if titles[id(n)] == base and found[id(n)] not in before.internal
        ]
        if base not in found.values() and len(unknown) == 1:
            found[id(unknown[0])] = base  # it was changed as another came to share its title
    return _unique(found, nodes)


def _unique(names: dict[int, str], nodes: list[Node]) -> dict[int, str]:
    """Operators of one title that lead to the same sink are numbered, as they stand in it."""
    seen: Counter[str] = Counter()
    result = {}
    for node in nodes:
        name = names[id(node)]
        seen[name] += 1
        result[id(node)] = name if seen[name] == 1 else f"{name}-{seen[name]}"
    return result


def _check_patterns(stages: list[Stage]) -> None:
    """Refuse a pattern that would read what the application writes, and so never come to an end."""
    written = {stage.sink.topic for stage in stages if stage.sink.route is None}
    written |= {source.dead_letters or "" for stage in stages for source in stage.letters}
    for source in (source for stage in stages for source in stage.sources if source.is_pattern):
        if mine := sorted(filter(source.reads, written)):
            raise DefinitionError(
                source.where,
                f"the pattern {source.topic} also reads {', '.join(mine)}, which the application "
                "writes.",
            )


def renamed(topic: str, generation: int) -> str:
    """The topic of a later generation: a replay writes beside what is there, never over it."""
    return topic if generation == 1 else f"{topic}-v{generation}"


def written_topics(plan: Plan) -> Mapping[str, Sink]:
    """The topics that stages write, as far as it is not their rows that say them."""
    return {
        stage.sink.topic: stage.sink
        for stage in plan.stages
        if not stage.only_dead and stage.sink.route is None
    }
