"""JSON Schemas as a tree of typed nodes.

A schema with several kinds of keywords (a type and an enum, say) is a combination that must hold
altogether. Nodes are compared by identity: a `$ref` may lead back to where it stands.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

NOTHING = object()
"""No default; None is one."""


@dataclass(slots=True, eq=False, kw_only=True)
class Node:
    id: Any = None
    title: Any = None
    description: Any = None
    default: Any = NOTHING
    connect_type: Any = None
    source: str = ""  # the text it was made of


@dataclass(slots=True, eq=False, kw_only=True)
class Anything(Node):
    """Holds for every instance: `{}`, `true`."""


@dataclass(slots=True, eq=False, kw_only=True)
class Never(Node):
    """`false`."""


@dataclass(slots=True, eq=False, kw_only=True)
class Null(Node):
    pass


@dataclass(slots=True, eq=False, kw_only=True)
class Boolean(Node):
    pass


@dataclass(slots=True, eq=False, kw_only=True)
class String(Node):
    max_length: int | None = None
    min_length: int | None = None
    pattern: str | None = None


@dataclass(slots=True, eq=False, kw_only=True)
class Number(Node):
    integer: bool = False
    maximum: Decimal | None = None
    minimum: Decimal | None = None
    exclusive_maximum: Decimal | None = None
    exclusive_minimum: Decimal | None = None
    multiple_of: Decimal | None = None


@dataclass(slots=True, eq=False, kw_only=True)
class Enum(Node):
    values: frozenset[str] = frozenset()  # as texts


@dataclass(slots=True, eq=False, kw_only=True)
class Const(Node):
    value: str = ""


@dataclass(slots=True, eq=False, kw_only=True)
class Not(Node):
    of: Node


@dataclass(slots=True, eq=False, kw_only=True)
class Conditional(Node):
    """`if`, `then`, `else`: known, not compared."""


@dataclass(slots=True, eq=False, kw_only=True)
class Combined(Node):
    criterion: str  # allOf, anyOf, oneOf
    of: list[Node]


@dataclass(slots=True, eq=False, kw_only=True)
class Object(Node):
    properties: dict[str, Node] = field(default_factory=dict)
    required: frozenset[str] = frozenset()
    patterns: dict[str, Node] = field(default_factory=dict)
    additional: bool = True
    additional_schema: Node | None = None
    unevaluated: Node | None = None
    max_properties: int | None = None
    min_properties: int | None = None
    dependent_names: dict[str, frozenset[str]] = field(default_factory=dict)
    dependent_schemas: dict[str, Node] = field(default_factory=dict)

    @property
    def is_open(self) -> bool:
        """Any property may be there besides those that are named."""
        if not self.additional or self.additional_schema is not None or self.patterns:
            return False
        return self.unevaluated is None or isinstance(self.unevaluated, Anything)


@dataclass(slots=True, eq=False, kw_only=True)
class Array(Node):
    every: Node | None = None
    items: list[Node] = field(default_factory=list)
    additional: bool = True
    additional_schema: Node | None = None
    unevaluated: Node | None = None
    max_items: int | None = None
    min_items: int | None = None
    unique: bool = False
    max_contains: int | None = None
    min_contains: int | None = None

    @property
    def is_open(self) -> bool:
        if not self.additional or self.additional_schema is not None:
            return False
        return self.unevaluated is None or isinstance(self.unevaluated, Anything)

    @property
    def rest(self) -> Node | None:
        """What elements after those that are listed must be, where not anything may be there."""
        return rest_of(self)


@dataclass(slots=True, eq=False, kw_only=True)
class Ref(Node):
    """Leads to another place, in this document or another."""

    target: Callable[[], Node]


def rest_of(held: Object | Array) -> Node | None:
    if held.additional_schema is not None:
        return held.additional_schema
    if held.additional and not isinstance(held.unevaluated, Never | Anything):
        return held.unevaluated
    return None
