"""Windows of whole days in a time zone, as SQL: a day of 23 or 25 hours is one window. Pure.

A day begins at the first instant whose local time is not before midnight (or `offset` after it), as
Java and Python agree: where the clock skips it, as much later as it skips; where the clock shows it
twice, at the first time. The session's own time zone is UTC, so that a local time can be a
TIMESTAMP whose fields are those of the wall clock.
"""

from ottla.pipelines.api.definitions import Window
from ottla.pipelines.formats.values import quoted


def windows(window: Window, time: str) -> str:
    """An array of the windows (structs of start and end) that a moment falls into."""
    every, size = window.every_ms * 1000, window.size_ms * 1000
    # Around an hour that the clock shows twice, or skips, the local time points at a neighbour.
    starts = f"sequence({-(size // every)}L, 1L)"
    local = f"({_last_start(window, time, every)} + k * {every}L)"
    start, end = _instant(window, local), _instant(window, f"({local} + {size}L)")
    inside = f"w.start <= {time} AND {time} < w.end"
    found = f"transform({starts}, k -> struct({start} AS start, {end} AS end))"
    return f"filter({found}, w -> {inside})"


def _last_start(window: Window, time: str, every: int) -> str:
    """The last local start, in microseconds, that is not after the moment's local time."""
    local = f"unix_micros(from_utc_timestamp({time}, {_zone(window)}))"
    return f"({local} - pmod({local} - {window.offset_ms * 1000}L, {every}L))"


def _instant(window: Window, local: str) -> str:
    return f"to_utc_timestamp(timestamp_micros({local}), {_zone(window)})"


def _zone(window: Window) -> str:
    return quoted(window.time_zone or "UTC")
