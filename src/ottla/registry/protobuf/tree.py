"""A file of Protobuf's language as it was written: names are not resolved here."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

TAG_MAX = 536_870_911
SCALARS = frozenset(
    [
        "double",
        "float",
        "int32",
        "int64",
        "uint32",
        "uint64",
        "sint32",
        "sint64",
        "fixed32",
        "fixed64",
        "sfixed32",
        "sfixed64",
        "bool",
        "string",
        "bytes",
    ]
)


class Word(str):
    """A value that is written without quotes: a number, `true`, a constant of an enum."""

    __slots__ = ()


class Option(NamedTuple):
    name: str  # as it is written: `java_package`, `(my.option).part`
    value: Any  # Word, str, dict or list


class Range(NamedTuple):
    first: int
    last: int  # included


@dataclass(slots=True, eq=False)
class Field:
    name: str
    type: str  # of a map: `map<string, Order>`
    tag: int
    label: str | None = None
    options: list[Option] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class OneOf:
    name: str
    fields: list[Field] = field(default_factory=list)
    options: list[Option] = field(default_factory=list)
    groups: list["Group"] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Group:
    name: str
    tag: int
    label: str | None
    body: "Message"


@dataclass(slots=True, eq=False)
class Constant:
    name: str
    tag: int
    options: list[Option] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Enum:
    name: str
    constants: list[Constant] = field(default_factory=list)
    options: list[Option] = field(default_factory=list)
    reserved: list[list[str | Range]] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Extend:
    name: str
    fields: list[Field] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Extensions:
    ranges: list[str | Range]
    options: list[Option] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Message:
    name: str
    fields: list[Field] = field(default_factory=list)
    oneofs: list[OneOf] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    types: list["Message | Enum"] = field(default_factory=list)
    options: list[Option] = field(default_factory=list)
    reserved: list[list[str | Range]] = field(default_factory=list)
    extensions: list[Extensions] = field(default_factory=list)
    extends: list[Extend] = field(default_factory=list)

    @property
    def is_map_entry(self) -> bool:
        return any(one.name == "map_entry" and one.value == "true" for one in self.options)


class Rpc(NamedTuple):
    name: str
    request: str
    response: str
    request_streams: bool
    response_streams: bool
    options: list[Option]


@dataclass(slots=True, eq=False)
class Service:
    name: str
    rpcs: list[Rpc] = field(default_factory=list)
    options: list[Option] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class File:
    syntax: str | None = None
    edition: str | None = None
    package: str | None = None
    imports: list[str] = field(default_factory=list)
    public_imports: list[str] = field(default_factory=list)
    options: list[Option] = field(default_factory=list)
    types: list[Message | Enum] = field(default_factory=list)
    extends: list[Extend] = field(default_factory=list)
    services: list[Service] = field(default_factory=list)


def map_types(written: str) -> tuple[str, str] | None:
    """Key's and value's type of a map."""
    if not written.startswith("map<"):
        return None
    key, _, value = written[4:-1].partition(",")
    return key.strip(), value.strip()
