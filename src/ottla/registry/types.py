"""The types of schemas, and what is parsed once is kept for a while.

A library is imported when the first schema of its type comes: most registries hold one type.
"""

from collections import OrderedDict
from collections.abc import Mapping

from ottla.registry.entities import AVRO, JSON, PROTOBUF
from ottla.registry.parsed import NotASchema, Parsed

SCHEMA_TYPES = (JSON, PROTOBUF, AVRO)
KEPT = 1000


def parse(kind: str, text: str, references: Mapping[str, str], *, new: bool) -> Parsed:
    """NotASchema with the sentence that whoever registers it is told."""
    try:
        return _parse(kind, text, references, new)
    except NotASchema as error:
        raise NotASchema(f"Invalid schema of type {kind}, details: {error}") from None


def _parse(kind: str, text: str, references: Mapping[str, str], new: bool) -> Parsed:
    if kind == AVRO:
        from ottla.registry.avro.schema import parse as parse_avro

        return parse_avro(text, references, new)
    if kind == JSON:
        from ottla.registry.json_schema.schema import parse as parse_json

        return parse_json(text, references, new)
    from ottla.registry.protobuf.schema import parse as parse_protobuf

    return parse_protobuf(text, references, new)


class Parser:
    """Remembers what it has parsed, up to a number of schemas."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._parsed: OrderedDict[tuple[str, str, tuple[tuple[str, str], ...], bool], Parsed] = (
            OrderedDict()
        )

    def __call__(self, kind: str, text: str, references: Mapping[str, str], *, new: bool) -> Parsed:
        key = (kind, text, tuple(references.items()), new)
        found = self._parsed.get(key)
        if found is None:
            found = self._parsed[key] = parse(kind, text, references, new=new)
            if len(self._parsed) > self._kept:
                self._parsed.popitem(last=False)
        else:
            self._parsed.move_to_end(key)
        return found
