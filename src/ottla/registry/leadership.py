"""Which registry of a group writes: what each says of itself, and who is chosen.

The formats are those of Confluent's and Karapace's registries, so that all three may be members of
one group. The group itself is `serving.election`.
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from ottla.registry.records import NoopKey, Write, encode
from ottla.serving.producing import Fenced, Unwritten
from ottla.serving.topic_state import TopicState

PROTOCOL_TYPE = "sr"
PROTOCOL = "v0"
_VERSION = 1
_NO_ERROR, _DUPLICATE_URLS = 0, 1
_RETRY_S = 0.5
_log = logging.getLogger(__name__)


class Identity(NamedTuple):
    host: str
    port: int
    eligible: bool = True
    scheme: str = "http"
    leads: bool = False

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.host}:{self.port}"

    def fields(self) -> dict[str, Any]:
        return {
            "host": self.host,
            "port": self.port,
            "master_eligibility": self.eligible,
            "scheme": self.scheme,
            "version": _VERSION,
            "leader": self.leads,
        }


def identity_of(fields: Mapping[str, Any]) -> Identity:
    return Identity(
        str(fields.get("host", "")),
        int(fields.get("port", 0)),
        bool(fields.get("master_eligibility", True)),
        str(fields.get("scheme") or "http"),
        bool(fields.get("leader", False)),
    )


def elect(members: Mapping[str, Identity]) -> str | None:
    """The member that leads already, if there is one; else the eligible one of the smallest URL."""
    eligible = {member: one for member, one in members.items() if one.eligible}
    leading = [member for member, one in eligible.items() if one.leads]
    if len(leading) == 1:
        return leading[0]
    return min(eligible, key=lambda member: eligible[member].url, default=None)


def assign(members: Mapping[str, bytes]) -> dict[str, bytes]:
    """The same for every member."""
    identities = {
        member: identity_of(msgspec.json.decode(said)) for member, said in members.items()
    }
    urls = {one.url for one in identities.values()}
    chosen = elect(identities)
    assignment = {
        "error": _NO_ERROR if len(urls) == len(identities) else _DUPLICATE_URLS,
        "master": chosen,
        "master_identity": None if chosen is None else identities[chosen].fields(),
        "version": _VERSION,
    }
    return dict.fromkeys(members, msgspec.json.encode(assignment))


class Leadership:
    """What this registry knows of who leads."""

    def __init__(self, topic: TopicState, identity: Identity) -> None:
        self._topic = topic
        self._identity = identity
        self._leader: str | None = None  # URL
        self._mine = False  # chosen, but not yet ready to write
        self._ready = False
        self._changed = asyncio.Condition()
        self._again: asyncio.Task[None] | None = None

    @property
    def leads(self) -> bool:
        return self._ready

    async def settled(self, timeout_s: float) -> str | None:
        """The URL of the leader once it is known, "" for this registry itself; None if nobody
        leads for that long."""
        try:
            async with asyncio.timeout(timeout_s), self._changed:
                await self._changed.wait_for(lambda: self._ready or self._leader is not None)
        except TimeoutError:
            return None
        return "" if self._ready else self._leader

    async def moved_from(self, leader: str) -> None:
        """Returns when another than the one at this URL leads."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._ready or self._leader not in (None, leader))

    # --- called by the election

    def metadata(self) -> bytes:
        return msgspec.json.encode(self._identity._replace(leads=self._mine).fields())

    def assign(self, members: Mapping[str, bytes]) -> Mapping[str, bytes]:
        return assign(members)

    async def assigned(self, assignment: bytes) -> None:
        fields = msgspec.json.decode(assignment)
        if fields.get("error") == _DUPLICATE_URLS:
            _log.error(
                "several registries of the group say they are at one URL, mine is %s: "
                "set host.name and host.port",
                self._identity.url,
            )
        if fields.get("error") != _NO_ERROR or fields.get("master_identity") is None:
            return
        leader = identity_of(fields["master_identity"])
        self._mine = leader.url == self._identity.url
        if self._mine:
            await self._begin()
        else:
            self._topic.follow()
            self._leader = leader.url
            await self._tell()

    def lost(self) -> None:
        """Whoever led says so as it joins anew, and stays; the writer of another ends it."""
        self._ready, self._leader = False, None
        if self._again is not None:
            self._again.cancel()
            self._again = None

    # --- writing

    async def _begin(self) -> None:
        while True:
            try:
                await self._topic.lead(encode_noop())
                break
            except (Unwritten, Fenced) as error:
                _log.warning("cannot begin to write: %s", error)
                await asyncio.sleep(_RETRY_S)
        self._ready = True
        await self._tell()

    def stumbled(self) -> None:
        """A write failed: read to the end behind a new record before the next one."""
        if self._ready:
            self._ready = False
            self._again = asyncio.create_task(self._begin())

    async def _tell(self) -> None:
        async with self._changed:
            self._changed.notify_all()


def encode_noop() -> tuple[bytes, bytes | None]:
    return encode(Write(NoopKey()))
