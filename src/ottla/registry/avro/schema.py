"""An Avro schema as the registry handles it."""

from collections.abc import Mapping
from functools import cached_property

from ottla.registry.avro.compatibility import Ambiguous, differences
from ottla.registry.avro.normal import normal_text
from ottla.registry.avro.parsing import NotAvro, Parser
from ottla.registry.avro.text import canonical_text
from ottla.registry.avro.tree import Type
from ottla.registry.bounds import TooComplex
from ottla.registry.entities import AVRO
from ottla.registry.parsed import NotASchema, Parsed


class AvroSchema:
    kind = AVRO

    def __init__(
        self, root: Type, known: frozenset[str], references: Mapping[str, str], new: bool
    ) -> None:
        self.root = root
        self._known = known
        self._references = references
        self._new = new

    @cached_property
    def text(self) -> str:
        return canonical_text(self.root, self._known)

    @cached_property
    def resolved(self) -> str:
        """With the types of its references written out."""
        return canonical_text(self.root)

    @property
    def top_fields(self) -> frozenset[str]:
        return frozenset(one.name for one in self.root.fields)

    def normal(self) -> "AvroSchema":
        return parse(normal_text(self.root, self._known), self._references, self._new)

    def formatted(self, how: str) -> str:
        return self.resolved if how == "resolved" else self.text

    def same(self, other: Parsed) -> bool:
        return isinstance(other, AvroSchema) and self.resolved == other.resolved

    def cannot_read(self, writer: Parsed, *, lenient: bool) -> list[str]:
        assert isinstance(writer, AvroSchema)
        try:
            return [str(one) for one in differences(self.root, writer.root)]
        except Ambiguous as error:
            return [f"Unexpected exception during compatibility check: {error}"]

    def check(self, *, strict: bool) -> None:
        return None


def parse(text: str, references: Mapping[str, str], new: bool) -> AvroSchema:
    """NotASchema where Apache Avro would refuse it, TooComplex where it would take too long."""
    parser = Parser(strict=new)
    try:
        known = frozenset(parser.parse(one).full_name for one in references.values())
        return AvroSchema(parser.parse(text), known, references, new)
    except NotAvro as error:
        raise NotASchema(str(error)) from None
    except RecursionError:
        raise TooComplex("The schema is nested too deeply") from None
