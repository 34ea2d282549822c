"""Which worker of a group runs the connectors: what each says of itself, and who is chosen.

The group is Connect's own, `group.id`; but its members here are consumers of the config topic by
their protocol type, where Connect's are of type `connect`. So the group's coordinator lets either
kind in, and never both. Whoever is assigned the topic's partition leads.
"""

import asyncio
import logging
import struct
from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

import msgspec

from ottla.errors import ErrorCode
from ottla.serving.leadership import Leadership

PROTOCOL_TYPE = "consumer"
PROTOCOL = "ottla-connect"
_VERSION = 0
_log = logging.getLogger(__name__)


class Member(NamedTuple):
    url: str
    leads: int = 0  # since this generation of the group; 0: it does not


class Assignment(NamedTuple):
    leader: str  # URL
    owns: bool  # the partition


def subscription(topic: str, member: Member) -> bytes:
    """A consumer's subscription, in whose user data a worker says where it is."""
    data = msgspec.json.encode({"url": member.url, "leads": member.leads})
    return struct.pack(">hi", _VERSION, 1) + _text(topic) + _data(data)


def assignment(topic: str, one: Assignment) -> bytes:
    data = msgspec.json.encode({"leader": one.leader})
    owned = struct.pack(">i", 1) + _text(topic) + struct.pack(">ii", 1, 0)
    return struct.pack(">h", _VERSION) + (owned if one.owns else bytes(4)) + _data(data)


def member_of(subscribed: bytes) -> Member:
    fields = msgspec.json.decode(_user_data(subscribed, partitions=False))
    return Member(str(fields["url"]), int(fields["leads"]))


def assignment_of(assigned: bytes) -> Assignment:
    (count,) = struct.unpack_from(">i", assigned, 2)
    fields = msgspec.json.decode(_user_data(assigned, partitions=True))
    return Assignment(str(fields["leader"]), count > 0)


def _text(value: str) -> bytes:
    data = value.encode()
    return struct.pack(">h", len(data)) + data


def _data(value: bytes) -> bytes:
    return struct.pack(">i", len(value)) + value


def _user_data(said: bytes, *, partitions: bool) -> bytes:
    (count,) = struct.unpack_from(">i", said, 2)
    at = 6
    for _ in range(count):
        (length,) = struct.unpack_from(">h", said, at)
        at += 2 + length
        if partitions:
            (owned,) = struct.unpack_from(">i", said, at)
            at += 4 + 4 * owned
    (length,) = struct.unpack_from(">i", said, at)
    return said[at + 4 : at + 4 + length]


def elect(members: Mapping[str, Member]) -> str:
    """The member that leads already, if there is one; else that of the smallest URL.

    Two say so when one of them was frozen, and does not know yet that the other took over: the
    generation tells which.
    """
    latest = max(one.leads for one in members.values())
    leading = [member for member, one in members.items() if one.leads == latest]
    return min(leading, key=lambda member: (members[member].url, member))


class Led(Protocol):
    """A worker's ways into leading and out of it."""

    async def begin(self) -> None: ...

    def end(self) -> None: ...


class WorkerLeadership(Leadership):
    """While the group is counted anew, whoever led goes on: it will lead again, unless nobody
    answers for a session's time."""

    def __init__(
        self,
        topic: str,
        url: str,
        worker: Led,
        session_s: float,
        on_refusal: Callable[[ErrorCode], None],
    ) -> None:
        super().__init__()
        self.generation = -1
        self.joined = asyncio.Event()
        self._topic = topic
        self._url = url
        self._worker = worker
        self._session_s = session_s
        self._on_refusal = on_refusal
        self._ending: asyncio.TimerHandle | None = None

    def metadata(self) -> bytes:
        return subscription(self._topic, Member(self._url, self.generation if self._mine else 0))

    def assign(self, members: Mapping[str, bytes]) -> Mapping[str, bytes]:
        said = {member: member_of(one) for member, one in members.items()}
        chosen = elect(said)
        return {
            member: assignment(self._topic, Assignment(said[chosen].url, member == chosen))
            for member in members
        }

    async def assigned(self, assigned: bytes, generation: int) -> None:
        found = assignment_of(assigned)
        self._hold_on()
        self.generation = generation
        self._mine = found.owns
        self.joined.set()
        if found.owns:
            await self._lead()
        else:
            await self._follow(found.leader)

    def lost(self) -> None:
        super().lost()
        if self._ending is None:
            loop = asyncio.get_running_loop()
            self._ending = loop.call_later(self._session_s, self._worker.end)

    def _hold_on(self) -> None:
        if self._ending is not None:
            self._ending.cancel()
            self._ending = None

    def refused(self, why: ErrorCode) -> None:
        self._on_refusal(why)

    async def _begin_to_write(self) -> None:
        await self._worker.begin()

    def _write_no_more(self) -> None:
        self._worker.end()
