"""Keys of a configuration as a table: it feeds parsing, validation, the wizard and the reference.

As ConfigDef of Java: kinds, defaults, importance, groups, dependents, validators. `validators` has
the usual ones, `validation` the answer that REST gives. Pure.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

REQUIRED: Final = object()  # a key without a default


class Kind(Enum):
    BOOLEAN = "BOOLEAN"
    STRING = "STRING"
    INT = "INT"
    SHORT = "SHORT"
    LONG = "LONG"
    DOUBLE = "DOUBLE"
    LIST = "LIST"
    CLASS = "CLASS"
    PASSWORD = "PASSWORD"


class InvalidConfig(Exception):
    """What is wrong, by key; several sentences each."""

    def __init__(self, errors: Mapping[str, Sequence[str]]) -> None:
        super().__init__("; ".join(one for sentences in errors.values() for one in sentences))
        self.errors = dict(errors)

    def __reduce__(self) -> tuple[Any, ...]:
        return InvalidConfig, (self.errors,)


Validator = Callable[[str, Any], None]  # name and value; ValueError says what is wrong
Recommender = Callable[[str, Mapping[str, Any]], Sequence[Any]]
Visible = Callable[[str, Mapping[str, Any]], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class DistinctValues:
    """A validator of lists, ValidList: `parse` takes a repeated value once, validation refuses."""

    empty: bool = True
    check_one: Validator | None = None
    known: Sequence[str] = ()

    def __call__(self, name: str, value: Any) -> None:
        if value is None:
            raise ValueError(f"Configuration '{name}' values must not be null.")
        if not self.empty and not value:
            valid = f"[{', '.join(self.known)}]" if self.known else "any non-empty value"
            raise ValueError(
                f"Configuration '{name}' must not be empty. Valid values include: {valid}"
            )
        if len(set(value)) != len(value):
            raise ValueError(f"Configuration '{name}' values must not be duplicated.")
        for one in value:
            if not one:
                raise ValueError(f"Configuration '{name}' values must not be empty.")
            if self.check_one is not None:
                self.check_one(name, one)


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    name: str
    kind: Kind
    default: Any = REQUIRED
    importance: str = "MEDIUM"  # HIGH, MEDIUM, LOW
    doc: str = ""
    group: str | None = None
    order: int = -1
    width: str = "NONE"  # NONE, SHORT, MEDIUM, LONG
    display_name: str | None = None  # None: the name
    dependents: tuple[str, ...] = ()
    validator: Validator | None = None  # also sees None: for null, and for what cannot be parsed
    recommender: Recommender | None = None
    visible: Visible | None = None
    known_class: Callable[[str], str | None] | None = None  # a class's whole name, if it is here
    aliases: tuple[str, ...] = ()  # another product's name for the same key


@dataclass(slots=True)
class ConfigValue:
    """What validation tells of a key."""

    name: str
    value: Any = None
    recommended: list[Any] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    visible: bool = True


@dataclass(frozen=True, slots=True)
class Definitions:
    keys: tuple[Key, ...] = field(default=())

    def __or__(self, other: "Definitions") -> "Definitions":
        """Both tables; what `other` defines again wins, in the place of the first."""
        both = {one.name: one for one in self.keys} | {one.name: one for one in other.keys}
        return Definitions(tuple(both.values()))

    @property
    def names(self) -> frozenset[str]:
        return frozenset(one.name for one in self.keys)

    @property
    def groups(self) -> list[str]:
        return list(dict.fromkeys(one.group for one in self.keys if one.group is not None))

    def parse(self, config: Mapping[str, str]) -> dict[str, Any]:
        """Every key's value, its default where nothing is said. InvalidConfig for what is wrong."""
        errors: dict[str, list[str]] = {}
        values: dict[str, Any] = {}
        for key in self.keys:
            try:
                values[key.name] = _value(key, config)
            except ValueError as error:
                errors.setdefault(key.name, []).append(str(error))
        if errors:
            raise InvalidConfig(errors)
        return values

    def unknown(self, config: Iterable[str]) -> list[str]:
        known = self.names | {alias for one in self.keys for alias in one.aliases}
        return [name for name in config if name not in known]

    def validate(self, config: Mapping[str, str | None]) -> dict[str, ConfigValue]:
        """All that is wrong, with recommended values; what cannot be parsed is null."""
        found = {one.name: _validated(one, config) for one in self.keys}
        for name in self._undefined_dependents():
            said = f"{name} is referred in the dependents, but not defined."
            found[name] = ConfigValue(name, errors=[said], visible=False)
        parsed = {name: one.value for name, one in found.items()}
        for key in self.keys:
            one = found[key.name]
            try:
                if key.recommender is not None:
                    one.recommended = list(key.recommender(key.name, parsed))
                if key.visible is not None:
                    one.visible = key.visible(key.name, parsed)
            except ValueError as error:
                one.errors.append(str(error))
        return found

    def _undefined_dependents(self) -> list[str]:
        named = dict.fromkeys(one for key in self.keys for one in key.dependents)
        return [name for name in named if name not in self.names]


def said_value(key: Key, config: Mapping[str, Any]) -> tuple[bool, Any]:
    """Whether the key, or an alias of it, is said at all; and what."""
    for name in (key.name, *key.aliases):
        if name in config:
            return True, config[name]
    return False, None


def _value(key: Key, config: Mapping[str, str]) -> Any:
    there, said = said_value(key, config)
    if not there:
        if key.default is REQUIRED:
            raise _missing(key)
        value = key.default
    else:
        value = None if said is None else _parsed(key, said)
    if isinstance(key.validator, DistinctValues) and value is not None:
        value = list(dict.fromkeys(value))
    if key.validator is not None:
        key.validator(key.name, value)
    return value


def _validated(key: Key, config: Mapping[str, str | None]) -> ConfigValue:
    found = ConfigValue(key.name)
    there, said = said_value(key, config)
    if there:
        try:
            found.value = None if said is None else _parsed(key, said)
        except ValueError as error:
            found.errors.append(str(error))
    elif key.default is REQUIRED:
        found.errors.append(str(_missing(key)))
    else:
        found.value = key.default
    if key.validator is not None:
        try:
            key.validator(key.name, found.value)
        except ValueError as error:
            found.errors.append(str(error))
    return found


def _missing(key: Key) -> ValueError:
    return ValueError(f'Missing required configuration "{key.name}" which has no default value.')


_BITS = {Kind.SHORT: 16, Kind.INT: 32, Kind.LONG: 64}
_INTEGER = re.compile(r"[+-]?\d+")
_DOUBLE = re.compile(r"[+-]?(NaN|Infinity|(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[fFdD]?)")


def _parsed(key: Key, said: str) -> Any:
    text = said.strip()
    match key.kind:
        case Kind.BOOLEAN:
            if text.lower() in ("true", "false"):
                return text.lower() == "true"
            raise invalid(key.name, said, "Expected value to be either true or false")
        case Kind.INT | Kind.SHORT | Kind.LONG as kind:
            number = int(text) if _INTEGER.fullmatch(text) else 1 << 64
            half = 1 << (_BITS[kind] - 1)
            if not -half <= number < half:
                raise invalid(key.name, said, f"Not a number of type {kind.value}")
            return number
        case Kind.DOUBLE:
            if not _DOUBLE.fullmatch(text):
                raise invalid(key.name, said, "Not a number of type DOUBLE")
            return float(text if text.endswith(("NaN", "Infinity")) else text.rstrip("fFdD"))
        case Kind.LIST:
            return [one.strip() for one in text.split(",")] if text else []
        case Kind.CLASS if key.known_class is not None:
            found = key.known_class(text)
            if found is None:
                raise invalid(key.name, said, f"Class {said} could not be found.")
            return found
    return text


def invalid(name: str, value: Any, why: str) -> ValueError:
    """For validators: Java's ConfigException."""
    match value:
        case None:
            shown = "null"
        case list():
            shown = f"[{', '.join(map(str, value))}]"
        case bool():
            shown = str(value).lower()
        case _:
            shown = str(value)
    return ValueError(f"Invalid value {shown} for configuration {name}: {why}")
