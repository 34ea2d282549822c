"""Which registry of a group writes: what each says of itself, and who is chosen.

The formats are those of Confluent's and Karapace's registries, so that all three may be members of
one group. The group itself is `serving.election`.
"""

import logging
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from ottla.errors import ErrorCode
from ottla.registry.records import NoopKey, Write, encode
from ottla.serving.leadership import Leadership
from ottla.serving.topic_state import TopicState

PROTOCOL_TYPE = "sr"
PROTOCOL = "v0"
_VERSION = 1
_NO_ERROR, _DUPLICATE_URLS = 0, 1
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


class RegistryLeadership(Leadership):
    """What this registry knows of who leads."""

    def __init__(self, topic: TopicState, identity: Identity) -> None:
        super().__init__()
        self._topic = topic
        self._identity = identity

    def metadata(self) -> bytes:
        return msgspec.json.encode(self._identity._replace(leads=self._mine).fields())

    def assign(self, members: Mapping[str, bytes]) -> Mapping[str, bytes]:
        return assign(members)

    async def assigned(self, assignment: bytes, generation: int) -> None:
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
            await self._lead()
        else:
            await self._follow(leader.url)

    def refused(self, why: ErrorCode) -> None:
        _log.error(
            "the group of registries refuses this one (%s): is it used by something else?", why.name
        )

    async def _begin_to_write(self) -> None:
        await self._topic.lead(encode_noop())

    def _write_no_more(self) -> None:
        self._topic.follow()


def encode_noop() -> tuple[bytes, bytes | None]:
    return encode(Write(NoopKey()))
