"""Days and times of day as numbers and ISO texts, in years past what `datetime` holds. Pure."""

from typing import Final

DAY_US: Final = 86_400_000_000


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


def iso_timestamp(us: int, digits: int) -> str:
    days, of_day = divmod(us, DAY_US)
    seconds, fraction = divmod(of_day, 1_000_000)
    shown = f".{fraction:06d}"[: digits + 1] if digits else shortest(fraction)
    return f"{iso_date(days)}T{time_text(seconds)}{shown}Z"


def iso_date(days: int) -> str:
    year, month, day = civil(days)
    shown = f"-{-year:04d}" if year < 0 else f"+{year}" if year > 9999 else f"{year:04d}"
    return f"{shown}-{month:02d}-{day:02d}"


def iso_time(us: int) -> str:
    seconds, fraction = divmod(us % DAY_US, 1_000_000)
    return f"{time_text(seconds)}{shortest(fraction)}Z"


def time_text(seconds: int) -> str:
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def shortest(fraction: int) -> str:
    return f".{fraction:06d}".rstrip("0") if fraction else ""
