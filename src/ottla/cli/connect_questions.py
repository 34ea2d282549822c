"""What a wizard must ask next, from what a Connect says of a configuration. Pure.

Kafka Connect's answers to `…/config` and `…/config/validate` in, questions out: only for keys that
have no default, or that something is wrong with. Absent: asking.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

SAID_ALREADY = ("name", "connector.class")
TABLES = ("table.whitelist", "table.include.list", "collection.include.list")
_SIGN_IN = ("user", "username", "password")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    name: str
    doc: str
    hidden: bool = False  # a password
    optional: bool = False  # an empty answer leaves the key unsaid
    before: str | None = None  # what was said, and is asked for again
    choices: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()  # why it is asked


def required(keys: Iterable[Mapping[str, Any]], said: Mapping[str, str]) -> list[Question]:
    """Of a plugin's keys, those without a default."""
    return [
        _question(one, said)
        for one in keys
        if one["required"] and one["name"] not in (*SAID_ALREADY, *said)
    ]


def wrong(found: Mapping[str, Any], said: Mapping[str, str]) -> list[Question]:
    """Of a validated configuration, what is to be said differently.

    A sentence that several keys share is one question. Where an address was refused, who signs in
    there may be the reason: both are asked for.
    """
    told = _told_of(found["configs"])
    asked: dict[str, Question] = {}
    for one in found["configs"]:
        value, definition = one["value"], one["definition"]
        name = value["name"]
        errors = tuple(dict.fromkeys(each for each in value["errors"] if told[each] == name))
        if not errors or definition is None or name in SAID_ALREADY:
            continue
        asked[name] = _question(definition, said, value["recommended_values"], errors)
        if name in said:
            for other in _beside(name, found["configs"]):
                asked.setdefault(other["name"], _question(other, said))
    return list(asked.values())


def unanswerable(found: Mapping[str, Any]) -> list[str]:
    """What is wrong, but no key's: there is nothing to ask."""
    return [
        f"{one['value']['name']}: {sentence}"
        for one in found["configs"]
        if one["definition"] is None or one["value"]["name"] in SAID_ALREADY
        for sentence in one["value"]["errors"]
    ]


def tables(found: Mapping[str, Any], said: Mapping[str, str]) -> Question | None:
    """Which of those that are there; None: nobody knows, or it was said."""
    if any(name in said for name in TABLES) or said.get("query"):
        return None
    for one in found["configs"]:
        there = one["value"]["recommended_values"]
        if one["value"]["name"] in TABLES and there and one["definition"] is not None:
            return _question(one["definition"], said, there)
    return None


def answer(question: Question, text: str) -> str:
    """Numbers of choices stand for the choices; several have commas between them."""
    if not question.choices:
        return text
    given = [one.strip() for one in text.split(",") if one.strip()]
    return ",".join(_chosen(question.choices, one) for one in given)


def _told_of(configs: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """By sentence, the key that it is told of: the plainest, `topics` before `topics.regex`."""
    told: dict[str, str] = {}
    for one in configs:
        for sentence in one["value"]["errors"]:
            name = one["value"]["name"]
            told[sentence] = min(told.get(sentence, name), name, key=len)
    return told


def _chosen(choices: Sequence[str], one: str) -> str:
    if one in choices or not one.isdecimal():
        return one
    return choices[int(one) - 1] if 1 <= int(one) <= len(choices) else one


def _beside(name: str, configs: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    family = name.partition(".")[0] + "."
    definitions = [one["definition"] for one in configs if one["definition"] is not None]
    return [
        one
        for one in definitions
        if one["name"].startswith(family)
        and (one["required"] or one["name"].rpartition(".")[2] in _SIGN_IN)
    ]


def _question(
    definition: Mapping[str, Any],
    said: Mapping[str, str],
    choices: Iterable[str] = (),
    errors: tuple[str, ...] = (),
) -> Question:
    name = definition["name"]
    return Question(
        name=name,
        doc=definition["documentation"] or "",
        hidden=definition["type"] == "PASSWORD",
        optional=not definition["required"] and not errors,
        before=said.get(name),
        choices=tuple(choices),
        errors=errors,
    )
