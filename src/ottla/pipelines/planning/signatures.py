"""What a node is, as plain data: for names, for telling sameness, for the layout of its state.

Pure. Where a node was written plays no part, nor in which order: only what it does.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import Field as Attribute
from dataclasses import fields, is_dataclass
from typing import Any

from ottla.pipelines.api.definitions import (
    Aggregate,
    Changes,
    Deduplicate,
    Join,
    Node,
    Plain,
    Process,
    Source,
    StreamJoin,
    Subscribe,
    TableAggregate,
    TableJoin,
)
from ottla.pipelines.api.folds import subtracts
from ottla.pipelines.formats.format import Format
from ottla.pipelines.formats.schema import Schema

Json = Any
OF_THE_NODE = {
    "where", "schema", "members", "is_table", "label", "internal", "grace_ms", "dead_letters",
    "on_error",
}  # fmt: skip
LONGEST_NAME = 150


def signature(node: Node) -> str:
    """The same for what does the same, in any place of the file."""
    text = json.dumps(_whole(node), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _whole(node: Node) -> Json:
    if isinstance(node, Source) and node.internal is not None:
        return _whole(node.internal)
    return {"is": own(node), "of": [_whole(before) for before in node.inputs]}


def own(node: Node) -> dict[str, Json]:
    """The node's own settings, without what it reads."""
    found: dict[str, Json] = {"operator": type(node).__name__}
    if isinstance(node, Process):
        found |= {
            "processor": type(node.processor).__name__,
            "state": dict(node.processor.state),
            "returns": node.processor.returns,
        }
        return found
    if isinstance(node, Plain):
        return found | {"plan": frame_plan(node.frame)}
    for each in fields(node):
        value = getattr(node, each.name)
        if each.name in OF_THE_NODE or _is_input(value) or _as_before(each, value):
            continue
        found[each.name] = plain(value)
    return found


def plain(value: Any) -> Json:
    """Any setting as JSON: functions by their names, for their code cannot be compared."""
    if isinstance(value, Format):
        return value.described()
    if is_dataclass(value) and not isinstance(value, type):
        pairs = ((each, getattr(value, each.name)) for each in fields(value))
        return {each.name: plain(one) for each, one in pairs if not _as_before(each, one)}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, str | int | float | bool) or value is None:
        return value
    if isinstance(value, Callable):  # type: ignore[arg-type]
        return getattr(value, "__name__", type(value).__name__)
    return type(value).__name__


def frame_plan(frame: Any) -> str:
    """Spark's own plan of a user's frame, without the numbers it gives to columns."""
    try:
        text = str(frame._jdf.queryExecution().analyzed().toString())
    except AttributeError:
        return type(frame).__name__
    return re.sub(r"#\d+L?|\[id=\w+\]|@[0-9a-f]+", "", text)


def layout(node: Node) -> dict[str, Json]:
    """What the state of an operator depends on: another one of these, and it must be rebuilt."""
    found = own(node)
    match node:
        case Aggregate():
            found.pop("name")
            if node.window is not None:  # how long it waits is no part of what it keeps
                found["window"].pop("grace_ms")
            found["aggregates"] = [sql for _, sql in node.aggregates]
            found["types"] = _types_used(node)
            if isinstance(node, TableAggregate) and _subtracts(node):
                found["takes"] = "by subtraction"
        case StreamJoin():
            found["left"], found["right"] = columns(node.left.schema), columns(node.right.schema)
        case TableJoin():
            found["right"] = columns(node.right.schema)
            if node.left.is_table:
                found["left"] = columns(node.left.schema)
        case Subscribe():
            found["input"] = columns(node.input.schema)
        case Process():
            found.pop("returns")
        case Plain() | Changes() | Deduplicate():
            pass
        case Join():
            found["right"] = columns(node.right.schema)
        case _:
            found["inputs"] = [columns(before.schema) for before in node.inputs]
    return found


def _subtracts(node: TableAggregate) -> bool:
    return subtracts(node.aggregates, node.members, node.where)


def columns(schema: Schema) -> list[list[str | None]]:
    return [[field.name, field.type] for field in schema]


def _types_used(node: Aggregate) -> list[list[str | None]]:
    """The types of the columns that are grouped and folded."""
    said = " ".join((*node.keys, *(sql for _, sql in node.aggregates)))
    words = set(re.findall(r"\w+", said))
    return [pair for pair in columns(node.input.schema) if pair[0] in words]


def title(application: str, node: Node) -> str:
    """The name of an operator's stage: what it reads, what it does, by which key."""
    if node.label is not None:
        return f"{application}-{node.label}"
    text = re.sub(r"[^a-zA-Z0-9._]+", "-", _title(node)).strip("-")
    if len(text) > LONGEST_NAME:
        text = f"{text[:LONGEST_NAME]}-{hashlib.sha256(text.encode()).hexdigest()[:6]}"
    return f"{application}-{text}"


def _title(node: Node) -> str:
    match node:
        case Aggregate(keys=keys):
            return f"{origin(node.input)}-by-{'-'.join(keys)}"
        case Subscribe(on=on):
            return f"{origin(node.input)}-asks-{on}"
        case Join():
            return f"{origin(node.left)}-with-{origin(node.right)}"
        case Process(processor=processor):
            return f"{origin(node.input)}-{type(processor).__name__}"
        case Plain():
            return f"{_before(node)}-frame"
    return f"{_before(node)}-{type(node).__name__.lower()}"


def origin(node: Node) -> str:
    """Whose rows these are, in a word: the topic, or the operator they come from."""
    if node.label is not None:
        return node.label
    if isinstance(node, Source):
        return node.topic
    if isinstance(node, Aggregate | Join | Process | Subscribe):
        return _title(node)
    return _before(node)


def _before(node: Node) -> str:
    return min((origin(before) for before in node.inputs), default="frame")


def _as_before(field: "Attribute[Any]", value: Any) -> bool:
    """Whether it says nothing that a description without it would not say."""
    return "later" in field.metadata and value == field.default


def _is_input(value: Any) -> bool:
    return isinstance(value, Node) or (
        isinstance(value, tuple) and bool(value) and all(isinstance(v, Node) for v in value)
    )
