"""JSON as Jackson reads it: what follows the first value is not looked at, zeros may lead."""

import decimal
import json
import re
from collections.abc import Mapping
from typing import Any, Final, TypeVar

import msgspec


class NotJson(ValueError):
    """The bytes are no JSON."""


class Missing:
    """What Jackson reads from nothing at all."""


MISSING: Final = Missing()


def _refuse(word: str) -> Any:
    raise NotJson(f"{word} is no JSON")


_Known = TypeVar("_Known")
_SCHEMA, _PAYLOAD = b'{"schema":', b',"payload":'
_FLOATS = json.JSONDecoder(parse_constant=_refuse)
_EXACT = json.JSONDecoder(parse_constant=_refuse, parse_float=decimal.Decimal)
_QUICK = msgspec.json.Decoder(float_hook=decimal.Decimal)  # as _EXACT, or it refuses
_BLANK = re.compile(r"[ \t\r\n]*")
_ZEROS = re.compile(r'"(?:[^"\\]|\\.)*"|(?<![\d.eE+-])(-?)0+(?=\d)', re.DOTALL)
_AFTER_WORD = re.compile(r"[\w$]")


def read_tree(data: bytes, *, exact: bool) -> Any:
    """Exact: numbers with a point are decimals, not floats."""
    try:
        text = data.decode(json.detect_encoding(data))
    except UnicodeDecodeError as error:
        raise NotJson(str(error)) from None
    begin = _BLANK.match(text).end()  # type: ignore[union-attr]
    if begin == len(text):
        return MISSING
    decoder = _EXACT if exact else _FLOATS
    try:
        return _first(decoder, text, begin)
    except (ValueError, RecursionError) as error:
        plain = _ZEROS.sub(lambda found: _without_zeros(found), text)
        if plain != text:
            try:
                return _first(decoder, plain, begin)
            except (ValueError, RecursionError):
                pass
        raise NotJson(str(error)) from None


def read_enveloped(data: bytes, known: Mapping[bytes, _Known]) -> tuple[_Known, Any] | None:
    """What is known by how the text begins, up to the payload, and the payload, exact.

    None: it begins otherwise, or is no such JSON that there is only one way to read.
    """
    for beginning, one in known.items():
        if data.startswith(beginning) and data.endswith(b"}"):
            try:
                return one, _QUICK.decode(memoryview(data)[len(beginning) : -1])
            except (ValueError, RecursionError):
                return None
    return None


def envelope_beginning(data: bytes) -> bytes | None:
    """Up to the payload, with nothing behind it; None: it is not as Connect writes it."""
    if not data.startswith(_SCHEMA):
        return None
    try:
        text = data.decode()
        _, end = _EXACT.raw_decode(text, len(_SCHEMA))
        begin = end + len(_PAYLOAD)
        if not text.startswith(_PAYLOAD.decode(), end):
            return None
        _, end = _EXACT.raw_decode(text, begin)
    except (ValueError, RecursionError):
        return None
    return text[:begin].encode() if text[end:] == "}" else None  # else another schema may follow


def _without_zeros(found: re.Match[str]) -> str:
    return found[0] if found[0].startswith('"') else found[1]


def _first(decoder: json.JSONDecoder, text: str, begin: int) -> Any:
    value, end = decoder.raw_decode(text, begin)
    if end < len(text) and type(value) not in (str, list, dict):
        after = text[end]
        number = value is not None and not isinstance(value, bool)
        if (number and after not in " \t\r\n") or (not number and _AFTER_WORD.match(after)):
            raise NotJson(f"Unexpected character {after!r} after a value")
    return value
