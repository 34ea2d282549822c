"""Who of a group's workers leads, by what each says of itself."""

import pytest

from ottla.connect.leadership import (
    Assignment,
    Member,
    assignment,
    assignment_of,
    elect,
    member_of,
    subscription,
)

FIRST, SECOND = "http://127.0.0.1:1", "http://127.0.0.1:2"


@pytest.mark.parametrize(
    ("first", "second", "chosen"),
    [
        (0, 0, "first"),  # by its URL
        (0, 3, "second"),  # it leads already
        (3, 0, "first"),
        (3, 5, "second"),  # the first was frozen while the second took over
        (5, 3, "first"),
    ],
)
def test_whoever_led_last_goes_on_leading(first: int, second: int, chosen: str) -> None:
    assert elect({"first": Member(FIRST, first), "second": Member(SECOND, second)}) == chosen


def test_what_members_say_and_are_told_is_read_again() -> None:
    assert member_of(subscription("configs", Member(FIRST, 7))) == Member(FIRST, 7)
    for told in (Assignment(FIRST, True), Assignment(SECOND, False)):
        assert assignment_of(assignment("configs", told)) == told
