"""A JSON Schema as the registry handles it."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import jsonschema_rs
import re2

from ottla.registry.bounds import DEPTH_MAX, TooComplex
from ottla.registry.entities import JSON
from ottla.registry.json_schema import tree
from ottla.registry.json_schema.compatibility import differences
from ottla.registry.json_schema.documents import walk
from ottla.registry.json_schema.loading import Loader
from ottla.registry.parsed import NotASchema, Parsed
from ottla.serving import java_json

DRAFT_7 = "http://json-schema.org/draft-07/schema#"
_KNOWN_DRAFTS = ("draft-04", "draft-06", "draft-07", "draft/2019-09", "draft/2020-12")


class JsonSchema:
    kind = JSON

    def __init__(self, document: Any, references: Mapping[str, Any]) -> None:
        self._document = document
        self._references = references

    @cached_property
    def text(self) -> str:
        return java_json.text_of(self._document)

    @cached_property
    def root(self) -> tree.Node:
        try:
            return Loader(self._document, self._references).load()
        except RecursionError:
            raise TooComplex("The schema is nested too deeply") from None

    @property
    def top_fields(self) -> frozenset[str]:
        root = self.root
        return frozenset(root.properties) if isinstance(root, tree.Object) else frozenset()

    def normal(self) -> "JsonSchema":
        return JsonSchema(_sorted(self._document), self._references)

    def formatted(self, how: str) -> str:
        return self.text

    def same(self, other: Parsed) -> bool:
        return isinstance(other, JsonSchema) and self.text == other.text

    def cannot_read(self, writer: Parsed, *, lenient: bool) -> list[str]:
        assert isinstance(writer, JsonSchema)
        return [str(one) for one in differences(writer.root, self.root, lenient=lenient)]

    def check(self, *, strict: bool) -> None:
        """Against the schema of its draft; references must lead somewhere, patterns be ones."""
        if not isinstance(self._document, dict | bool):
            raise NotASchema(
                "Invalid JSON schema: expected an object or boolean at the root, found "
                f"{self.text[:100]}"
            )
        _check_depth(self._document)
        _check_draft(self._document)
        _check_patterns(self._document)
        found = self.root
        if strict and isinstance(found, tree.Object):
            for name in found.properties:
                if name.startswith("$$"):
                    raise NotASchema(
                        f"#/properties/{name}: Field names cannot start with $$ prefix"
                    )


def parse(text: str, references: Mapping[str, str], new: bool) -> JsonSchema:
    try:
        known = {name: java_json.parse(one) for name, one in references.items()}
        return JsonSchema(java_json.parse(text), known)
    except java_json.NotJson as error:
        raise NotASchema(f"Invalid JSON schema: {error}") from None


def _check_depth(document: Any) -> None:
    waiting = [(document, 0)]
    while waiting:
        part, depth = waiting.pop()
        if depth > 3 * DEPTH_MAX:  # a property takes three levels of JSON
            raise TooComplex("The schema is nested too deeply")
        if isinstance(part, dict | list):
            held = part.values() if isinstance(part, dict) else part
            waiting += [(one, depth + 1) for one in held]


def _check_draft(document: Any) -> None:
    if isinstance(document, bool):
        return
    dialect = document.get("$schema", DRAFT_7)
    if not (isinstance(dialect, str) and any(one in dialect for one in _KNOWN_DRAFTS)):
        dialect = DRAFT_7
    try:
        jsonschema_rs.meta.validate({**document, "$schema": dialect})
    except (jsonschema_rs.ValidationError, ValueError) as error:
        raise NotASchema(f"Invalid JSON schema: {str(error).splitlines()[0]}") from None


def _check_patterns(document: Any) -> None:
    """RE2's: a pattern may not take exponential time, wherever it is tried."""
    for _, part in walk(document, ""):
        patterns = [part.get("pattern")]
        named = part.get("patternProperties")
        if isinstance(named, dict):
            patterns += named
        for one in patterns:
            if isinstance(one, str) and "(?" not in one:
                try:
                    re2.compile(one)
                except re2.error:
                    raise NotASchema(f"Invalid JSON schema: {one!r} is no pattern") from None


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    if isinstance(value, list):
        return [_sorted(one) for one in value]
    return value
