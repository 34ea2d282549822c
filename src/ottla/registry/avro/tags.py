"""Tags inside Avro schemas: `confluent:tags` of a record or a field, by the path of either.

Pure: texts in, texts and paths out.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ottla.registry.parsed import NotASchema

TAGS = "confluent:tags"
RECORD, FIELD = "sr_record", "sr_field"


class Entity(NamedTuple):
    path: str  # the record's full name, and the field's after it
    kind: str  # RECORD or FIELD


Tags = Mapping[Entity, Sequence[str]]


def tagged(text: str) -> dict[Entity, list[str]]:
    """Everything that has tags."""
    found = {}
    for entity, node in _entities(_loaded(text), ""):
        held = node.get(TAGS)
        if isinstance(held, list) and held:
            found[entity] = [str(one) for one in held]
    return found


def retagged(text: str, added: Tags, removed: Tags) -> str:
    """With other tags; NotASchema for a path that leads nowhere."""
    schema = _loaded(text)
    nodes = list(_entities(schema, ""))
    for entity in dict.fromkeys((*added, *removed)):
        node = _found(entity, nodes)
        held = node.get(TAGS)
        tags = dict.fromkeys(held if isinstance(held, list) else ())
        tags |= dict.fromkeys(added.get(entity, ()))
        kept = [one for one in tags if one not in removed.get(entity, ())]
        node.pop(TAGS, None)
        if kept:
            node[TAGS] = kept
    return json.dumps(schema, ensure_ascii=False)


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise NotASchema("it is no JSON") from None


def _found(entity: Entity, nodes: list[tuple[Entity, dict[str, Any]]]) -> dict[str, Any]:
    """A path may leave out the namespace."""
    wanted = entity.path.removeprefix(".").split(".")
    own = 1 if entity.kind == RECORD else 2
    for at, node in nodes:
        parts = at.path.split(".")
        if at.kind == entity.kind and (parts == wanted or parts[-own:] == wanted):
            return node
    raise NotASchema(f"No matching path '{entity.path}' found in the schema")


def _entities(schema: Any, space: str) -> Iterator[tuple[Entity, dict[str, Any]]]:
    if isinstance(schema, list):
        for one in schema:
            yield from _entities(one, space)
    if not isinstance(schema, dict):
        return
    if schema.get("type") not in ("record", "error"):
        for inner in ("type", "items", "values"):
            yield from _entities(schema.get(inner), space)
        return
    name = str(schema.get("name", ""))
    space = name.rpartition(".")[0] or str(schema.get("namespace", space) or "")
    full = name if "." in name or not space else f"{space}.{name}"
    yield Entity(full, RECORD), schema
    for field in schema.get("fields") or ():
        if isinstance(field, dict):
            yield Entity(f"{full}.{field.get('name')}", FIELD), field
            yield from _entities(field.get("type"), space)
