"""A schema of any type once it is parsed: what the registry asks of it."""

from collections.abc import Callable, Mapping
from typing import Protocol

from ottla.registry.bounds import TooComplex


class NotASchema(ValueError):
    """Why a text is no schema of its type."""


class Parsed(Protocol):
    @property
    def kind(self) -> str:
        """AVRO, JSON or PROTOBUF."""

    @property
    def text(self) -> str:
        """As it is stored: what makes two schemas the same."""

    @property
    def top_fields(self) -> frozenset[str]:
        """Names of the fields of the outermost type."""

    def normal(self) -> "Parsed":
        """The same in its normal form."""

    def formatted(self, how: str) -> str:
        """For a way to write that is not known, as it is stored."""

    def same(self, other: "Parsed") -> bool:
        """Whether the two mean the same, however their references were written."""

    def cannot_read(self, writer: "Parsed", *, lenient: bool) -> list[str]:
        """The differences that keep this schema from reading the writer's data. `%s` in them are
        the names of the two schemas, this one's first."""

    def check(self, *, strict: bool) -> None:
        """NotASchema for what was not looked at when it was parsed."""


Parse = Callable[[str, Mapping[str, str], bool], Parsed]
"""Text, texts of references in the order in which they need each other, whether it is new."""

__all__ = ["NotASchema", "Parse", "Parsed", "TooComplex"]
