"""What a registry asks of its clients, and says to other registries: TLS and passwords.

What cannot be honoured is refused before anything is served.
"""

import ssl
from pathlib import Path

from ottla.errors import OttlaError
from ottla.registry.settings import Settings
from ottla.serving.users import Users, read_users


class Protection:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._encrypts = any(one.scheme == "https" for one in settings.addresses)
        self.users = self._users()
        self._listeners = self._context(server=True) if self._encrypts else None
        self._leader = self._context(server=False) if self._encrypts else None

    def of_listeners(self) -> ssl.SSLContext | None:
        """Of https; None where there is none."""
        return self._listeners

    def towards_leader(self) -> ssl.SSLContext | None:
        """For requests that are handed on, with the registry's own certificate."""
        return self._leader

    def _context(self, *, server: bool) -> ssl.SSLContext:
        from ottla.security.tls import TlsOptions, client_context, server_context

        options = TlsOptions("the registry", self._settings.tls, are_of_a_client=not server)
        return server_context(options) if server else client_context(options)

    def _users(self) -> Users | None:
        settings = self._settings
        if settings["authentication.method"] == "NONE":
            return None
        if not settings["authentication.users"]:
            raise OttlaError(
                "authentication.method=BASIC needs authentication.users, the file of those who "
                "may ask (what the login module of Confluent's registry names as its file)."
            )
        users = read_users(Path(settings["authentication.users"]))
        realm = settings["authentication.realm"].replace('"', "")
        return Users(users, realm, settings["authentication.roles"])
