"""Numbers and texts narrowed as Java's casts and `parse…` do. Pure."""

import decimal
import math
import re
from typing import Any

from ottla.connect.java_text import single

_INTEGER = re.compile(r"[+-]?\d+")
_FLOAT = re.compile(r"[+-]?(NaN|Infinity|((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?)[fFdD]?)", re.ASCII)
_BIG_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_JAVA_BLANKS = "".join(map(chr, range(33)))


class NotANumber(ValueError):
    """Java's NumberFormatException."""


def wrapped(number: int, bits: int) -> int:
    """The low bits, with their sign."""
    low = number & ((1 << bits) - 1)
    return low - (1 << bits) if low >> (bits - 1) else low


def to_integer(value: Any, bits: int) -> int:
    match value:
        case bool():
            return int(value)
        case int():
            return wrapped(value, bits)
        case float():
            wide = max(bits, 32)  # through int, whose ends hold; then the low bits
            return wrapped(_saturated(value, wide), bits)
        case decimal.Decimal():
            return wrapped(int(value), bits)
    if not _INTEGER.fullmatch(value):
        raise NotANumber(value)
    number = int(value)
    if number != wrapped(number, bits):
        raise NotANumber(value)
    return number


def _saturated(value: float, bits: int) -> int:
    if math.isnan(value):
        return 0
    half = 1 << (bits - 1)
    if math.isinf(value):
        return half - 1 if value > 0 else -half
    return min(max(int(value), -half), half - 1)


def to_float(value: Any) -> float:
    if not isinstance(value, str):
        return float(value)
    bare = value.strip(_JAVA_BLANKS)
    if not _FLOAT.fullmatch(bare):
        raise NotANumber(value)
    return float(bare if bare.endswith(("NaN", "Infinity")) else bare.rstrip("fFdD"))


def to_single(value: Any) -> float:
    if isinstance(value, int) and not isinstance(value, bool):
        return _single_of_int(value)
    return single(to_float(value))


def _single_of_int(number: int) -> float:
    """Rounded once: what a double would round away is kept as one sticky bit."""
    magnitude = abs(number)
    shift = magnitude.bit_length() - 50
    if shift <= 0:
        return single(float(number))
    sticky = magnitude & ((1 << shift) - 1) != 0
    found = single(float((magnitude >> shift) | sticky)) * 2.0**shift
    return found if number >= 0 else -found


def big_decimal(said: str) -> decimal.Decimal:
    if not _BIG_DECIMAL.fullmatch(said):
        raise NotANumber(said)
    return decimal.Decimal(said)
