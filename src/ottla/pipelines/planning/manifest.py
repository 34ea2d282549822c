"""What an application runs, written down, and the comparison of two such descriptions.

Pure: no Spark, no files. A manifest says of every stage what it reads, does, keeps and writes, and
under which names. `compare` judges stage by stage: the same; compatible, which takes effect from
now on; to be rebuilt, because the state of before would give wrong results; new; removed.
"""

import difflib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from ottla.pipelines.api.definitions import Node, Plain, Project, Sink, Source, walk
from ottla.pipelines.planning.explain import words
from ottla.pipelines.planning.naming import Before
from ottla.pipelines.planning.plan import Plan
from ottla.pipelines.planning.signatures import columns, layout, signature
from ottla.pipelines.planning.stages import Stage
from ottla.version import VERSION

FORMAT = 1
Kind = Literal["same", "compatible", "rebuild", "new", "removed"]
WORDS = {
    "keys": ("key", "was", "is"),
    "aggregates": ("aggregates", "were", "are"),
    "takes": ("way to take rows back", "was", "is"),
}
Columns = tuple[tuple[str, str | None], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StageRecord:
    """One stage as it runs. `topic` and `checkpoint` are real names, `name` is the code's."""

    name: str
    topic: str
    checkpoint: str
    version: int = 1
    internal: bool
    table: bool
    reads: tuple[str, ...]  # topics in the order of Spark's sources, internal ones by stage name
    streams: tuple[str, ...] = ()  # those of `reads` that are read row by row, not as a table
    steps: tuple[str, ...] = ()
    state: Mapping[str, Any] | None = None
    columns: Columns = ()
    key: str | None = None  # by which a table is written, when it is not its own
    dead: tuple[str, ...] = ()
    signature: str = ""
    leads_to: tuple[str, ...] = ()  # of an intermediate stage: the stages behind it that are public


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    application: str
    stages: Mapping[str, StageRecord]
    ottla: str = VERSION
    format: int = FORMAT
    switching: tuple[str, ...] = ()  # rebuilt stages whose table is yet to be brought over
    retired: Mapping[str, StageRecord] = field(default_factory=dict)  # no longer run; state is left

    @property
    def known(self) -> dict[str, StageRecord]:
        """Every stage whose state is there: one that comes back goes on where it stopped."""
        return {**self.retired, **self.stages}

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1, sort_keys=True) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "Manifest":
        said = json.loads(text)
        stages = {name: _record(record) for name, record in said["stages"].items()}
        retired = {name: _record(record) for name, record in said.get("retired", {}).items()}
        return cls(
            application=said["application"], stages=stages, ottla=said["ottla"],
            format=said["format"], switching=tuple(said.get("switching", ())),
            retired=retired,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the change of one stage means. `changes` are half sentences."""

    stage: str
    kind: Kind
    changes: tuple[str, ...] = ()
    old: StageRecord | None = field(default=None, compare=False)
    new: StageRecord | None = field(default=None, compare=False)


def describe(plan: Plan) -> Manifest:
    """The manifest of a plan that has never run: every stage under its own name."""
    stages = {stage.name: _stage_record(stage) for stage in plan.stages}
    for name, record in stages.items():
        if record.internal:
            stages[name] = replace(record, leads_to=tuple(sorted(_behind(name, stages))))
    return Manifest(application=plan.application.name, stages=stages)


def before(manifest: Manifest) -> Before:
    """What the cutting of new code must know of what runs."""
    names: dict[str, dict[str, frozenset[str]]] = {}
    for record in manifest.known.values():
        if record.internal:
            names.setdefault(record.signature, {})[record.name] = frozenset(record.leads_to)
    return Before(
        fused=frozenset(
            r.name for r in manifest.known.values() if r.state is not None and not r.internal
        ),
        names=names,
        internal=frozenset(r.name for r in manifest.known.values() if r.internal),
        dead={topic: r.name for r in manifest.known.values() for topic in r.dead},
    )


def compare(old: Manifest, new: Manifest) -> list[Verdict]:
    """A verdict for every stage, the new ones in their order, then those that are gone."""
    found = {name: _judge(old.known.get(name), record) for name, record in new.stages.items()}
    _spread(found, old, new)
    gone = [
        Verdict(stage=name, kind="removed", old=record)
        for name, record in old.stages.items()
        if name not in new.stages
    ]
    return [*found.values(), *gone]


def settled(old: Manifest, new: Manifest, verdicts: Iterable[Verdict]) -> Manifest:
    """The new manifest under the names that are in use; rebuilt stages get fresh ones."""
    stages = dict(new.stages)
    for verdict in verdicts:
        record, before = stages.get(verdict.stage), verdict.old
        if record is None or before is None:
            continue
        if verdict.kind == "rebuild":
            stages[verdict.stage] = next_version(before, record)
        else:
            stages[verdict.stage] = replace(
                record,
                topic=before.topic,
                checkpoint=before.checkpoint,
                version=before.version,
            )
    retired = {name: record for name, record in old.known.items() if name not in stages}
    return replace(new, stages=stages, retired=retired)


def next_version(before: StageRecord, record: StageRecord) -> StageRecord:
    """A stage that is built anew beside the old one. Its public topic stays what it is."""
    version = before.version + 1
    return replace(
        record,
        version=version,
        checkpoint=f"{record.name}~{version}",  # no topic's name has a tilde
        topic=f"{record.name}-{version}" if record.internal else before.topic,
    )


def _behind(name: str, stages: Mapping[str, StageRecord]) -> set[str]:
    found: set[str] = set()
    for record in stages.values():
        if name in record.reads:
            found |= _behind(record.name, stages) if record.internal else {record.name}
    return found


def _stage_record(stage: Stage) -> StageRecord:
    node = stage.node
    state = stage.stateful
    kept = layout(state) if state is not None else None
    if isinstance(node, Plain):
        kept = layout(node)
    sources = [source for source in stage.sources if not source.is_global]
    return StageRecord(
        name=stage.name,
        topic=stage.sink.topic,
        checkpoint=stage.name,
        internal=stage.internal,
        table=stage.sink.compacted,
        reads=reads_of(stage),
        streams=tuple(source.topic for source in sources if _by_row(source, node)),
        steps=tuple(_steps(stage)),
        state=kept,
        columns=tuple((name or "", type_) for name, type_ in columns(node.schema)),
        key=_key_of(stage.sink),
        dead=tuple(source.topic for source in stage.dead),
        signature=signature(node) if not stage.only_dead else "",
    )


def _key_of(sink: Sink) -> str | None:
    """The expression, and the format where one was said; None for the row's own key as it is."""
    if sink.key_format is None:
        return sink.key
    return f"{sink.key or '_key'} in {sink.key_format.in_words()}"


def reads_of(stage: Stage) -> tuple[str, ...]:
    return tuple(source.topic for source in stage.sources if not source.is_global)


def _by_row(source: Source, node: Node) -> bool:
    """Whether every row counts, not just the latest of its key."""
    return any(not at.is_table and any(b is source for b in walk(at)) for at in walk(node))


def _steps(stage: Stage) -> Iterable[str]:
    if stage.only_dead:
        return
    for node in walk(stage.node):
        if isinstance(node, Source):
            yield f"read {node.topic} as {_format(node)}"
        elif isinstance(node, Project):
            yield f"select {', '.join(f'{name} = {sql}' for name, sql in node.columns)}"
        elif isinstance(node, Plain) and node is not stage.node:
            yield f"{words(node)} ({signature(node)})"  # else its plan is its state
        elif (text := words(node)) is not None:
            yield text
    sink = stage.sink
    told = (("topic", sink.route), ("partition", sink.partition), ("timestamp", sink.timestamp))
    for name, value in told:
        if value is not None:
            yield f"{name} {value}"
    for name, sql in sink.headers:
        yield f"header {name} {sql}"


def _format(source: Source) -> str:
    return source.value.in_words() + (f" at {source.timestamp}" if source.timestamp else "")


def _judge(old: StageRecord | None, new: StageRecord) -> Verdict:
    if old is None:
        return Verdict(stage=new.name, kind="new", new=new)
    wrong = list(_wrong(old, new))
    if wrong:
        return Verdict(stage=new.name, kind="rebuild", changes=tuple(wrong), old=old, new=new)
    harmless = list(_harmless(old, new))
    kind: Kind = "compatible" if harmless else "same"
    return Verdict(stage=new.name, kind=kind, changes=tuple(harmless), old=old, new=new)


def _wrong(old: StageRecord, new: StageRecord) -> Iterable[str]:
    """Changes with which the state or the offsets of before would give wrong results."""
    if old.reads != new.reads:
        yield f"it read {_listed(old.reads)} and now reads {_listed(new.reads)}"
    if (old.state is None) != (new.state is None):
        yield "it had state and has none" if new.state is None else "it had no state and has some"
    elif old.state is not None and new.state is not None:
        yield from _state_changes(old.state, new.state)
    if old.table != new.table:
        yield (
            "it wrote a table and now writes a stream"
            if old.table
            else ("it wrote a stream and now writes a table")
        )
    elif new.table and old.key != new.key:
        yield f"its rows were written by {old.key or 'their key'} and now by {new.key or 'theirs'}"
    if new.internal:
        before = dict(old.columns)
        for name, type_ in new.columns:
            if name in before and None not in (before[name], type_) and before[name] != type_:
                yield f"the type of {name} was {before[name]} and is {type_}"


def _state_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterable[str]:
    for name in sorted({*old, *new}):
        before, after = old.get(name), new.get(name)
        if before == after:
            continue
        if name in ("types", "left", "right", "input"):
            yield from _column_changes(name, before or [], after or [])
        else:
            noun, was, now = WORDS.get(name, (name, "was", "is"))
            yield f"its {noun} {was} {_shown(before)} and {now} {_shown(after)}"


def _column_changes(name: str, old: Iterable[Any], new: Iterable[Any]) -> Iterable[str]:
    before: dict[str, Any] = dict(old)
    after: dict[str, Any] = dict(new)
    for column in before.keys() & after.keys():
        if before[column] != after[column]:
            yield f"the type of {column} was {before[column]} and is {after[column]}"
    if name == "types":  # another set of columns shows in the key or the aggregates
        return
    for column in after.keys() - before.keys():
        yield f"{column} was added to the rows it keeps"
    for column in before.keys() - after.keys():
        yield f"{column} was taken from the rows it keeps"
    if before.keys() == after.keys() and list(before) != list(after):
        yield "the columns of the rows it keeps have another order"


def _harmless(old: StageRecord, new: StageRecord) -> Iterable[str]:
    for line in difflib.ndiff(list(old.steps), list(new.steps)):
        if line[:2] in ("+ ", "- "):
            yield f"{'now' if line[0] == '+' else 'no longer'}: {line[2:]}"
    if old.columns != new.columns and old.steps == new.steps:
        yield "other columns"
    if old.key != new.key:
        yield f"the key was {old.key or 'its own'} and is {new.key or 'its own'}"


def _spread(found: dict[str, Verdict], old: Manifest, new: Manifest) -> None:
    """Rebuild whoever reads a topic that is rebuilt, and whoever's history a rebuild needs."""
    changed = True
    while changed:
        changed = False
        for name, verdict in list(found.items()):
            record = new.stages[name]
            for read in record.reads:
                behind = found.get(read)
                if behind is None or not new.stages[read].internal:
                    continue
                if behind.kind in ("rebuild", "new") and verdict.kind in ("same", "compatible"):
                    why = f"{read}, which it reads, is rebuilt"
                    found[name] = replace(verdict, kind="rebuild", changes=(why,))
                    changed = True
                elif verdict.kind == "rebuild" and _lacks_history(behind, record, read):
                    why = f"{name} needs its history from the beginning"
                    found[read] = replace(behind, kind="rebuild", changes=(why,))
                    changed = True


def _lacks_history(behind: Verdict, reader: StageRecord, topic: str) -> bool:
    """Whether an intermediate topic no longer holds what a reader from the beginning needs."""
    if behind.kind == "compatible":
        return True
    compacted = behind.new is not None and behind.new.table
    return behind.kind == "same" and compacted and topic in reader.streams


def _record(said: Mapping[str, Any]) -> StageRecord:
    lists = ("reads", "streams", "steps", "dead", "leads_to")
    changed = {name: tuple(said[name]) for name in lists}
    pairs = tuple((name, type_) for name, type_ in said["columns"])
    return StageRecord(**{**said, **changed, "columns": pairs})


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "nothing"


def _shown(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, list):
        return ", ".join(_shown(item) for item in value)
    if isinstance(value, dict):
        return ", ".join(f"{name} {_shown(item)}" for name, item in value.items())
    return str(value)
