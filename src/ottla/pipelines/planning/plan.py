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
from ottla.pipelines.planning.naming import Before, stage_names
from ottla.pipelines.planning.signatures import origin
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


@dataclass(frozen=True, slots=True)
class _Place:
    """What comes after a node in its stage, as far as it decides whether it may stay in it."""

    fused: bool = False  # the sink's own stage keeps the state
    feeds_state: bool = False  # an operator with state takes the results
    hidden: bool = False  # behind a frame of the user's own, which may drop what rows carry
    merged: bool = False
    tried: bool = False  # before an operator whose failing records are looked for

    def before(self, node: Node) -> "_Place":
        """The place of what the node reads."""
        return replace(
            self,
            feeds_state=self.feeds_state or isinstance(node, STATEFUL) or separates(node),
            hidden=self.hidden or isinstance(node, Transform),
            merged=self.merged or isinstance(node, Merge),
            tried=self.tried or separates(node),
        )

    def in_a_stage_of_its_own(self) -> "_Place":
        return replace(self, feeds_state=False, merged=False, tried=False)


class _Cutter:
    """Goes through an application sink by sink. Topics that it cuts at are known by their names."""

    def __init__(self, application: Application, before: Before) -> None:
        self.application = application
        self.before = before
        self.sinks: list[Sink] = []
        self.internal: set[str] = set()
        self.numbered: dict[str, str] = {}
        self._topics: dict[str, Source] = {}
        self._users = Counter(
            node
            for sink in application.sinks
            if sink.topic not in before.fused
            for node in walk(sink.input)
        )
        self._kept = _kept_tables(application)
        nodes = list(dict.fromkeys(node for sink in application.sinks for node in walk(sink.input)))
        self._subscriptions = {
            node: _first_half(node)
            for node in nodes
            if isinstance(node, ForeignKeyJoin | TableAggregate)
        }
        leads_to = _sinks_behind(application)
        asks = {asks: leads_to[node] for node, asks in self._subscriptions.items()}
        named = {node: leads_to[node] for node in _may_be_cut(nodes)} | asks
        self._names = stage_names(application.name, named, before)

    def cut_sink(self, sink: Sink) -> None:
        if any(done.topic == sink.topic for done in self.sinks):
            return  # a kept table that another sink needed first
        place = _Place(fused=sink.topic in self.before.fused)
        if self._kept.get(sink.input) == sink.topic:
            self._topic_of(sink.input, place)
            return
        self.sinks.append(replace(sink, input=self._rewritten(sink.input, place)))

    def _rewritten(self, node: Node, place: _Place) -> Node:
        """The node with every cut before it made, or the topic that it is read from."""
        return self._topic_of(node, place) if self._cuts(node, place) else self._inside(node, place)

    def _cuts(self, node: Node, place: _Place) -> bool:
        if node in self._kept:
            return True
        if isinstance(node, STATEFUL) and (place.feeds_state or self._shared(node, place)):
            return True
        if buries(node) and (place.feeds_state or place.hidden):
            return True  # what comes after would not pass dead letters on
        if separates(node) and (place.feeds_state or place.hidden or place.merged):
            return True  # what is tried again must be a stage's only such
        return place.tried and isinstance(node, Merge)  # a record to be found stands in one place

    def _shared(self, node: Node, place: _Place) -> bool:
        if place.fused:
            return False
        return self._users[node] > 1 or self._names[node] in self.before.internal

    def _inside(self, node: Node, place: _Place) -> Node:
        before = place.before(node)
        if isinstance(node, ForeignKeyJoin):
            left = self._topic_of(self._subscriptions[node], before)
            return replace(node, left=left, right=self._rewritten(node.right, before))
        if isinstance(node, TableAggregate):
            return replace(node, input=self._topic_of(self._subscriptions[node], before))
        changed: dict[str, Any] = {
            name: self._rewritten(value, before)
            for name, value in vars(node).items()
            if isinstance(value, Node) and name != "internal"
        }
        if parts := getattr(node, "parts", None):
            changed["parts"] = tuple(self._rewritten(part, before) for part in parts)
        return replace(node, **changed) if changed else node

    def _topic_of(self, node: Node, place: _Place) -> Source:
        """Write the node's results to a topic of the application, and read them from there."""
        kept = node in self._kept
        topic = self._kept[node] if kept else self._names[node]
        if topic in self._topics:
            return self._topics[topic]
        inner = self._inside(node, place.in_a_stage_of_its_own())
        if not kept:
            number = len(self.internal) + 1
            self.numbered[topic] = f"{self.application.name}-{number}-{type(node).__name__.lower()}"
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
        self._topics[topic] = source
        return source


def _kept_tables(application: Application) -> dict[Node, str]:
    """The tables that were given a name, each with the topic that it is kept in."""
    return {
        sink.input: sink.topic
        for sink in application.sinks
        if isinstance(sink.input, Aggregate | Changes)
        and sink.input.name is not None
        and sink.topic == changelog_topic(application.name, sink.input.name)
    }


def _sinks_behind(application: Application) -> dict[Node, str]:
    """A sink that each node leads to: the first by name, so that their order plays no part."""
    found: dict[Node, str] = {}
    for sink in sorted(application.sinks, key=lambda sink: sink.topic):
        for node in walk(sink.input):
            found.setdefault(node, sink.topic)
    return found


def _may_be_cut(nodes: list[Node]) -> list[Node]:
    """Those that may come to write a topic of the application."""
    tried = {at for node in nodes if separates(node) for at in walk(node)}
    return [
        node
        for node in nodes
        if isinstance(node, STATEFUL)
        or buries(node)
        or separates(node)
        or (isinstance(node, Merge) and node in tried)
    ]


def _read_back(node: Node, *, kept: bool) -> Format:
    """The format in which a later stage reads a node's results."""
    if kept:
        return Kept(node.schema)
    return Subscription() if isinstance(node, Subscribe) else Row(node.schema)


def _first_half(node: ForeignKeyJoin | TableAggregate) -> Subscribe:
    return _subscription(node) if isinstance(node, ForeignKeyJoin) else _members(node)


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
