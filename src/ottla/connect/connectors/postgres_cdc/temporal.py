"""PostgreSQL's dates, times and intervals (ISO style, UTC) as numbers and Debezium's strings. Pure.

Years run past what `datetime` holds, below 1 and above 9999, so days are counted here.
"""

import datetime
import re
from typing import Final, NamedTuple

DAY_US: Final = 86_400_000_000
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


def days_since_epoch(year: int, month: int, day: int) -> int:
    """In the proleptic Gregorian calendar; the year 0 is 1 BC."""
    year -= month <= 2
    era = year // 400
    of_era = year - era * 400
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


def civil(days: int) -> tuple[int, int, int]:
    """Year, month and day; the other way round."""
    days += 719_468
    era = days // 146_097
    of_era = days - era * 146_097
    year = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    part = (5 * of_year + 2) // 153
    month = part + (3 if part < 10 else -9)
    return year + era * 400 + (month <= 2), month, of_year - (153 * part + 2) // 5 + 1


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
    return f"{_clock(seconds)}{_shortest(fraction)}Z"


def zoned_timestamp(text: str, digits: int) -> str:
    """A timestamptz at UTC; 0 digits: as many as it needs."""
    if text in INFINITE_US:
        return text
    if text[4:5] == "-" and text[10:11] == " " and text[-3:] == "+00":  # UTC, as the session's
        fraction = text[20:-3]
        shown = fraction.ljust(6, "0")[:digits] if digits else fraction.rstrip("0")
        return f"{text[:10]}T{text[11:19]}{'.' if shown else ''}{shown}Z"
    return iso_timestamp(timestamp_us(text), digits)


def iso_timestamp(us: int, digits: int) -> str:
    days, of_day = divmod(us, DAY_US)
    seconds, fraction = divmod(of_day, 1_000_000)
    shown = f".{fraction:06d}"[: digits + 1] if digits else _shortest(fraction)
    return f"{iso_date(days)}T{_clock(seconds)}{shown}Z"


def iso_date(days: int) -> str:
    year, month, day = civil(days)
    shown = f"-{-year:04d}" if year < 0 else f"+{year}" if year > 9999 else f"{year:04d}"
    return f"{shown}-{month:02d}-{day:02d}"


def iso_time(us: int) -> str:
    seconds, fraction = divmod(us % DAY_US, 1_000_000)
    return f"{_clock(seconds)}{_shortest(fraction)}Z"


def _clock(seconds: int) -> str:
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def _shortest(fraction: int) -> str:
    return f".{fraction:06d}".rstrip("0") if fraction else ""


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
