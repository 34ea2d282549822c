"""Who asks, and how: what a handler may know about a request besides its body."""

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ottla.broker.accounting import Cost
    from ottla.broker.api import Api, Listeners
    from ottla.broker.transport.authentication import Authentication


log = logging.getLogger(__name__)


def unheard(seconds: float) -> None:
    """Of who has no connection."""


class Peer:
    """One client's connection, as handlers see it."""

    __slots__ = (
        "authentication",
        "awaits_authentication",
        "certificate",
        "client_host",
        "complain",
        "is_by_token",
        "is_passed_on",
        "is_refused",
        "listener_kind",
        "listener_name",
        "mute",
        "principal",
        "software",
        "when_closed",
    )

    def __init__(self, listener_name: str, listener_kind: "Listeners", client_host: str) -> None:
        self.listener_name = listener_name
        self.listener_kind = listener_kind
        self.client_host = client_host
        self.complain: Callable[[str], None] = log.warning  # of what strangers can cause at will
        self.authentication: Authentication | None = None  # on a SASL listener
        self.mute: Callable[[float], None] = unheard  # for so many seconds
        self.awaits_authentication = False  # then it may ask for nothing but what leads to it
        self.certificate: bytes | None = None  # of TLS, if the client showed one
        self.is_by_token = False  # a delegation token proved who it is
        self.is_passed_on = False  # a client of a broker, which asks for it
        self.is_refused = False  # what is to be said is the last word
        self.principal = "User:ANONYMOUS"
        self.software = ("unknown", "unknown")  # name and version, as ApiVersions told
        self.when_closed: dict[str, Callable[[], None]] = {}
        """What has to be done then, by what it is about: the last word counts."""


class RequestContext:
    """One request's header and where it came from."""

    __slots__ = ("api", "api_version", "client_id", "correlation_id", "cost", "peer")

    def __init__(
        self, api: "Api", api_version: int, correlation_id: int, client_id: str | None, peer: Peer
    ) -> None:
        self.api = api
        self.api_version = api_version
        self.correlation_id = correlation_id
        self.client_id = client_id
        self.peer = peer
        self.cost: Cost | None = None  # while quotas are counted

    @property
    def listener_name(self) -> str:
        return self.peer.listener_name

    @property
    def client_host(self) -> str:
        return self.peer.client_host

    @property
    def principal(self) -> str:
        return self.peer.principal
