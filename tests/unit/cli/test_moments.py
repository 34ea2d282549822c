"""Points in time as people write them."""

from datetime import UTC, datetime

import pytest

from ottla.cli.moments import parse_moment, show_moment
from ottla.errors import OttlaError

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-11-15T12:00:00Z", NOON),
        ("2026-11-15T13:00+01:00", NOON),
        (str(int(NOON.timestamp() * 1000)), NOON),
        ("90s", datetime(2026, 11, 15, 11, 58, 30, tzinfo=UTC)),
        ("2d", datetime(2026, 11, 13, 12, tzinfo=UTC)),
    ],
)
def test_a_moment_is_understood(text: str, moment: datetime) -> None:
    assert parse_moment(text, now=NOON) == int(moment.timestamp() * 1000)


def test_nonsense_is_told_with_examples() -> None:
    with pytest.raises(OttlaError, match="10m"):
        parse_moment("yesterday")


def test_a_moment_is_shown_with_its_zone() -> None:
    assert show_moment(0) == "1970-01-01T00:00:00.000Z"


@pytest.mark.parametrize("number", [1_700_000_000_000_000, 1_700_000_000_000_000_000, -(1 << 63)])
def test_what_is_no_moment_in_milliseconds_is_shown_as_it_is(number: int) -> None:
    assert show_moment(number) == str(number)
