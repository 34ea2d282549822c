"""What a drawn request says instead of values that only a run can know.

A request message may hold a symbol in any field; `resolve` puts one side's own values in. Each side
has its own `Bindings`: what its answers told. A symbol whose answer never came, because the step
was refused or dropped, stands for its `otherwise`, the same on both sides.
"""

import string
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from ottla.wire.message import Message

M = TypeVar("M")

NOT_TOLD = (-1, "", None, b"", bytes(16))
"""Values of id fields that say: there is none."""

INVENTED_ID = 987_654_321_000
INVENTED_UUID = bytes(range(1, 17))


@dataclass
class Bindings:
    """One run's names and what its answers told, newest last."""

    prefix: str
    told: dict[str, list[Any]] = field(default_factory=dict)
    shared: dict[str, str] = field(default_factory=dict)
    """Names that other runs have too."""
    shared_prefix: str | None = None

    def bind(self, key: str, value: Any) -> None:
        values = self.told.setdefault(key, [])
        if value not in NOT_TOLD and (not values or values[-1] != value):
            values.append(value)


Filling = Callable[[Bindings], Any]


class Symbol(Protocol):
    def value(self, bindings: Bindings) -> Any: ...


if TYPE_CHECKING:
    AnyField = Any  # a symbol stands in fields of every type, and the message is checked when sent
else:
    AnyField = object


@dataclass(frozen=True)
class Name(AnyField):
    """A name of this sequence's own: a topic, a group, a transactional id, an instance id."""

    of: str

    def value(self, bindings: Bindings) -> str:
        return bindings.shared.get(self.of) or bindings.prefix + self.of

    def __repr__(self) -> str:
        return f"~{self.of}"


@dataclass(frozen=True)
class Ref(AnyField):
    """What an earlier answer told under this key; `back` steps older, `plus` a number."""

    key: str
    otherwise: Any = INVENTED_ID
    plus: int = 0
    back: int = 0

    def value(self, bindings: Bindings) -> Any:
        values = bindings.told.get(self.key, [])
        if len(values) <= self.back:
            return self.otherwise
        told = values[-1 - self.back]
        return told + self.plus if self.plus else told

    def __repr__(self) -> str:
        older = f" {self.back} before" if self.back else ""
        return f"<{self.key}{older}{f'{self.plus:+}' if self.plus else ''}>"


NAMED = (Name, Ref)
BUFFERS = (memoryview, bytearray)
"""Tuples, as these are asked for every value of every request."""


@dataclass(frozen=True)
class Made:
    """Whatever `make` returns for the resolved keywords: record batches, subscriptions."""

    make: Callable[..., Any]
    given: tuple[tuple[str, Any], ...]

    def __repr__(self) -> str:
        return f"{self.make.__name__}({', '.join(f'{n}={v!r}' for n, v in self.given)})"


def made(make: Callable[..., Any], **given: Any) -> Any:
    return Made(make, tuple(given.items()))


def topic_id(name: str) -> Ref:
    """The id of a topic of the world, or of one that a step created and bound."""
    return Ref(f"topic.{name}", INVENTED_UUID)


def resolve(value: Any, bindings: Bindings) -> Any:
    """The same value with every symbol inside replaced."""
    fill = filling(value)
    return value if fill is None else fill(bindings)


def filling(value: Any) -> Filling | None:
    """What puts one side's values into a drawn one; None where there is no symbol inside."""
    if isinstance(value, NAMED):
        fill: Filling = value.value
        return fill
    if isinstance(value, Made):
        return partial(filled_made, value.make, [(n, v, filling(v)) for n, v in value.given])
    if isinstance(value, Message):
        named = [(name, filling(getattr(value, name))) for name in value.__struct_fields__]
        fields = [(name, fill) for name, fill in named if fill is not None]
        return partial(filled_message, value, fields) if fields else None
    if isinstance(value, list):
        fills = [filling(each) for each in value]
        return partial(filled_list, value, fills) if any(fills) else None
    return None


def filled_made(
    make: Callable[..., Any], given: list[tuple[str, Any, Filling | None]], bindings: Bindings
) -> Any:
    return make(**{name: value if fill is None else fill(bindings) for name, value, fill in given})


def filled_message(
    drawn: Message, fields: list[tuple[str, Filling]], bindings: Bindings
) -> Message:
    filled = copy(drawn)
    for name, fill in fields:
        setattr(filled, name, fill(bindings))
    return filled


def filled_list(drawn: list[Any], fills: list[Filling | None], bindings: Bindings) -> list[Any]:
    pairs = zip(drawn, fills, strict=True)
    return [each if fill is None else fill(bindings) for each, fill in pairs]


def leaves(value: Any) -> list[Any]:
    """Every plain value inside a message."""
    if isinstance(value, Message):
        return [leaf for name in value.__struct_fields__ for leaf in leaves(getattr(value, name))]
    if isinstance(value, list):
        return [leaf for each in value for leaf in leaves(each)]
    return [] if isinstance(value, BUFFERS) else [value]


def told(value: Any) -> str:
    """A drawn value for people: only what differs from the defaults."""
    if isinstance(value, Message):
        plain = type(value)()
        fields = [
            f"{name}={told(getattr(value, name))}"
            for name in value.__struct_fields__
            if repr(getattr(value, name)) != repr(getattr(plain, name))
        ]
        return "{" + " ".join(fields) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(told, value)) + "]"
    if isinstance(value, str) and value and all(c in string.printable for c in value):
        return value
    return repr(value)
