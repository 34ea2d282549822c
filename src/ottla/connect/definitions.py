"""Keys of a configuration as a table: it feeds parsing, validation, the wizard and the reference.

As ConfigDef of Java: kinds, defaults, importance, groups, dependents, validators. Pure.
"""

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


Validator = Callable[[str, Any], None]  # name and value; ValueError says what is wrong
Recommender = Callable[[str, Mapping[str, Any]], Sequence[Any]]


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
    validator: Validator | None = None
    recommender: Recommender | None = None
    aliases: tuple[str, ...] = ()  # another product's name for the same key


@dataclass(frozen=True, slots=True)
class Definitions:
    keys: tuple[Key, ...] = field(default=())

    def __or__(self, other: "Definitions") -> "Definitions":
        """Both tables; what `other` defines again wins."""
        mine = tuple(one for one in self.keys if one.name not in other.names)
        return Definitions((*mine, *other.keys))

    @property
    def names(self) -> frozenset[str]:
        return frozenset(one.name for one in self.keys)

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


def _value(key: Key, config: Mapping[str, str]) -> Any:
    said = next((config[name] for name in (key.name, *key.aliases) if name in config), None)
    if said is None:
        if key.default is REQUIRED:
            raise ValueError(
                f'Missing required configuration "{key.name}" which has no default value.'
            )
        value = key.default
    else:
        value = _parsed(key, said)
    if key.validator is not None:
        key.validator(key.name, value)
    return value


_RANGES = {Kind.SHORT: 16, Kind.INT: 32, Kind.LONG: 64}


def _parsed(key: Key, said: str) -> Any:
    text = said.strip()
    match key.kind:
        case Kind.BOOLEAN:
            if text.lower() in ("true", "false"):
                return text.lower() == "true"
            raise _invalid(key, said, "Expected value to be either true or false")
        case Kind.INT | Kind.SHORT | Kind.LONG as kind:
            try:
                number = int(text)
            except ValueError:
                raise _invalid(key, said, f"Not a number of type {kind.value}") from None
            if not -(2 ** (_RANGES[kind] - 1)) <= number < 2 ** (_RANGES[kind] - 1):
                raise _invalid(key, said, f"Not a number of type {kind.value}")
            return number
        case Kind.DOUBLE:
            try:
                return float(text)
            except ValueError:
                raise _invalid(key, said, "Not a number of type DOUBLE") from None
        case Kind.LIST:
            return [one.strip() for one in text.split(",")] if text else []
        case Kind.PASSWORD:
            return said
    return text


def _invalid(key: Key, said: str, why: str) -> ValueError:
    return invalid(key.name, said, why)


def invalid(name: str, value: Any, why: str) -> ValueError:
    """For validators: Java's ConfigException."""
    shown = "null" if value is None else value
    return ValueError(f"Invalid value {shown} for configuration {name}: {why}")


def one_of(*words: str, any_case: bool = False) -> Validator:
    """A validator: ValidString, or CaseInsensitiveValidString."""
    known = [one.upper() for one in words] if any_case else list(words)
    kind = " (case insensitive)" if any_case else ""

    def check(name: str, value: Any) -> None:
        said = value.upper() if any_case and value is not None else value
        if said not in known:
            raise invalid(name, value, f"String must be one of{kind}: {', '.join(known)}")

    return check


def non_empty(name: str, value: Any) -> None:
    """A validator: NonEmptyString."""
    if value is not None and not value:
        raise invalid(name, value, "String must be non-empty")
