"""Options of a service: a table, and the properties file that is read against it.

Unknown names, wrong values and lines that mean nothing are told with their place.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ottla.config.properties import read_properties
from ottla.errors import OttlaError

Parse = Callable[[str], Any]


@dataclass(frozen=True, slots=True)
class Option:
    name: str
    parse: Parse
    default: Any
    doc: str
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Said:
    name: str
    value: str
    origin: str  # to begin a sentence with


def said_in(file: Path | None) -> list[Said]:
    if file is None:
        return []
    return [
        Said(entry.name, entry.value, f"{file}, line {entry.line}")
        for entry in read_properties(file)
    ]


def read_options(
    table: Iterable[Option], said: Iterable[Said], *, passed_on: tuple[str, ...] = ()
) -> tuple[dict[str, Any], list[Said]]:
    """Every option's value by its name, and what begins with one of `passed_on` and is nobody's
    here. OttlaError for anything else that is not in the table."""
    options = list(table)
    known = {name: one for one in options for name in (one.name, *one.aliases)}
    values = {one.name: one.default for one in options}
    others = []
    for one in said:
        option = known.get(one.name)
        if option is not None:
            values[option.name] = _value(option, one)
        elif one.name.startswith(passed_on):
            others.append(one)
        else:
            raise OttlaError(f"{one.origin}: {one.name} is no option that is known here.")
    return values, others


def _value(option: Option, said: Said) -> Any:
    try:
        return option.parse(said.value.strip())
    except ValueError as error:
        raise OttlaError(f"{said.origin}: {said.name}={said.value}: {error}.") from None


def text(value: str) -> str:
    return value


def flag(value: str) -> bool:
    if value.lower() not in ("true", "false"):
        raise ValueError("true or false is expected")
    return value.lower() == "true"


def number(minimum: int = 0) -> Parse:
    def parse(value: str) -> int:
        try:
            found = int(value)
        except ValueError:
            raise ValueError("a whole number is expected") from None
        if found < minimum:
            raise ValueError(f"at least {minimum} is expected")
        return found

    return parse


def one_of(choices: Mapping[str, Any]) -> Parse:
    def parse(value: str) -> Any:
        if value.upper() not in choices:
            raise ValueError(f"one of {', '.join(choices)} is expected")
        return choices[value.upper()]

    return parse


def items(value: str) -> tuple[str, ...]:
    return tuple(one.strip() for one in value.split(",") if one.strip())
