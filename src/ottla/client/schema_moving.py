"""A whole registry as lines of JSON, and back: schemas keep their ids and versions.

Each line is one thing: a schema with its subject, or the setting of a subject or of everything.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ottla.client.schema_registry import RegistryRefusal, SchemaRegistry, Stored, stored
from ottla.errors import OttlaError

SETTINGS = ("config", "mode")
_LEVEL_READ, _LEVEL_SET = "compatibilityLevel", "compatibility"

Line = Mapping[str, Any]


def exported(registry: SchemaRegistry, prefix: str = "") -> Iterator[dict[str, Any]]:
    """Schemas in an order in which each comes after those that it refers to."""
    found = sorted(registry.every(prefix, deleted=True), key=lambda one: (one.id, one.version))
    for schema in in_order(found):
        line = {"subject": schema.subject, "version": schema.version, "id": schema.id}
        yield line | schema.draft() | ({"deleted": True} if schema.deleted else {})
    subjects: list[str | None] = [*dict.fromkeys(schema.subject for schema in found)]
    for subject in subjects if prefix else [None, *subjects]:
        for kind in SETTINGS:
            held = registry.setting(kind, subject)
            if held:
                yield {"subject": subject, kind: held}


def in_order(schemas: Iterable[Stored]) -> list[Stored]:
    """Each after those that it refers to, otherwise as they were."""
    by_key = {(one.subject, one.version): one for one in schemas}
    ordered: dict[tuple[str, int], Stored] = {}

    def place(one: Stored) -> None:
        key = one.subject, one.version
        if key in ordered:
            return
        for reference in one.references:
            needed = by_key.get((reference.subject, reference.version))
            if needed is not None and needed is not one:
                place(needed)
        ordered[key] = one

    for one in by_key.values():
        place(one)
    return list(ordered.values())


def import_all(registry: SchemaRegistry, lines: Iterable[Line], say: Callable[[str], None]) -> int:
    """How many schemas were taken. A subject is in mode IMPORT while its schemas arrive."""
    schemas: list[Stored] = []
    settings: list[Line] = []
    for line in lines:
        if "schema" in line:
            schemas.append(stored(line))
        elif any(kind in line for kind in SETTINGS):
            settings.append(line)
        else:
            raise OttlaError("A line is neither a schema nor a setting: was it exported?")
    with _importing(registry, {one.subject for one in schemas}):
        for one in schemas:
            _take(registry, one, say)
    for one in schemas:
        if one.deleted:
            registry.delete(one.subject, one.version)
    for line in settings:
        _set(registry, line)
    return len(schemas)


@contextlib.contextmanager
def _importing(registry: SchemaRegistry, subjects: Iterable[str]) -> Iterator[None]:
    before: dict[str, dict[str, Any] | None] = {}
    try:
        for subject in subjects:
            held = registry.setting("mode", subject)
            registry.set("mode", {"mode": "IMPORT"}, subject, force=True)
            before[subject] = held
        yield
    finally:
        for subject, mode in before.items():
            if mode is None:
                registry.unset("mode", subject)
            else:
                registry.set("mode", mode, subject, force=True)


def _take(registry: SchemaRegistry, schema: Stored, say: Callable[[str], None]) -> None:
    body = {**schema.draft(), "id": schema.id, "version": schema.version}
    try:
        registry.register(schema.subject, body)
    except RegistryRefusal as refusal:
        raise OttlaError(
            f"{schema.subject}, version {schema.version}, id {schema.id}: {refusal}"
        ) from None
    say(f"{schema.subject} {schema.version}")


def _set(registry: SchemaRegistry, line: Line) -> None:
    for kind in SETTINGS:
        held = line.get(kind)
        if held:
            fields = {_LEVEL_SET if k == _LEVEL_READ else k: v for k, v in held.items()}
            registry.set(kind, fields, line.get("subject"), force=kind == "mode")
