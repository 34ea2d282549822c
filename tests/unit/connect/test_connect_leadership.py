"""Who of a group's workers leads, by what each says of itself."""

import asyncio
from collections.abc import Mapping
from typing import Any, cast

import pytest

from ottla.client.connection import Connection
from ottla.connect.leadership import (
    Assignment,
    Member,
    WorkerLeadership,
    assignment,
    assignment_of,
    elect,
    member_of,
    subscription,
)
from ottla.errors import ErrorCode
from ottla.ports.clock import SYSTEM_CLOCK, Clock
from ottla.serving.election import Election, Group
from ottla.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from ottla.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse
from ottla.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse

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


class Idle:
    """A worker that nothing is asked of."""

    async def begin(self) -> None: ...

    def end(self) -> None: ...


def test_who_cannot_join_again_is_certain_no_longer_than_the_group_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 100.0
    clock = Clock(lambda: now, lambda: 0)
    monkeypatch.setattr("ottla.serving.leadership.SYSTEM_CLOCK", clock)
    monkeypatch.setattr("ottla.connect.leadership.SYSTEM_CLOCK", clock, raising=False)

    async def lose() -> None:
        nonlocal now
        leadership = WorkerLeadership("configs", FIRST, Idle(), 10.0, lambda why: None)
        leadership.heard(110.0)
        assert leadership.is_certain
        for _ in range(3):  # at each try
            now += 4
            leadership.lost()
        assert not leadership.is_certain

    asyncio.run(lose())


class Coordinator:
    """Of a group of one. Its heartbeats are answered so; then nobody answers any more."""

    def __init__(self, *answers: ErrorCode) -> None:
        self._answers = list(answers)

    def wire(self) -> "Coordinator":
        return self

    async def coordinator(self, group: str) -> tuple[str, int]:
        return "127.0.0.1", 1

    async def ask(self, place: tuple[str, int], request: Any, response: type) -> Any:
        match request:
            case JoinGroupRequest() if self._answers:
                return JoinGroupResponse(member_id="me", leader="other", generation_id=1)
            case SyncGroupRequest():
                return SyncGroupResponse()
            case HeartbeatRequest():
                return HeartbeatResponse(error_code=self._answers.pop(0))
        return None

    async def __aexit__(self, *_: object) -> None: ...


class Counted:
    """A candidate that keeps what it is told."""

    def __init__(self) -> None:
        self.until: list[float] = []
        self.is_lost = asyncio.Event()

    def metadata(self) -> bytes:
        return b""

    def assign(self, members: Mapping[str, bytes]) -> Mapping[str, bytes]:
        return {}

    async def assigned(self, assignment: bytes, generation: int) -> None: ...

    def heard(self, until: float) -> None:
        self.until.append(until)

    def lost(self) -> None:
        self.is_lost.set()

    def refused(self, why: ErrorCode) -> None: ...


async def heard_after(*answers: ErrorCode) -> list[float]:
    """Until when the group counts on a member, as it heard by and by."""
    candidate = Counted()
    group = Group("g", "consumer", "p", session_s=1000.0, heartbeat_s=0.0)
    coordinator = Coordinator(*answers)
    async with Election(cast(Connection, coordinator), group, candidate):
        await candidate.is_lost.wait()
        return list(candidate.until)


def test_a_heartbeat_counts_though_its_answer_is_that_all_join_anew() -> None:
    joined, counted = asyncio.run(heard_after(ErrorCode.REBALANCE_IN_PROGRESS))
    assert joined <= counted


def test_whom_the_group_does_not_know_it_has_given_up() -> None:
    *_, last = asyncio.run(heard_after(ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID))
    assert last <= SYSTEM_CLOCK.monotonic()
