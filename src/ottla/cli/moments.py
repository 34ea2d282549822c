"""Points in time as people write them: `2026-11-15T10:00`, `10m` (ago), `1763200000000`."""

import re
from datetime import UTC, datetime

from ottla.errors import OttlaError

_UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def parse_moment(text: str, now: datetime | None = None) -> int:
    """Milliseconds since 1970; a time without a zone is meant in the local one."""
    ago = re.fullmatch(r"(\d+)([smhd])", text)
    if ago:
        seconds = int(ago[1]) * _UNITS_S[ago[2]]
        return int(((now or datetime.now(UTC)).timestamp() - seconds) * 1000)
    if text.isdigit():
        return int(text)
    try:
        return int(datetime.fromisoformat(text).timestamp() * 1000)
    except ValueError:
        raise OttlaError(
            f"{text!r} is no time. Write 2026-11-15T10:00, milliseconds, or 10m for a time ago."
        ) from None


def show_moment(milliseconds: int) -> str:
    """A number that no calendar reaches stays one: some producers count in microseconds."""
    try:
        moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return str(milliseconds)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
