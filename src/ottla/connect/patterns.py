"""Java's regular expressions: by RE2, whose time never explodes, wherever it can tell the same.

Look-around, back references and possessive quantifiers are beyond RE2; only they are left to
Python's own engine, which has them as Java does.
"""

import re
from typing import Any

import re2

from ottla.connect.definitions import invalid


class Pattern:
    """Pickled by its text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._compiled = _compiled(text)

    def __reduce__(self) -> tuple[Any, ...]:
        return Pattern, (self._text,)

    def full_match(self, text: str) -> Any:
        return self._compiled.fullmatch(text)

    def replace_first(self, text: str, replacement: str) -> str:
        """`Matcher.replaceFirst`: the first match, which need not be the whole text."""
        found = self._compiled.search(text)
        if found is None:
            return text
        return text[: found.start()] + _expanded(found, replacement) + text[found.end() :]


def java_pattern(name: str, value: Any) -> None:
    """A validator."""
    try:
        _compiled(value)
    except (re.error, TypeError) as error:
        raise invalid(name, value, f"Invalid regex: {error}") from None


def _compiled(text: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(_named(text), options)
    except re2.error:
        return re.compile(_named(text))


def _named(text: str) -> str:
    """Java writes a named group without the P."""
    return re.sub(r"(?<!\\)\(\?<(?=[A-Za-z])", "(?P<", text)


def _expanded(found: Any, replacement: str) -> str:
    made: list[str] = []
    at = 0
    while at < len(replacement):
        sign = replacement[at]
        at += 1
        if sign == "\\":
            if at == len(replacement):
                raise ValueError("character to be escaped is missing")
            made.append(replacement[at])
            at += 1
        elif sign == "$":
            group, at = _group(found, replacement, at)
            made.append(found.group(group) or "")
        else:
            made.append(sign)
    return "".join(made)


def _group(found: Any, replacement: str, at: int) -> tuple[int | str, int]:
    if replacement[at : at + 1] == "{":
        end = replacement.find("}", at)
        name = replacement[at + 1 : end] if end > 0 else ""
        if name not in found.groupdict():
            raise ValueError(f"No group with name {{{name}}}")
        return name, end + 1
    if not replacement[at : at + 1].isdecimal():
        raise ValueError("Illegal group reference")
    number = int(replacement[at])
    at += 1
    count = len(found.groups())
    if number > count:
        raise IndexError(f"No group {number}")
    while replacement[at : at + 1].isdecimal():  # as many digits as still name a group
        larger = number * 10 + int(replacement[at])
        if larger > count:
            break
        number, at = larger, at + 1
    return number, at
