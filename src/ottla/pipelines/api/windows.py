"""Windows over event time, and the durations they are written in."""

import re
from datetime import timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ottla.pipelines.api.definitions import Window
from ottla.pipelines.runtime.where import DefinitionError, here

Duration = str | timedelta
PART = r"(\d+)\s*([a-zA-Z]+)"
UNITS_MS = {"millisecond": 1, "second": 1_000, "minute": 60_000, "hour": 3_600_000}
UNITS_MS["day"] = 24 * UNITS_MS["hour"]
UNITS_MS["week"] = 7 * UNITS_MS["day"]
SHORT = {
    "ms": "millisecond",
    "s": "second",
    "min": "minute",
    "m": "minute",
    "h": "hour",
    "d": "day",
}


def tumbling(
    size: Duration,
    *,
    grace: Duration = "0 seconds",
    offset: Duration = "0 seconds",
    time_zone: str | None = None,
) -> Window:
    """Windows of one size, side by side: each record falls into exactly one.

    They start at multiples of the size since 1970 (UTC), or so much later as `offset` says. With a
    `time_zone`, like "Europe/Istanbul", they are its calendar days: from midnight to midnight, also
    where the clock is changed between them.
    """
    ms = _positive(size)
    _check_zone(time_zone, ms, ms)
    return Window("tumbling", ms, ms, milliseconds(grace), milliseconds(offset) % ms, time_zone)


def hopping(
    size: Duration,
    *,
    every: Duration,
    grace: Duration = "0 seconds",
    offset: Duration = "0 seconds",
    time_zone: str | None = None,
) -> Window:
    """Windows of one size that start `every` so often and overlap; the rest as in `tumbling`."""
    if milliseconds(every) > milliseconds(size):
        raise DefinitionError(
            here(), "a hopping window that starts less often than it is long misses records."
        )
    step = _positive(every)
    _check_zone(time_zone, _positive(size), step)
    start = milliseconds(offset) % step
    return Window("hopping", _positive(size), step, milliseconds(grace), start, time_zone)


def sliding(size: Duration, *, grace: Duration = "0 seconds") -> Window:
    """For each record, the window of this size that ends with it (both ends included)."""
    return Window("sliding", _positive(size), 0, milliseconds(grace))


def session(gap: Duration, *, grace: Duration = "0 seconds", growing: bool = False) -> Window:
    """Records of a key that follow each other with at most `gap` between them.

    A session is told when it has ended; with `growing` whenever it changes, as Kafka Streams does:
    one that gets other bounds, or is merged into another, is deleted under its old key.
    """
    return Window("session", _positive(gap), 0, milliseconds(grace), growing=growing)


def milliseconds(duration: Duration) -> int:
    """`"5 minutes"`, `"1h 30m"`, `"500 ms"` or a timedelta, in milliseconds."""
    if isinstance(duration, timedelta):
        return round(duration.total_seconds() * 1000)
    parts = re.findall(PART, duration) if isinstance(duration, str) else []
    if not parts or re.sub(rf"{PART}|\s+|,", "", duration):
        raise DefinitionError(
            here(), f"{duration!r} is no duration; write it like '5 minutes' or '500 ms'."
        )
    return sum(int(number) * _unit(word, duration) for number, word in parts)


def interval(ms: int) -> str:
    """The same as Spark writes it."""
    return f"{ms} milliseconds"


def in_words(ms: int) -> str:
    """The same for people: `90000` is `90 seconds`, `60000` is `1 minute`."""
    for name, size in sorted(UNITS_MS.items(), key=lambda unit: -unit[1]):
        if ms and ms % size == 0:
            number = ms // size
            return f"{number} {name}" + ("s" if number > 1 else "")
    return "0 seconds"


def _check_zone(time_zone: str | None, *sizes_ms: int) -> None:
    if time_zone is None:
        return
    try:
        ZoneInfo(time_zone)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise DefinitionError(here(), f"{time_zone!r} is no time zone.") from error
    if any(ms % UNITS_MS["day"] for ms in sizes_ms):
        raise DefinitionError(here(), "windows of a time zone are whole days, like '1 day'.")


def _unit(word: str, duration: str) -> int:
    name = SHORT.get(word.lower(), word.lower().removesuffix("s"))
    if name not in UNITS_MS:
        raise DefinitionError(here(), f"{duration!r} is no duration; {word!r} is no unit of time.")
    return UNITS_MS[name]


def _positive(duration: Duration) -> int:
    ms = milliseconds(duration)
    if ms <= 0:
        raise DefinitionError(here(), f"a window needs a size above nothing, not {duration!r}.")
    return ms
