"""Users of Kerberos principals, by Kafka's `sasl.kerberos.principal.to.local.rules`.

    RULE:[2:$1@$0](.*@OTHER\\.EXAMPLE)s/@.*//L, DEFAULT

A rule is for principals with so many parts, writes them anew ($0 is the realm), asks whether that
matches, and puts something else in its place; the first that applies decides. DEFAULT takes the
first part of principals of this host's own realm.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from ottla.errors import OttlaError
from ottla.security.failures import AuthenticationFailed
from ottla.security.principals import expand

OPTION = "sasl.kerberos.principal.to.local.rules"
_PRINCIPAL = re.compile(r"([^/@]*)(?:/([^/@]*))?@([^/@]*)")
_RULE = re.compile(
    r"(DEFAULT)|RULE:\[(\d+):([^\]]*)\](?:\(([^)]*)\))?(?:s/([^/]*)/([^/]*)/(g)?)?/?(L|U)?"
)
_PARAMETER = re.compile(r"\$(\d*)")


class Principal(NamedTuple):
    """`first/second@REALM`."""

    realm: str
    parts: tuple[str, ...]


def parse_principal(text: str) -> Principal:
    parsed = _PRINCIPAL.fullmatch(text)
    if parsed is None:
        raise AuthenticationFailed(f"{text[:100]!r} is no Kerberos principal")
    first, second, realm = parsed.groups()
    return Principal(realm, (first,) if second is None else (first, second))


class KerberosRule(NamedTuple):
    text: str
    parts: int
    written: str  # with $0, $1, …
    match: re.Pattern[str] | None
    replaced: re.Pattern[str] | None
    replacement: str
    is_everywhere: bool
    case: str  # L, U or nothing

    def apply(self, principal: Principal) -> str | None:
        if len(principal.parts) != self.parts:
            return None
        base = self._write((principal.realm, *principal.parts))
        if self.match is not None and self.match.fullmatch(base) is None:
            return None
        if self.replaced is not None:
            count = 0 if self.is_everywhere else 1
            base = self.replaced.sub(
                lambda found: expand(self.replacement, found), base, count=count
            )
        return base

    def _write(self, values: tuple[str, ...]) -> str:
        return _PARAMETER.sub(lambda found: values[int(found[1])] if found[1] else "", self.written)


class KerberosShortNamer(NamedTuple):
    rules: tuple[KerberosRule | None, ...]  # None is DEFAULT
    realm: str

    def user(self, text: str) -> str:
        """AuthenticationFailed where no rule makes a user of a principal."""
        principal = parse_principal(text)
        for rule in self.rules:
            if rule is None:
                name = principal.parts[0] if principal.realm == self.realm else None
            else:
                name = rule.apply(principal)
            if name is None:
                continue
            if "/" in name or "@" in name:
                raise AuthenticationFailed(f"a rule makes {name[:100]!r} of {text[:100]!r}")
            case = "" if rule is None else rule.case
            return name.lower() if case == "L" else name.upper() if case == "U" else name
        raise AuthenticationFailed(f"no rule of {OPTION} is for {text[:100]!r}")


def parse_rules(texts: Iterable[str], realm: str) -> KerberosShortNamer:
    return KerberosShortNamer(tuple(_rule(text) for text in texts if text), realm)


def _rule(text: str) -> KerberosRule | None:
    parsed = _RULE.fullmatch(text)
    if parsed is None:
        raise OttlaError(
            f"{OPTION}: {text!r} is no rule; write DEFAULT or RULE:[PARTS:FORMAT](MATCH)s/OLD/NEW/."
        )
    default, parts, written, match, replaced, replacement, everywhere, case = parsed.groups()
    if default:
        return None
    for index in filter(None, _PARAMETER.findall(written)):
        if int(index) > int(parts):
            raise OttlaError(f"{OPTION}: {text!r} writes ${index} of {parts} parts.")
    return KerberosRule(
        text,
        int(parts),
        written,
        None if match is None else _pattern(match, text),
        None if replaced is None else _pattern(replaced, text),
        replacement or "",
        everywhere is not None,
        case or "",
    )


def _pattern(pattern: str, rule: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise OttlaError(f"{OPTION}: {rule!r}: {error}.") from None
