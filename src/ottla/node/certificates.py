"""What this node's listeners and links are encrypted with, and looked after: files that change are
read again."""

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from ottla.broker.background import Background
from ottla.config import Settings
from ottla.config.topology import Listener
from ottla.ports.rare_log import RareLog
from ottla.ports.recurring import every

if TYPE_CHECKING:
    from ssl import SSLContext

    from ottla.security.renewal import RenewedEncryption
    from ottla.security.tls import TlsOptions

log = logging.getLogger(__name__)

LOOK_S = 3.0
SASL, TLS = "SASL_", "SSL"


class Certificates:
    def __init__(self, settings: Callable[[], Settings], now: Callable[[], float]) -> None:
        """The settings are those in force: certificates can be named at run time."""
        self._settings = settings
        self._complaints = RareLog(log, now)
        self._renewed: list[RenewedEncryption] = []

    def of_listener(self, listener: Listener) -> "SSLContext | None":
        if not listener.protocol.endswith(TLS):
            return None
        from ottla.security.tls import server_context

        return self._renew(listener, server_context).listening()

    def of_links_to(self, listener: Listener) -> "Callable[[], SSLContext]":
        from ottla.security.tls import client_context

        renewed = self._renew(listener, client_context)
        return lambda: renewed.current

    def look_after(self, background: Background) -> None:
        if self._renewed:
            background.spawn(every(LOOK_S, self._look, "the watch over certificates"))

    async def _look(self) -> None:
        loop = asyncio.get_running_loop()
        for one in self._renewed:
            await loop.run_in_executor(None, one.look)

    def _renew(
        self, listener: Listener, make: "Callable[[TlsOptions], SSLContext]"
    ) -> "RenewedEncryption":
        from ottla.security.renewal import RenewedEncryption

        renewed = RenewedEncryption(
            lambda: tls_options_of(self._settings(), listener), make, self._complaints
        )
        self._renewed.append(renewed)
        return renewed


def tls_options_of(settings: Settings, listener: Listener) -> "TlsOptions":
    from ottla.security.tls import tls_options

    has_sasl = listener.protocol.startswith(SASL)
    return tls_options(settings.given, listener.name, sasl=has_sasl)
