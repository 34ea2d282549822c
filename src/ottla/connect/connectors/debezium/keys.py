"""Keys of Debezium's connectors: how they are defined, and those that are refused. Pure."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ottla.connect.connectors.debezium.filters import Choice, expressions
from ottla.connect.definitions import Key, Kind, Validator


def one_of(*allowed: str) -> Validator:
    def check(name: str, value: Any) -> None:
        if str(value).lower() not in allowed:
            raise ValueError(
                f"The '{name}' value is invalid: Value must be one of {', '.join(allowed)}"
            )

    return check


def at_least(least: int) -> Validator:
    def check(name: str, value: Any) -> None:
        if value < least:
            raise ValueError(f"The '{name}' value is invalid: Value must be at least {least}")

    return check


def text(name: str, doc: str, default: Any = "", importance: str = "MEDIUM") -> Key:
    return Key(name=name, kind=Kind.STRING, default=default, doc=doc, importance=importance)


def choice(name: str, doc: str, default: str, *allowed: str) -> Key:
    return Key(
        name=name, kind=Kind.STRING, default=default, doc=doc, validator=one_of(default, *allowed)
    )


def flag(name: str, doc: str, default: bool) -> Key:
    return Key(name=name, kind=Kind.BOOLEAN, default=default, doc=doc)


def number(name: str, doc: str, default: int, least: int = 0) -> Key:
    return Key(name=name, kind=Kind.INT, default=default, doc=doc, validator=at_least(least))


def lists(values: Mapping[str, Any], kind: str) -> Choice:
    include, exclude = values[f"{kind}.include.list"], values[f"{kind}.exclude.list"]
    return Choice(expressions(include), expressions(exclude))


def both_lists(values: Mapping[str, Any], kinds: Sequence[str]) -> dict[str, Sequence[str]]:
    return {
        f"{kind}.exclude.list": [f'"{kind}.include.list" is already specified']
        for kind in kinds
        if values[f"{kind}.include.list"] and values[f"{kind}.exclude.list"]
    }


def operations(text: str) -> frozenset[str]:
    """skipped.operations; ValueError for what is none."""
    said = {one.strip().lower() for one in text.split(",") if one.strip()}
    if said == {"none"}:
        return frozenset()
    if not said <= set("cudt"):
        raise ValueError(
            f"The 'skipped.operations' value '{text}' is invalid: "
            "Value must be none, or of c, u, d and t"
        )
    return frozenset(said)


def unserved(
    config: Mapping[str, str],
    known: Collection[str],
    names: Collection[str],
    prefixes: tuple[str, ...],
    harmless: Mapping[str, str],
) -> dict[str, Sequence[str]]:
    """Debezium's keys that are not served are refused: a mask that is not applied is a leak.

    `harmless`: said by their defaults, these ask for nothing.
    """
    return {
        name: [f"The key '{name}' is Debezium's, but is not served here."]
        for name, value in config.items()
        if name not in known
        and (name in names or name.startswith(prefixes))
        and harmless.get(name) != value.strip()
    }
