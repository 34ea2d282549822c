"""PostgreSQL's text forms of arrays, hstore, bytes, bits and money. Pure."""

import re
from decimal import Decimal

Element = str | None
_BARE = re.compile(r"[^,{}]+")


def array(text: str) -> list[Element] | list[list[Element]]:
    """One dimension as a list; of more, a list with a list for each part."""
    start = text.index("=") + 1 if text.startswith("[") else 0  # bounds that do not begin at 1
    if text[start : start + 2] == "{{":
        return [_flat(part) for part in _parts(text, start)]
    return _flat(text[start:])


def _parts(text: str, start: int) -> list[str]:
    parts, depth, begun, at = [], 0, start, start
    while at < len(text):
        if text[at] == '"':
            at = _closing_quote(text, at)
        elif text[at] == "{":
            depth += 1
            if depth == 2:
                begun = at
        elif text[at] == "}":
            if depth == 2:
                parts.append(text[begun : at + 1])
            depth -= 1
        at += 1
    return parts


def _closing_quote(text: str, at: int) -> int:
    at += 1
    while text[at] != '"':
        at += 2 if text[at] == "\\" else 1
    return at


def _flat(text: str) -> list[Element]:
    elements: list[Element] = []
    at = 1
    while at < len(text) - 1:
        if text[at] == '"':
            end = _closing_quote(text, at)
            elements.append(_unescaped(text[at + 1 : end]))
            at = end + 1
        elif text[at] == ",":
            at += 1
        else:
            bare = _BARE.match(text, at)
            if bare is None:
                return [None]  # deeper than two dimensions
            elements.append(None if bare[0] == "NULL" else _unescaped(bare[0]))
            at = bare.end()
    return elements


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL) if "\\" in text else text


_PAIR = re.compile(r'"((?:[^"\\]|\\.)*)"=>(?:NULL|"((?:[^"\\]|\\.)*)")', re.DOTALL)


def hstore(text: str) -> dict[str, str | None]:
    return {
        _unescaped(pair[1]): None if pair[2] is None else _unescaped(pair[2])
        for pair in _PAIR.finditer(text)
    }


def bytea(text: str) -> bytes:
    return bytes.fromhex(text[2:])


def bits(text: str) -> bytes:
    """Little-endian, without the zero bytes at its end."""
    number = int(text or "0", 2)
    return number.to_bytes((number.bit_length() + 7) // 8, "little")


def money(text: str) -> Decimal:
    """As lc_monetary=C writes it; the session asks for that."""
    digits = re.sub(r"[^0-9.]", "", text)
    return -Decimal(digits) if text.startswith(("-", "(")) else Decimal(digits)
