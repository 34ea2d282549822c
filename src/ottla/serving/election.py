"""One leader among several processes, by a consumer group of any protocol type.

The group's coordinator knows who is there; the member that it asks computes an assignment, which
every member gets. What metadata and assignments mean is the service's affair. A member that cannot
reach the coordinator for a session's time no longer believes its assignment.
"""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol

from ottla.client.connection import Connection
from ottla.client.wire_client import Address
from ottla.errors import ErrorCode, OttlaError
from ottla.ports.clock import SYSTEM_CLOCK
from ottla.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from ottla.wire.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from ottla.wire.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
)
from ottla.wire.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)

RETRY_S = 0.1
_log = logging.getLogger(__name__)
_NEEDS_NEW_ID = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID)
_REFUSED = (ErrorCode.INCONSISTENT_GROUP_PROTOCOL, ErrorCode.GROUP_AUTHORIZATION_FAILED)


class Candidate(Protocol):
    """What a service says in the group, and what it does when it hears."""

    def metadata(self) -> bytes: ...

    def assign(self, members: Mapping[str, bytes]) -> Mapping[str, bytes]:
        """Of all members' metadata, each member's assignment."""

    async def assigned(self, assignment: bytes, generation: int) -> None:
        """Heartbeats go on meanwhile."""

    def heard(self, until: float) -> None:
        """The group counts on this process until then, by the monotonic clock."""

    def lost(self) -> None:
        """The assignment holds no longer: others are being counted, or nobody answers. Told at
        every try to join, so nothing may begin anew with it."""

    def refused(self, why: ErrorCode) -> None:
        """The group does not take this process: told once until it does. It is tried again."""


@dataclass(frozen=True, slots=True)
class Group:
    name: str
    protocol_type: str
    protocol: str
    session_s: float = 10.0
    rebalance_s: float = 10.0
    heartbeat_s: float = 3.0


class Election:
    """Joins the group, and stays in it until it is closed."""

    def __init__(self, connection: Connection, group: Group, candidate: Candidate) -> None:
        self._client = connection.wire()
        self._group = group
        self._candidate = candidate
        self._member = ""
        self._generation = -1
        self._coordinator: Address | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._taking: asyncio.Task[None] | None = None
        self._refused = ""

    async def __aenter__(self) -> "Election":
        self._tasks.append(asyncio.create_task(self._live(), name="election"))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._let_go()
        for task in self._tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        await self._leave()
        await self._client.__aexit__(None, None, None)

    async def _live(self) -> None:
        while True:
            try:
                joined = await self._join()
                if joined is not None and await self._sync(joined):
                    await self._stay()
            except OttlaError as error:
                _log.debug("election: %s", error)
            self._let_go()
            await asyncio.sleep(RETRY_S)

    async def _join(self) -> JoinGroupResponse | None:
        group = self._group
        self._coordinator = await self._client.coordinator(group.name)
        protocol = JoinGroupRequestProtocol(
            name=group.protocol, metadata=self._candidate.metadata()
        )
        ask = JoinGroupRequest(
            group_id=group.name,
            session_timeout_ms=int(group.session_s * 1000),
            rebalance_timeout_ms=int(group.rebalance_s * 1000),
            member_id=self._member,
            protocol_type=group.protocol_type,
            protocols=[protocol],
        )
        answer = await self._client.ask(self._coordinator, ask, JoinGroupResponse)
        if answer is None:
            return None
        if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self._member = answer.member_id
            return None
        if answer.error_code in _NEEDS_NEW_ID:
            self._member = ""
        if answer.error_code in _REFUSED:
            self._tell_refusal(ErrorCode(answer.error_code))
        if answer.error_code:
            return None
        self._member, self._generation = answer.member_id, answer.generation_id
        return answer

    def _tell_refusal(self, code: ErrorCode) -> None:
        if self._refused != code.name:
            self._refused = code.name
            self._candidate.refused(code)

    async def _sync(self, joined: JoinGroupResponse) -> bool:
        assignments = []
        if joined.leader == self._member:
            members = {one.member_id: bytes(one.metadata) for one in joined.members}
            assignments = [
                SyncGroupRequestAssignment(member_id=member, assignment=assignment)
                for member, assignment in self._candidate.assign(members).items()
            ]
        ask = SyncGroupRequest(
            group_id=self._group.name,
            generation_id=self._generation,
            member_id=self._member,
            protocol_type=self._group.protocol_type,
            protocol_name=self._group.protocol,
            assignments=assignments,
        )
        assert self._coordinator is not None
        asked = SYSTEM_CLOCK.monotonic()
        answer = await self._client.ask(self._coordinator, ask, SyncGroupResponse)
        if answer is None or answer.error_code:
            if answer is not None and answer.error_code in _NEEDS_NEW_ID:
                self._member = ""
            return False
        self._refused = ""
        self._candidate.heard(asked + self._group.session_s)
        self._taking = asyncio.create_task(self._take(bytes(answer.assignment)))
        return True

    async def _take(self, assignment: bytes) -> None:
        try:
            await self._candidate.assigned(assignment, self._generation)
        except Exception:
            _log.exception("the assignment could not be taken")

    async def _stay(self) -> None:
        """Returns when the group must be joined anew."""
        heard = SYSTEM_CLOCK.monotonic()
        while SYSTEM_CLOCK.monotonic() - heard < self._group.session_s:
            await asyncio.sleep(self._group.heartbeat_s)
            assert self._coordinator is not None
            asked = SYSTEM_CLOCK.monotonic()
            ask = HeartbeatRequest(
                group_id=self._group.name, generation_id=self._generation, member_id=self._member
            )
            answer = await self._client.ask(self._coordinator, ask, HeartbeatResponse)
            if answer is None:
                with suppress(OttlaError):
                    self._coordinator = await self._client.coordinator(self._group.name)
            elif answer.error_code == ErrorCode.NONE:
                heard = asked
                self._candidate.heard(heard + self._group.session_s)
            elif answer.error_code in _NEEDS_NEW_ID:
                self._candidate.heard(asked)  # it has given this process up already
                self._member = ""
                return
            elif answer.error_code in (
                ErrorCode.NOT_COORDINATOR,
                ErrorCode.COORDINATOR_NOT_AVAILABLE,
                ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
            ):
                with suppress(OttlaError):
                    self._coordinator = await self._client.coordinator(self._group.name)
            else:
                if answer.error_code == ErrorCode.REBALANCE_IN_PROGRESS:  # a heartbeat all the same
                    self._candidate.heard(asked + self._group.session_s)
                return

    def _let_go(self) -> None:
        if self._taking is not None:
            self._taking.cancel()
            self._taking = None
        self._candidate.lost()

    async def _leave(self) -> None:
        """So that the others need not wait for the end of the session."""
        if not self._member or self._coordinator is None:
            return
        ask = LeaveGroupRequest(
            group_id=self._group.name,
            member_id=self._member,
            members=[MemberIdentity(member_id=self._member, reason="it stops")],
        )
        with suppress(OttlaError, TimeoutError):
            async with asyncio.timeout(2):
                await self._client.ask(self._coordinator, ask, LeaveGroupResponse)
