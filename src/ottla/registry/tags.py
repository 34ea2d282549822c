"""Tags inside schemas, as requests name them; each type of schema has its own way to hold them."""

from collections.abc import Iterable
from typing import Annotated, Any

from msgspec import Meta, Struct

from ottla.registry import errors
from ottla.registry.avro.tags import Entity, retagged, tagged
from ottla.registry.entities import AVRO, Metadata, RuleSet
from ottla.registry.parsed import NotASchema

ALL = "*"
Int32 = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]


class SentEntity(Struct, rename={"path": "entityPath", "kind": "entityType"}):
    path: str
    kind: str


class SentTags(Struct, rename={"entity": "schemaEntity"}):
    entity: SentEntity
    tags: list[str] | None = None


class Tagging(
    Struct,
    rename={
        "new_version": "newVersion",
        "added": "tagsToAdd",
        "removed": "tagsToRemove",
        "rules": "ruleSet",
        "rules_merged": "rulesToMerge",
        "rules_removed": "rulesToRemove",
    },
):
    """The body of a request that changes the tags of a version, which becomes another one."""

    new_version: Int32 | None = None
    added: list[SentTags] | None = None
    removed: list[SentTags] | None = None
    metadata: Metadata | None = None
    rules: RuleSet | None = None
    rules_merged: RuleSet | None = None
    rules_removed: list[str] | None = None


def by_entity(sent: Iterable[SentTags] | None) -> dict[Entity, list[str]]:
    found: dict[Entity, list[str]] = {}
    for one in sent or ():
        entity = Entity(one.entity.path, one.entity.kind.lower())
        found.setdefault(entity, []).extend(one.tags or ())
    return found


def with_tags(
    text: str, kind: str, added: Iterable[SentTags] | None, removed: Iterable[SentTags] | None
) -> str:
    """42201 for a path that leads nowhere, and for types whose tags cannot be changed."""
    more, fewer = by_entity(added), by_entity(removed)
    if not more and not fewer:
        return text
    _check(kind)
    try:
        return retagged(text, more, fewer)
    except NotASchema as error:
        raise errors.invalid_schema(str(error)) from None


def carried_on(text: str, earlier: str, kind: str) -> str:
    """With the tags of an earlier version."""
    if kind != AVRO:
        return text
    try:
        return retagged(text, tagged(earlier), {})
    except NotASchema as error:
        raise errors.invalid_schema(str(error)) from None


def fields_of(text: str, kind: str, wanted: list[str]) -> dict[str, Any]:
    """`schemaTags`, those that are asked for; nothing where there are none."""
    if not wanted or kind != AVRO:
        return {}
    found = [
        {"schemaEntity": {"entityPath": entity.path, "entityType": entity.kind}, "tags": held}
        for entity, held in tagged(text).items()
        if ALL in wanted or set(wanted) & set(held)
    ]
    return {"schemaTags": found} if found else {}


def _check(kind: str) -> None:
    if kind != AVRO:
        raise errors.invalid_schema(f"Tags of schemas of type {kind} cannot be changed")
