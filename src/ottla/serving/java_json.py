"""JSON as Java's Jackson writes it, for texts whose bytes are an identity.

A schema's text decides its id, so a number or an escape that is written otherwise than Confluent's
registry would write it makes another schema of the same one.
"""

import json
import math
import re
from typing import Any

_LOWER_ESCAPE = re.compile(r"\\u00[01][0-9a-f]")
_PLAIN_MIN, _PLAIN_MAX = 1e-3, 1e7  # between them Java writes no exponent


def text_of(value: Any) -> str:
    """One line without blanks, fields in their order."""
    if isinstance(value, str):
        return string(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return double(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{string(k)}:{text_of(v)}" for k, v in value.items()) + "}"
    return "[" + ",".join(text_of(one) for one in value) + "]"


def string(value: str) -> str:
    written = json.dumps(value, ensure_ascii=False)
    if "\\u" not in written:
        return written
    return _LOWER_ESCAPE.sub(lambda found: "\\u" + found[0][2:].upper(), written)


def double(value: float) -> str:
    if not math.isfinite(value):
        return {"inf": '"Infinity"', "-inf": '"-Infinity"'}.get(str(value), '"NaN"')
    if value == 0 or _PLAIN_MIN <= abs(value) < _PLAIN_MAX:
        return repr(value) if "e" not in repr(value) else f"{value:f}"
    sign, digits, exponent = _digits(value)
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{exponent}"


def _digits(value: float) -> tuple[str, str, int]:
    """Sign, shortest digits, and the exponent with the point after the first of them."""
    mantissa, _, power = f"{value!r}".partition("e")
    sign = "-" if mantissa.startswith("-") else ""
    whole, _, fraction = mantissa.removeprefix("-").partition(".")
    fraction = "" if fraction == "0" else fraction
    digits = (whole + fraction).lstrip("0")
    leading = len(whole + fraction) - len(digits)
    exponent = int(power or 0) + len(whole) - 1 - leading
    return sign, digits.rstrip("0") or "0", exponent


class NotJson(ValueError):
    """Why a text is none."""


def parse(text: str) -> Any:
    """NotJson for anything that Jackson would refuse, and for what is nested too deeply."""
    try:
        text.encode()
        return json.loads(text, parse_constant=_refuse)
    except UnicodeEncodeError:
        raise NotJson("a character is half of a surrogate pair") from None
    except RecursionError:
        raise NotJson("it is nested too deeply") from None
    except ValueError as error:
        raise NotJson(str(error)) from None


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no number of JSON")
