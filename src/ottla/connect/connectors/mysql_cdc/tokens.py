"""SQL as words, names, literals and signs, each with its text as written. Pure."""

import re
from typing import Final, NamedTuple

_TOKEN: Final = re.compile(
    r"""
    (?P<skipped>\s+|/\*M?!\d*|\*/|/\*(?!M?!).*?\*/|\#[^\n]*|--(?=\s|$)[^\n]*)
  | (?P<bits>[bBxX]'[^']*'|0[xb][0-9A-Fa-f]+\b)
  | (?P<string>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")
  | (?P<name>`(?:[^`]|``)*`)
  | (?P<number>\d+\.?\d*(?:[eE][+-]?\d+)?(?![\w$])|\.\d+(?:[eE][+-]?\d+)?)
  | (?P<word>[\w$@]+)
  | (?P<sign>.)
    """,
    re.VERBOSE | re.DOTALL,
)


class Token(NamedTuple):
    kind: str  # word, name, string, number, bits or sign
    text: str
    start: int
    end: int

    @property
    def upper(self) -> str:
        """A word or a sign; empty for names and literals, which are no keywords."""
        return self.text.upper() if self.kind in ("word", "sign") else ""


def tokens(sql: str) -> list[Token]:
    """Comments are left out; what stands in comments that servers execute is not."""
    found = []
    for one in _TOKEN.finditer(sql):
        kind = one.lastgroup or "sign"
        if kind != "skipped":
            found.append(Token(kind, one[0], one.start(), one.end()))
    return found


def identifier(token: Token) -> str:
    text = token.text
    if token.kind == "name":
        return text[1:-1].replace("``", "`")
    if token.kind == "string":
        return text[1:-1].replace(text[0] * 2, text[0])
    return text


def unquoted(token: Token) -> str:
    """A literal without its quotes and otherwise as written, which is what Debezium takes."""
    if token.kind == "string":
        return token.text[1:-1]
    return token.text
