"""Who somebody is: principals, and how certificates become them.

Names of certificates are written exactly as Java writes them (X500Principal, RFC 2253): rules and
super users in the files and the metadata of existing clusters have them in that form.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from ottla.errors import OttlaError
from ottla.security import der

USER = "User"
ANONYMOUS = "User:ANONYMOUS"

_KEYWORDS = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.1": "UID",
    "0.9.2342.19200300.100.1.25": "DC",
}
"""The attributes that RFC 2253 knows by name; all others are shown as numbers."""
_TEXT_TAGS = frozenset((0x0C, 0x13, 0x14, 0x16, 0x1B, 0x1C, 0x1E))
_SPECIAL = frozenset(',=+<>#;"\\')
_WITHOUT_RULE = "DEFAULT"
_OF_A_NODE = re.compile(r"CN=node-([0-9]{1,10}),O=Ottla")  # as `security.authority` names them
_NAMED_GROUP = re.compile(r"\(\?<([A-Za-z])")  # as Java writes it


class NoRuleApplies(ValueError):
    """A certificate is good, but no rule makes a user of its name."""


class PrincipalName(NamedTuple):
    type: str
    name: str

    def __str__(self) -> str:
        return f"{self.type}:{self.name}"


def parse_principal(text: str) -> PrincipalName:
    kind, separator, name = text.partition(":")
    if not separator:
        raise ValueError(f"{text!r} is no principal; write User:NAME")
    return PrincipalName(kind, name)


def user(name: str) -> str:
    return f"{USER}:{name}"


# Names of certificates ------------------------------------------------------------------------


def certificate_name(certificate: bytes) -> str:
    """The subject of a certificate (DER) in Java's form of RFC 2253: the last part first."""
    parts = list(der.children(der.subject_of(certificate), der.SEQUENCE))
    return ",".join(_relative_name(part) for part in reversed(parts))


@lru_cache(maxsize=256)
def node_of(certificate: bytes) -> int | None:
    """The node that a certificate of `ottla secure` is for; None for all others."""
    try:
        named = _OF_A_NODE.fullmatch(certificate_name(certificate))
    except ValueError:
        return None
    return int(named[1]) if named is not None else None


def _relative_name(part: der.Value) -> str:
    return "+".join(_attribute(one) for one in der.children(part, der.SET))


def _attribute(pair: der.Value) -> str:
    fields = list(der.children(pair, der.SEQUENCE))
    if len(fields) != 2:
        raise der.BadEncoding("an attribute is a type and a value")
    kind, value = der.dotted(fields[0]), fields[1]
    keyword = _KEYWORDS.get(kind)
    if keyword is None or value.tag not in _TEXT_TAGS:
        return f"{keyword or kind}=#{value.whole.hex()}"
    return f"{keyword}={_escaped(value.content.decode('utf-8', 'replace'))}"


def _escaped(text: str) -> str:
    """Special characters with a backslash, and so are blanks at either end."""
    lead = len(text) - len(text.lstrip(" \r"))
    tail = len(text.rstrip(" \r"))
    out = []
    for position, character in enumerate(text):
        if character == "\0":
            out.append("\\00")
            continue
        if character in _SPECIAL or position < lead or position >= tail:
            out.append("\\")
        out.append(character)
    return "".join(out)


# ssl.principal.mapping.rules ------------------------------------------------------------------


class _Rule(NamedTuple):
    pattern: re.Pattern[str] | None  # None: the name as it is
    replacement: str
    change_case: Callable[[str], str] | None

    def apply(self, name: str) -> str | None:
        if self.pattern is None:
            return name
        if self.pattern.fullmatch(name) is None:
            return None
        mapped = self.pattern.sub(lambda match: expand(self.replacement, match), name)
        return self.change_case(mapped) if self.change_case else mapped


class PrincipalMapping:
    """`RULE:pattern/replacement/[L|U]` one after another; `DEFAULT` takes the name as it is."""

    def __init__(self, rules: str = _WITHOUT_RULE) -> None:
        self._rules = _parse_rules(rules)

    def principal(self, name: str) -> str:
        for rule in self._rules:
            mapped = rule.apply(name)
            if mapped is not None:
                return user(mapped)
        raise NoRuleApplies(f"no rule of ssl.principal.mapping.rules applies to {name}")


def _parse_rules(text: str) -> list[_Rule]:
    rules: list[_Rule] = []
    rest = text.strip()
    while rest:
        if rest.startswith("RULE:"):
            rule, rest = _parse_rule(rest.removeprefix("RULE:"))
            rules.append(rule)
        else:
            word, _, rest = rest.partition(",")
            if word.strip() == _WITHOUT_RULE:
                rules.append(_Rule(None, "", None))
            elif word.strip():
                raise OttlaError(
                    f"ssl.principal.mapping.rules: {word.strip()!r} is no rule; write DEFAULT or "
                    "RULE:pattern/replacement/."
                )
        rest = rest.strip()
    return rules


def _parse_rule(text: str) -> tuple[_Rule, str]:
    pattern, text = _until_slash(text)
    replacement, text = _until_slash(text)
    flag = text[:1]
    _, _, rest = text.partition(",")
    try:
        compiled = re.compile(_NAMED_GROUP.sub(r"(?P<\1", pattern))
    except re.error as error:
        raise OttlaError(
            f"ssl.principal.mapping.rules: {pattern!r} is no pattern: {error}."
        ) from None
    change_case = {"L": str.lower, "U": str.upper}.get(flag)
    return _Rule(compiled, replacement, change_case), rest


def _until_slash(text: str) -> tuple[str, str]:
    position = 0
    while position < len(text) and text[position] != "/":
        position += 2 if text[position] == "\\" else 1
    if position >= len(text):
        raise OttlaError(
            "ssl.principal.mapping.rules: a rule does not end; write RULE:pattern/replacement/."
        )
    return text[:position], text[position + 1 :]


def expand(replacement: str, match: re.Match[str]) -> str:
    """Java's way: `$1` and `${name}` are groups, a backslash takes the next character as it is; a
    number that no group has keeps its last digits as text, or stands for itself."""
    out, position = [], 0
    while position < len(replacement):
        character = replacement[position]
        position += 1
        if character == "\\":
            out.append(replacement[position : position + 1])
            position += 1
        elif character == "$" and replacement[position : position + 1] == "{":
            end = replacement.index("}", position)
            out.append(match[replacement[position + 1 : end]] or "")
            position = end + 1
        elif character == "$" and replacement[position : position + 1].isdecimal():
            digits = position
            while replacement[digits : digits + 1].isdecimal():
                digits += 1
            end = digits
            while end > position + 1 and int(replacement[position:end]) > match.re.groups:
                end -= 1
            number = int(replacement[position:end])
            out.append("$" + replacement[position:end] if number > match.re.groups else "")
            if number <= match.re.groups:
                out.append(match[number] or "")
            position = end
        else:
            out.append(character)
    return "".join(out)
