"""Avro schemas as a graph of types. How a text becomes one is `parsing`."""

from dataclasses import dataclass, field
from typing import Any

PRIMITIVES = frozenset(["null", "boolean", "int", "long", "float", "double", "bytes", "string"])
TYPE_NAMES = PRIMITIVES | {"record", "enum", "array", "map", "union", "fixed"}
NAMED = ("record", "enum", "fixed")
NOTHING = object()
"""A field without a default; None is a default."""


@dataclass(slots=True, eq=False)
class Type:
    """`kind` says which of the fields mean something. Compared by identity: types refer to each
    other in circles."""

    kind: str
    name: str = ""
    namespace: str | None = None
    doc: str | None = None
    aliases: tuple[str, ...] = ()  # full names
    fields: list["Field"] = field(default_factory=list)
    is_error: bool = False
    symbols: tuple[str, ...] = ()
    default: str | None = None
    size: int = 0
    items: list["Type"] = field(default_factory=list)
    """Of a union its branches; of an array or a map the one type of its elements."""
    props: dict[str, Any] = field(default_factory=dict)

    @property
    def full_name(self) -> str:
        if self.kind not in NAMED:
            return self.kind
        return f"{self.namespace}.{self.name}" if self.namespace else self.name


@dataclass(slots=True, eq=False)
class Field:
    name: str
    type: Type
    doc: str | None = None
    default: Any = NOTHING
    order: str = "ascending"
    aliases: tuple[str, ...] = ()
    props: dict[str, Any] = field(default_factory=dict)
