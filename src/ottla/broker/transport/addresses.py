"""How many connections each address has open, and whether it may open one more."""

import logging
import socket
from collections import Counter
from functools import lru_cache

from ottla.broker.api import Listeners
from ottla.config import Settings

log = logging.getLogger(__name__)


class Addresses:
    """Clients and controllers are counted apart: they come over listeners of their own."""

    def __init__(self) -> None:
        self._open: Counter[tuple[Listeners, str]] = Counter()

    def let_in(self, kind: Listeners, host: str, settings: Settings) -> bool:
        """`settings` are those of this moment: the limits may be changed while we run."""
        if not self.has_room(kind, host, settings):
            return False
        self._open[kind, host] += 1
        return True

    def has_room(self, kind: Listeners, host: str, settings: Settings, unfinished: int = 0) -> bool:
        """Beside so many that are on their way in."""
        own = _overrides(settings.text("max.connections.per.ip.overrides"))
        most = own.get(host, settings.int("max.connections.per.ip"))
        return self._open.get((kind, host), 0) + unfinished < most

    def gone(self, kind: Listeners, host: str) -> None:
        self._open[kind, host] -= 1
        if not self._open[kind, host]:
            del self._open[kind, host]


@lru_cache(maxsize=8)
def _overrides(text: str) -> dict[str, int]:
    """Limits by address; a name stands for the addresses it has when it is first needed."""
    found: dict[str, int] = {}
    for pair in filter(None, map(str.strip, text.split(","))):
        host, _, most = pair.rpartition(":")
        found |= dict.fromkeys(addresses_of(host.strip("[] ")), int(most))
    return found


def addresses_of(host: str) -> list[str]:
    """None of a host that is not known; a limit of it is without effect, as in Kafka."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError as error:
        log.warning("a limit for %s holds for nobody: %s", host, error)
        return []
    return [str(address[4][0]) for address in found]
