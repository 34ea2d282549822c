"""A plan in words: the stages, what each does, its engine and what it promises. Pure."""

from collections.abc import Iterator

from ottla.pipelines.api.connectors import Connector, offsets_topic
from ottla.pipelines.api.definitions import (
    Aggregate,
    Changes,
    Deduplicate,
    Explode,
    Filter,
    ForeignKeyJoin,
    GlobalJoin,
    Merge,
    Node,
    Plain,
    Process,
    Project,
    PythonAggregate,
    PythonMap,
    Rekey,
    Source,
    StreamJoin,
    Subscribe,
    TableJoin,
    Transform,
    Window,
    walk,
)
from ottla.pipelines.api.windows import in_words
from ottla.pipelines.planning.plan import Plan
from ottla.pipelines.planning.stages import Stage, buries


def explain(plan: Plan) -> str:
    application = plan.application
    lines = [
        f"{application.name}: {len(plan.stages)} stage{'s' if len(plan.stages) > 1 else ''}, "
        f"brokers {application.bootstrap}, parallelism {application.parallelism}"
    ]
    for number, stage in enumerate(plan.stages, 1):
        lines += ["", f"{number}. {stage.name}   ({stage.sink.where})", *_describe(stage)]
    for one in application.connectors:
        lines += ["", f"{one.name}   ({one.where})", *_connector(one, application.name)]
    return "\n".join(lines)


def _connector(connector: Connector, application: str) -> Iterator[str]:
    yield f"   runs      {connector.connector}, beside the stages, in this process"
    if connector.kind == "source":
        yield f"   writes    {connector.topic}"
        kept = offsets_topic(application)
        yield f"   delivers  exactly once: rows and offsets ({kept}) in one transaction"
    else:
        yield f"   reads     {connector.topic}, what is committed there"
        yield "   delivers  as the connector does: once, where its target holds offsets or keys"


def _describe(stage: Stage) -> Iterator[str]:
    reads = (f"{source.topic} ({_kind(source)})" for source in stage.sources)
    yield f"   reads     {', '.join(reads) or 'a DataFrame of your own'}"
    for source in stage.sources:
        for format in (source.key, source.value):
            if source.internal is None and (schema := format.schema_in_words()):
                yield f"   schema    {schema}"
    steps = [said for node in walk(stage.node) if (said := words(node))]
    if steps and not stage.only_dead:
        yield f"   does      {' → '.join(steps)}"
    if not stage.only_dead and any(_takes_updates(node) for node in walk(stage.node)):
        yield "             changes are updates: whoever counts them counts updates, not rows"
    letters = ", ".join(sorted({source.dead_letters or "" for source in stage.letters}))
    yield f"   writes    {letters if stage.only_dead else _written(stage)}{_topic_kind(stage)}"
    for written in () if stage.only_dead else (stage.sink.key_format, stage.sink.value):
        if written and (made := written.schema_in_words()):
            yield f"             with a schema of {made}, registered at the start"
    also = "or that your code fails on " if any(map(buries, walk(stage.node))) else ""
    also += "or whose topic is none " if stage.sink.route is not None else ""
    if stage.letters and not stage.only_dead:
        yield f"             records that do not decode {also}go to {letters}"
    yield f"   engine    {stage.mode}: {stage.why}"
    yield f"   delivers  {promise(stage)}"


def _takes_updates(node: Node) -> bool:
    return isinstance(node, Changes) and not node.is_table


def _written(stage: Stage) -> str:
    route = stage.sink.route
    return stage.sink.topic if route is None else f"each row to the topic {route}"


def promise(stage: Stage) -> str:
    """What a reader of the stage's topic may rely on, honestly."""
    if stage.delivery == "exactly_once":
        always = ", as a join by foreign key always does" if stage.by_foreign_key else ""
        return f"exactly once to readers with isolation.level=read_committed{always}"
    if stage.only_dead:
        return "at least once: a failed batch is written again; headers tell repeats apart"
    if stage.mode == "micro-batch":
        return "at least once: a failed batch is written again"
    if stage.node.is_table or isinstance(stage.stateful, Aggregate):
        return "at least once: the last seconds may repeat, harmless for a table by key"
    if stage.stateful is not None:
        return "at least once: after a failure the last seconds repeat"
    return (
        "at least once: after a failure the last seconds repeat; headers ottla.topic, "
        "ottla.partition and ottla.offset tell repeats apart"
    )


def _kind(source: Source) -> str:
    if source.internal is not None:
        return "an earlier stage"
    if source.is_global:
        return "global table"
    several = "every topic of this pattern, " if source.is_pattern else ""
    return f"{several}{'table' if source.is_table else 'stream'} of {source.value.name}"


def _topic_kind(stage: Stage) -> str:
    if stage.only_dead:
        return " (records that do not decode)"
    parts = ["intermediate"] if stage.internal else []
    parts += ["compacted"] if stage.sink.compacted else []
    return f" ({', '.join(parts)})" if parts else ""


def words(node: Node) -> str | None:
    match node:
        case Filter(condition=condition):
            return f"filter {condition}"
        case Project(columns=columns):
            return f"select {', '.join(name for name, _ in columns)}"
        case Explode(expression=expression, name=name):
            return f"explode {expression} as {name}"
        case Transform(function=function):
            return f"transform {getattr(function, '__name__', 'function')}"
        case Deduplicate(on=on, within_ms=within_ms):
            time = "" if within_ms is None else f" within {in_words(within_ms)}"
            return f"drop duplicates of {', '.join(on)}{time}"
        case PythonMap(kind=kind, function=function):
            return f"{kind} {getattr(function, '__name__', 'function')}"
        case Rekey(expression=expression):
            return f"key by {expression}"
        case Merge(parts=parts):
            return f"merge {len(parts)}"
        case Aggregate():
            return _aggregate_words(node)
        case StreamJoin():
            return (
                f"{node.kind} join of two streams, from {in_words(node.before_ms)} before to "
                f"{in_words(node.after_ms)} after"
            )
        case TableJoin():
            return f"{node.kind} join with the table's latest row"
        case ForeignKeyJoin():
            return f"{node.kind} join by foreign key {node.on}"
        case GlobalJoin():
            return f"{node.kind} join with a global table on {node.on}"
        case Subscribe(on=on) if on.startswith("if("):
            return "tell each group which rows are in it"
        case Subscribe():
            return f"tell each {node.on} which rows want it"
        case Process(processor=processor):
            return f"process with {type(processor).__name__}"
        case Changes(is_table=is_table):
            return "latest by key" if is_table else "changes"
        case Plain():
            return "plain PySpark"
    return None


def _aggregate_words(node: Aggregate) -> str:
    folds = ", ".join(f"{name}={sql}" for name, sql in node.aggregates)
    if isinstance(node, PythonAggregate):
        folds = f"fold with {getattr(node.function, '__name__', 'function')}"
    text = f"group by {', '.join(node.keys)}"
    if node.window is not None:
        text += f", {_window_words(node.window)}"
    return f"{text}: {folds}" + (", when the window has closed" if node.final else "")


def _window_words(window: Window) -> str:
    every = f" every {in_words(window.every_ms)}" if window.kind == "hopping" else ""
    if window.offset_ms:
        every += f", {in_words(window.offset_ms)} later"
    if window.time_zone is not None:
        every += f" in {window.time_zone}"
    if window.growing:
        every += ", told while they grow"
    grace = f", grace {in_words(window.grace_ms)}" if window.grace_ms else ""
    return f"{window.kind} windows of {in_words(window.size_ms)}{every}{grace}"
