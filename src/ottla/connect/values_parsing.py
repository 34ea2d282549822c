"""Text whose form tells what it is, as Java's Values reads headers and Cast reads strings. Pure.

`null`, booleans, numbers of the narrowest type that holds them, dates and times, lists and maps of
all these; what is nothing else is a string.
"""

import datetime
import decimal
import re
from typing import Any

from ottla.connect.data import (
    DATE,
    DATE_SCHEMA,
    DECIMAL,
    STRING_SCHEMA,
    TIME,
    TIME_SCHEMA,
    TIMESTAMP,
    TIMESTAMP_SCHEMA,
    DataError,
    Schema,
    Type,
    decimal_schema,
)
from ottla.connect.java_text import single
from ottla.connect.logical import date_of, decimal_scale, time_of, timestamp_of

Parsed = tuple[Schema | None, Any]
_BOOLEAN = Schema(type=Type.BOOLEAN)
_DELIMITERS = frozenset(':,{}[]"')
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_INTEGERS = ((Type.INT8, 8), (Type.INT16, 16), (Type.INT32, 32), (Type.INT64, 64))
_JAVA_BLANKS = "".join(map(chr, range(33)))  # what String.trim takes away


def parsed(text: str) -> Parsed:
    """The schema and value; both None for `null`. IndexError where Java has no such element."""
    if not text:
        return STRING_SCHEMA, text
    return _Parser(text).parse(embedded=False) or (None, None)


class _Tokens:
    """Text cut at unescaped delimiters, which are tokens of their own."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._at = 0
        self._next: str | None = None

    def mark(self) -> int:
        return self._at - (0 if self._next is None else len(self._next))

    def rewind(self, mark: int) -> None:
        self._at, self._next = mark, None

    def more(self) -> bool:
        return self._next is not None or self._at < len(self.text)

    def next(self) -> str:
        if self._next is not None:
            token, self._next = self._next, None
            return token
        return self._cut()

    def several(self, count: int) -> str | None:
        """The text of so many tokens; None, and nothing is taken, where there are fewer."""
        begin = self.mark()
        for _ in range(count):
            if not self.more():
                self.rewind(begin)
                return None
            self.next()
        return self.text[begin : self._at]

    def take(self, expected: str) -> bool:
        """Whether the next token that is not blank is this one; then it is taken."""
        if self._next is None:
            if not self.more():
                return False
            self._next = self._cut()
        while not self._next.strip(_JAVA_BLANKS) and self._at < len(self.text):
            self._next = self._cut()
        if self._next.strip(_JAVA_BLANKS) != expected:
            return False
        self._next = None
        return True

    def _cut(self) -> str:
        begin, escaped = self._at, False
        while self._at < len(self.text):
            sign = self.text[self._at]
            if sign in _DELIMITERS and not escaped:
                if begin == self._at:
                    self._at += 1
                break
            escaped = sign == "\\" and not escaped
            self._at += 1
        return self.text[begin : self._at]


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens = _Tokens(text)

    def parse(self, *, embedded: bool) -> Parsed | None:
        """None for null."""
        tokens = self._tokens
        if not tokens.more():
            return None
        if embedded and tokens.take('"'):
            return self._quoted()
        if self._word("null", embedded):
            return None
        for word in ("true", "false"):
            if self._word(word, embedded):
                return _BOOLEAN, word == "true"
        mark = tokens.mark()
        try:
            if tokens.take("["):
                return self._array()
            if tokens.take("{"):
                return self._map()
        except DataError:
            tokens.rewind(mark)
        token = tokens.next()
        bare = token.strip(_JAVA_BLANKS)
        if not bare:
            return STRING_SCHEMA, token
        return self._scalar(bare, embedded)

    def _word(self, word: str, embedded: bool) -> bool:
        mark = self._tokens.mark()
        if self._tokens.take(word) and (embedded or not self._tokens.more()):
            return True
        self._tokens.rewind(mark)
        return False

    def _scalar(self, token: str, embedded: bool) -> Parsed:
        if token[0].isdecimal():
            moment = self._moment(token)
            if moment is not None:
                return moment
        if (token[0].isdecimal() or token[0] in "+-") and _NUMBER.fullmatch(token):
            return _number(decimal.Decimal(token))
        if embedded:
            raise DataError("Failed to parse embedded value")
        return STRING_SCHEMA, self._tokens.text

    def _moment(self, token: str) -> Parsed | None:
        mark = self._tokens.mark()
        rest = self._tokens.several(4)  # colons cut a time into five
        found = None if rest is None else _temporal(token + rest)
        if found is not None:
            return found
        self._tokens.rewind(mark)
        return _temporal(token)

    def _quoted(self) -> Parsed:
        content: list[str] = []
        while self._tokens.more() and not self._tokens.take('"'):
            content.append(self._tokens.next())
        said = "".join(content)
        return _temporal(said) or (STRING_SCHEMA, said)

    def _array(self) -> Parsed:
        tokens, elements, common = self._tokens, list[Any](), _Common()
        while tokens.more():
            if tokens.take("]"):
                if common.schema is None:
                    return Schema(type=Type.ARRAY), elements
                aligned = [_aligned(common.schema, one) for one in elements]
                return Schema(type=Type.ARRAY, value_schema=common.schema), aligned
            if tokens.take(","):
                raise DataError(f"Unable to parse an empty array element: {tokens.text}")
            element = self.parse(embedded=True)
            common.merge(element)
            elements.append(None if element is None else element[1])
            mark = tokens.mark()
            if tokens.take("]"):
                tokens.rewind(mark)
            elif not tokens.take(","):
                raise DataError("Array elements missing ',' delimiter")
        raise DataError(f"Array is missing terminating ']': {tokens.text}")

    def _map(self) -> Parsed:
        tokens, entries = self._tokens, list[tuple[Any, Any]]()
        keys, values = _Common(), _Common()
        while tokens.more():
            if tokens.take("}"):
                return _map_of(keys.schema, values.schema, entries)
            if tokens.take(","):
                raise DataError(f"Unable to parse a map entry with no key or value: {tokens.text}")
            key = self.parse(embedded=True)
            if key is None or key[1] is None:
                raise DataError(f"Map entry may not have a null key: {tokens.text}")
            if not tokens.take(":"):
                raise DataError(f"Map entry is missing ':' in {tokens.text}")
            value = self.parse(embedded=True)
            entries.append((key[1], None if value is None else value[1]))
            tokens.take(",")
            keys.merge(key)
            values.merge(value)
        raise DataError(f"Map is missing terminating '}}': {tokens.text}")


def _map_of(keys: Schema | None, values: Schema | None, entries: list[tuple[Any, Any]]) -> Parsed:
    if keys is None:
        values = None
    schema = Schema(type=Type.MAP, key_schema=keys, value_schema=values)
    found: dict[Any, Any] = {}
    for key, value in entries:
        kept = key if keys is None else _aligned(keys, key)
        found[_hashable(kept)] = value if values is None else _aligned(values, value)
    return schema, found


def _hashable(key: Any) -> Any:
    if isinstance(key, (list, dict)):
        raise DataError("A list or map cannot be a map's key here")
    return key


class _Common:
    """The schema that all elements fit."""

    def __init__(self) -> None:
        self.schema: Schema | None = None
        self._compatible = True

    def merge(self, latest: Parsed | None) -> None:
        if latest is None or latest[0] is None or not self._compatible:
            return
        if self.schema is None:
            self.schema = latest[0]
        else:
            self.schema = _wider(self.schema, latest[0])
            self._compatible = self.schema is not None


_WIDTHS = (Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.FLOAT32, Type.FLOAT64)


def _wider(one: Schema, other: Schema) -> Schema | None:
    if one.type is other.type:
        return other
    if one.type not in _WIDTHS or other.type not in _WIDTHS:
        return None
    return max(one, other, key=lambda schema: _WIDTHS.index(schema.type))


def _aligned(schema: Schema, value: Any) -> Any:
    if value is None:
        raise DataError("Unable to convert a null value to a schema that requires a value")
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if schema.name == DATE and number:
        return date_of(int(value))
    if schema.name == TIME and number:
        return time_of(int(value))
    if schema.name == TIMESTAMP and number:
        return timestamp_of(int(value))
    if schema.name in (DATE, TIME, TIMESTAMP, DECIMAL):
        return value
    if schema.type is Type.FLOAT32 and number:
        return single(float(value))
    if schema.type is Type.FLOAT64 and number:
        return float(value)
    if schema.type in _WIDTHS and not number:  # a date among plain numbers
        raise DataError(f"Unable to convert {value} to a number")
    return value


def _number(value: decimal.Decimal) -> Parsed:
    magnitude = abs(value)
    if (magnitude >= 1 or value == 0) and magnitude <= decimal.Decimal("1e19"):
        whole = int(value)
        if whole == value:
            for kind, bits in _INTEGERS:
                if -(1 << (bits - 1)) <= whole < 1 << (bits - 1):
                    return Schema(type=kind), whole
    scale = decimal_scale(value)
    double = float(value)
    if scale != 0 and single(double) not in (float("inf"), float("-inf")):
        return Schema(type=Type.FLOAT32), single(double)
    if scale != 0 and double not in (float("inf"), float("-inf")):
        return Schema(type=Type.FLOAT64), double
    return decimal_schema(scale), value


_CLOCK = r"(\d+):(\d+):(\d+)\.(\d+)Z"
_DAY = r"(\d+)-(\d+)-(\d+)"
_MOMENTS = {
    13: (TIME_SCHEMA, re.compile(_CLOCK)),
    24: (TIMESTAMP_SCHEMA, re.compile(_DAY + "T" + _CLOCK)),
    10: (DATE_SCHEMA, re.compile(_DAY)),
}


def _temporal(text: str) -> Parsed | None:
    """By its length, then leniently: a 13th month is the next year's first."""
    text = text.replace("\\:", ":")
    if len(text) not in _MOMENTS:
        return None
    schema, pattern = _MOMENTS[len(text)]
    found = pattern.match(text)
    if found is None:
        return None
    numbers = [int(one) for one in found.groups()]
    day, clock = (numbers[:3], numbers[3:]) if schema is not TIME_SCHEMA else ([], numbers)
    try:
        return schema, _lenient(day, clock)
    except (ValueError, OverflowError) as error:
        raise DataError(f"{text} lies outside the years 1 to 9999") from error


def _lenient(day: list[int], clock: list[int]) -> Any:
    passed = datetime.timedelta()
    if clock:
        hours, minutes, seconds, ms = clock
        passed = datetime.timedelta(hours=hours, minutes=minutes, seconds=seconds, milliseconds=ms)
    if not day:
        return time_of(passed // datetime.timedelta(milliseconds=1))
    year, month, within = day
    years, months = divmod(month - 1, 12)
    begin = datetime.date(year + years, months + 1, 1) + datetime.timedelta(days=within - 1)
    if not clock:
        return begin
    return datetime.datetime.combine(begin, datetime.time(), datetime.UTC) + passed
