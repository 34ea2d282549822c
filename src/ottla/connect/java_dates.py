"""Moments in UTC as Java's SimpleDateFormat writes and reads them (English, lenient). Pure.

Absent: the letters of weeks (w, W, F, Y) and the Julian calendar, which Java has before 1582.
"""

import datetime
import re
from dataclasses import dataclass
from typing import Any

from ottla.connect.definitions import InvalidConfig

_LETTERS = frozenset("GyMLdDEuaHkKhmsSzZX")
_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
_DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_NUMERIC = frozenset("yMLdDuHkKhmsS")
_DIGITS = re.compile(r"\d+")
_ZONE = re.compile(r"(?:GMT|UTC)?([+-])(\d{1,2}):?(\d{2})?")


@dataclass(frozen=True, slots=True)
class _Piece:
    letter: str  # empty: a literal
    count: int = 0
    literal: str = ""

    @property
    def is_number(self) -> bool:
        return self.letter in _NUMERIC and not (self.letter in "ML" and self.count > 2)


def _pieces(pattern: str) -> list[_Piece]:
    found: list[_Piece] = []
    at = 0
    while at < len(pattern):
        sign = pattern[at]
        if sign == "'":
            literal, at = _quoted(pattern, at)
            found.append(_Piece("", literal=literal))
        elif sign.isascii() and sign.isalpha():
            if sign not in _LETTERS:
                raise ValueError(f"Illegal pattern character '{sign}'")
            end = at
            while end < len(pattern) and pattern[end] == sign:
                end += 1
            found.append(_Piece(sign, end - at))
            at = end
        else:
            found.append(_Piece("", literal=sign))
            at += 1
    return found


def _quoted(pattern: str, at: int) -> tuple[str, int]:
    if pattern[at + 1 : at + 2] == "'":
        return "'", at + 2
    made, at = "", at + 1
    while at < len(pattern):
        if pattern[at] == "'":
            if pattern[at + 1 : at + 2] != "'":
                return made, at + 1
            at += 1
        made += pattern[at]
        at += 1
    raise ValueError("Unterminated quote")


class DateFormat:
    def __init__(self, pattern: str) -> None:
        """ValueError for a pattern that Java refuses, or that is not served."""
        self.pattern = pattern
        self._pieces = _pieces(pattern)
        self._pivot = datetime.date.today().year - 80  # of years of two digits

    @classmethod
    def of(cls, key: str, pattern: str) -> "DateFormat":
        """InvalidConfig that names the key."""
        try:
            return cls(pattern)
        except ValueError as error:
            raise InvalidConfig(
                {key: [f"{pattern} is no date format that is served: {error}"]}
            ) from None

    def __reduce__(self) -> tuple[Any, ...]:
        return DateFormat, (self.pattern,)

    def written(self, moment: datetime.datetime) -> str:
        return "".join(
            piece.literal if not piece.letter else _written(piece, moment) for piece in self._pieces
        )

    def read(self, text: str) -> datetime.datetime:
        """What follows the pattern in the text is not looked at. ValueError: it does not fit."""
        reading = _Reading(text, self._pivot)
        for at, piece in enumerate(self._pieces):
            follower = self._pieces[at + 1] if at + 1 < len(self._pieces) else None
            abuts = piece.is_number and follower is not None and follower.is_number
            reading.take(piece, abuts)  # numbers without a gap have their exact width
        return reading.moment()


def _written(piece: _Piece, moment: datetime.datetime) -> str:
    count = piece.count
    match piece.letter:
        case "G":
            return "AD"
        case "y":
            return f"{moment.year % 100:02}" if count == 2 else f"{moment.year:0{count}}"
        case "M" | "L":
            name = _MONTHS[moment.month - 1]
            return f"{moment.month:0{count}}" if count < 3 else name[:3] if count == 3 else name
        case "E":
            name = _DAYS[moment.weekday()]
            return name if count >= 4 else name[:3]
        case "a":
            return "AM" if moment.hour < 12 else "PM"
        case "z":
            return "UTC" if count < 4 else "Coordinated Universal Time"
        case "Z":
            return "+0000"
        case "X":
            return "Z"
    numbers = {
        "d": moment.day,
        "D": moment.timetuple().tm_yday,
        "u": moment.isoweekday(),
        "H": moment.hour,
        "k": moment.hour or 24,
        "K": moment.hour % 12,
        "h": moment.hour % 12 or 12,
        "m": moment.minute,
        "s": moment.second,
        "S": moment.microsecond // 1000,
    }
    return f"{numbers[piece.letter]:0{count}}"


class _Reading:
    """A text on its way through a pattern."""

    def __init__(self, text: str, pivot: int) -> None:
        self._text = text
        self._at = 0
        self._pivot = pivot
        self._found: dict[str, int] = {}

    def take(self, piece: _Piece, exact: bool) -> None:
        if not piece.letter:
            if not self._text.startswith(piece.literal, self._at):
                raise ValueError(f"{piece.literal!r} is missing")
            self._at += len(piece.literal)
            return
        while self._text[self._at : self._at + 1] in (" ", "\t"):
            self._at += 1
        if piece.is_number:
            self._number(piece, exact)
        elif piece.letter in "ML":
            self._found["M"] = self._word(_MONTHS) + 1
        elif piece.letter == "E":
            self._word(_DAYS)
        elif piece.letter == "a":
            self._found["a"] = self._word(["AM", "PM"])
        elif piece.letter == "G":
            self._word(["AD"])
        else:
            self._zone()

    def _number(self, piece: _Piece, exact: bool) -> None:
        end = self._at + piece.count if exact else len(self._text)
        found = _DIGITS.match(self._text, self._at, end)
        if found is None:
            raise ValueError("a number is missing")
        number = int(found[0])
        self._at = found.end()
        if piece.letter == "y" and piece.count <= 2 and len(found[0]) == 2:
            number += self._pivot - self._pivot % 100
            if number < self._pivot:
                number += 100
        self._found["M" if piece.letter == "L" else piece.letter] = number

    def _word(self, words: list[str]) -> int:
        rest = self._text[self._at :].lower()
        for whole in (True, False):
            for at, word in enumerate(words):
                said = word if whole else word[:3]
                if rest.startswith(said.lower()):
                    self._at += len(said)
                    return at
        raise ValueError("a word is missing")

    def _zone(self) -> None:
        found = _ZONE.match(self._text, self._at)
        if found is not None:
            minutes = int(found[2]) * 60 + int(found[3] or 0)
            self._found["zone"] = minutes if found[1] == "+" else -minutes
            self._at = found.end()
            return
        for name in ("UTC", "GMT", "Z"):
            if self._text.startswith(name, self._at):
                self._at += len(name)
                return
        raise ValueError("a time zone is missing")

    def moment(self) -> datetime.datetime:
        """Leniently: a 13th month is the next year's first."""
        found = self._found
        years, months = divmod(found.get("M", 1) - 1, 12)
        begin = datetime.datetime(found.get("y", 1970) + years, 1, 1, tzinfo=datetime.UTC)
        if "D" in found:
            day = begin + datetime.timedelta(days=found["D"] - 1)
        else:
            day = begin.replace(month=months + 1) + datetime.timedelta(days=found.get("d", 1) - 1)
        try:
            return day + datetime.timedelta(
                hours=self._hours(),
                minutes=found.get("m", 0) - found.get("zone", 0),
                seconds=found.get("s", 0),
                milliseconds=found.get("S", 0),
            )
        except OverflowError as error:
            raise ValueError(str(error)) from None

    def _hours(self) -> int:
        found = self._found
        if "H" in found:
            return found["H"]
        if "k" in found:
            return 0 if found["k"] == 24 else found["k"]
        half = found.get("h", found.get("K", 0))
        return (0 if "h" in found and half == 12 else half) + 12 * found.get("a", 0)
