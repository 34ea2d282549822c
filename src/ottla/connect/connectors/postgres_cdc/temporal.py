"""PostgreSQL's dates, times and intervals (ISO style, UTC) as numbers and Debezium's strings. Pure.

Years run past what `datetime` holds, below 1 and above 9999, so days are counted here.
"""

import datetime
import re
from typing import Final, NamedTuple

from ottla.connect.connectors.debezium.days import (
    DAY_US,
    days_since_epoch,
    iso_timestamp,
    shortest,
    time_text,
)

INFINITY: Final = "infinity"
NEGATIVE_INFINITY: Final = "-infinity"

# What Debezium makes of infinities: Java's nearest values, as its own conversions round them.
INFINITE_DAYS: Final = {INFINITY: -2_147_472_692, NEGATIVE_INFINITY: -2_147_472_691}
INFINITE_DAYS_IN_ARRAYS: Final = {INFINITY: -622_191_234, NEGATIVE_INFINITY: -625_821_272}
INFINITE_US: Final = {
    INFINITY: 9_223_372_036_825_200_000,
    NEGATIVE_INFINITY: -9_223_372_036_832_400_000,
}

_EPOCH: Final = datetime.datetime(1970, 1, 1)
_EPOCH_UTC: Final = _EPOCH.replace(tzinfo=datetime.UTC)
_EPOCH_DAY: Final = _EPOCH.toordinal()
_DATE = re.compile(r"(\d+)-(\d\d)-(\d\d)")
_TIME = re.compile(r"(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?")
_OFFSET = re.compile(r"([+-])(\d\d)(?::?(\d\d))?(?::(\d\d))?$")


def date_days(text: str) -> int:
    if len(text) == 10:  # a year of four digits, after Christ
        try:
            return datetime.date.fromisoformat(text).toordinal() - _EPOCH_DAY
        except ValueError:
            pass
    found = _DATE.match(text)
    if found is None:
        raise ValueError(f"not a date: {text}")
    year = int(found[1])
    return days_since_epoch(1 - year if text.endswith("BC") else year, int(found[2]), int(found[3]))


def time_us(text: str) -> int:
    found = _TIME.match(text)
    if found is None:
        raise ValueError(f"not a time: {text}")
    hours, minutes, seconds, fraction = found.groups()
    whole = (int(hours) * 60 + int(minutes)) * 60 + int(seconds or 0)
    return whole * 1_000_000 + int((fraction or "0").ljust(6, "0"))


def _offset_us(text: str) -> int:
    found = _OFFSET.search(text)
    if found is None:
        return 0
    seconds = (int(found[2]) * 60 + int(found[3] or 0)) * 60 + int(found[4] or 0)
    return (-seconds if found[1] == "-" else seconds) * 1_000_000


def timestamp_us(text: str) -> int:
    """Microseconds since 1970, in UTC where an offset is said."""
    if text[4:5] == "-" and text[10:11] == " " and text[-1] != "C":
        try:
            moment = datetime.datetime.fromisoformat(text)
            since = moment - (_EPOCH if moment.tzinfo is None else _EPOCH_UTC)
            return since.days * DAY_US + since.seconds * 1_000_000 + since.microseconds
        except ValueError:
            pass
    day, _, rest = text.partition(" ")
    clock = rest.removesuffix(" BC")
    us = date_days(day + (" BC" if rest.endswith("BC") else "")) * DAY_US
    return us + (time_us(clock) - _offset_us(clock[8:]) if clock else 0)


def zoned_time(text: str) -> str:
    """A timetz at UTC, with as many digits as it needs."""
    us = (time_us(text) - _offset_us(text[8:])) % DAY_US
    seconds, fraction = divmod(us, 1_000_000)
    return f"{time_text(seconds)}{shortest(fraction)}Z"


def zoned_timestamp(text: str, digits: int) -> str:
    """A timestamptz at UTC; 0 digits: as many as it needs."""
    if text in INFINITE_US:
        return text
    if text[4:5] == "-" and text[10:11] == " " and text[-3:] == "+00":  # UTC, as the session's
        fraction = text[20:-3]
        shown = fraction.ljust(6, "0")[:digits] if digits else fraction.rstrip("0")
        return f"{text[:10]}T{text[11:19]}{'.' if shown else ''}{shown}Z"
    return iso_timestamp(timestamp_us(text), digits)


class Interval(NamedTuple):
    years: int
    months: int
    days: int
    hours: int
    minutes: int
    seconds: float


_UNIT = re.compile(r"([+-]?\d+) (year|mon|day)s?")
_CLOCK = re.compile(r"([+-]?)(\d+):(\d\d):(\d\d(?:\.\d+)?)$")


def interval(text: str) -> Interval:
    """IntervalStyle postgres: `1 year 2 mons -3 days +04:05:06.789`."""
    units = {unit: int(count) for count, unit in _UNIT.findall(text)}
    clock = _CLOCK.search(text)
    hours, minutes, seconds = 0, 0, 0.0
    if clock is not None:
        sign = -1 if clock[1] == "-" else 1
        hours, minutes = sign * int(clock[2]), sign * int(clock[3])
        seconds = sign * float(clock[4])
    year, month, day = units.get("year", 0), units.get("mon", 0), units.get("day", 0)
    return Interval(year, month, day, hours, minutes, seconds)


def interval_us(of: Interval) -> int:
    """A month is a twelfth of 365.25 days; the arithmetic is Java's, on doubles."""
    days = (of.years * 12 + of.months) * (365.25 / 12.0) + of.days
    seconds = ((days * 24 + of.hours) * 60 + of.minutes) * 60 + of.seconds
    return max(-(2**63), min(2**63 - 1, int(seconds * 1e6)))


def interval_iso(of: Interval) -> str:
    seconds = f"{of.seconds:.9f}".rstrip("0").rstrip(".")
    seconds = "0" if seconds in ("", "-0") else seconds
    days = f"P{of.years}Y{of.months}M{of.days}D"
    return f"{days}T{of.hours}H{of.minutes}M{seconds}S"
