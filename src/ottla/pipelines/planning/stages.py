"""One stage: which engine it gets, what it promises, and whose dead letters it carries.

Pure. Where an application is cut into stages is `plan`'s affair, how a stage runs `phases`'.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from ottla.pipelines.api.definitions import (
    STATEFUL,
    Aggregate,
    Application,
    Deduplicate,
    Delivery,
    ForeignKeyJoin,
    Node,
    OutputMode,
    Plain,
    Process,
    PythonAggregate,
    PythonMap,
    Sink,
    Source,
    StatefulPlain,
    StatefulTransform,
    StreamJoin,
    Subscribe,
    TableAggregate,
    Transform,
    walk,
)
from ottla.pipelines.runtime.where import DefinitionError

Mode = Literal["real-time", "micro-batch"]
TRIED = "the records that transform() fails on are found by trying a batch again"


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
    def buries(self) -> bool:
        """Whether the user's own code, or a topic that rows say, makes dead letters here."""
        return self.sink.route is not None or any(map(buries, walk(self.node)))

    @property
    def letters(self) -> tuple[Source, ...]:
        """The sources whose records this stage may write to dead letters, for either reason."""
        if not self.buries:
            return self.dead
        return tuple(source for source in self.sources if not source.is_global)

    @property
    def by_foreign_key(self) -> bool:
        """Whether rows move between keys, so that what was true of one must never come again."""
        return isinstance(self.stateful, ForeignKeyJoin | Subscribe)

    @property
    def output_mode(self) -> OutputMode:
        if isinstance(self.node, Plain):
            return self.node.output_mode
        node = self.stateful
        if isinstance(node, StatefulPlain | StatefulTransform):
            return node.output_mode
        if isinstance(node, StreamJoin | Deduplicate) or (
            isinstance(node, Aggregate) and node.final
        ):
            return "append"
        if node is None and self.mode == "micro-batch":
            return "append"
        return "update"


def make_stage(
    application: Application, sink: Sink, internal: set[str], force: Mode | None
) -> Stage:
    obstacle = _obstacle(sink)
    mode: Mode = "real-time"
    if obstacle is not None:
        if application.latency == "low":
            way_out = " (on_error='fail' keeps it)" if obstacle[1] == TRIED else ""
            raise DefinitionError(
                obstacle[0].where,
                f"latency='low' asks for real-time mode, which Spark does not allow here: "
                f"{obstacle[1]}{way_out}.",
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
    if separating(stage.node) is not None:  # so that a batch can be written in two goes
        return replace(stage, delivery="exactly_once")
    return stage


def without_repeats(stages: list[Stage]) -> list[Stage]:
    """Rows that a later stage counts must not repeat, so what writes them delivers exactly once."""
    counted = {
        source.topic
        for stage in stages
        if isinstance(stage.stateful, Aggregate | Process | StreamJoin | StatefulTransform)
        or separating(stage.node) is not None
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
            case PythonAggregate():
                return node, "it folds with a Python function"
            case TableAggregate():
                return node, "an aggregate over a table keeps its state in Python"
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
            case Transform(obstacle=obstacle) if obstacle is not None:
                return node, obstacle
            case Transform(on_error=on_error) if on_error != "fail":
                return node, TRIED
            case Deduplicate(within_ms=within_ms) if within_ms is not None:
                return node, "duplicates within a time are not in it"
    if sink.timestamp is not None:
        return sink.input, "its Kafka sink cannot set timestamps"
    return None


def with_dead_letters(
    application: Application, stages: list[Stage], before: Mapping[str, str]
) -> list[Stage]:
    """Give the dead letters of each source to exactly one stage, that of before if it is there.

    A stateless stage carries them along; when no stage can, one more is added for them alone. A
    global table is read anew by every batch, so its bad records are found by a reader of its own.
    """
    read = [source for stage in stages for source in stage.sources if may_fail(source)]
    waiting = {s.topic: replace(s, is_global=False) for s in read if s.is_global}
    waiting |= {source.topic: source for source in read if not source.is_global}
    result = []
    gone = set(before.values()) - {stage.name for stage in stages}
    gone.discard(f"{application.name}-dead-letters")
    for stage in stages:
        mine: tuple[Source, ...] = ()
        mixed = any(isinstance(node, Plain | Transform) for node in walk(stage.node))
        if stage.stateful is None and not mixed:
            streamed = (
                source
                for source in stage.sources
                if not source.is_global
                and before.get(source.topic, stage.name) in (stage.name, *gone)
            )
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


def buries(node: Node) -> bool:
    return isinstance(node, PythonMap | Process | Transform) and node.on_error == "dead_letter"


def separates(node: Node) -> bool:
    """Whether records are to be found that it fails on: it is the only such one in its stage."""
    return isinstance(node, Transform) and node.on_error != "fail"


def separating(node: Node) -> Transform | None:
    """The transform() of a stage whose failing records are looked for."""
    found = (at for at in walk(node) if isinstance(at, Transform) and separates(at))
    return next(found, None)


def may_fail(source: Source) -> bool:
    """Whether a record can fail to decode: text and bytes always can be read."""
    return source.value.may_fail or source.key.may_fail
