"""What a worker asks of its clients, and says to other workers: TLS and passwords.

What cannot be honoured is refused before anything is served.
"""

import ssl
from pathlib import Path

from ottla.connect.settings import Settings
from ottla.errors import OttlaError
from ottla.serving.users import Users, read_users

_BASIC = "BasicAuthSecurityRestExtension"


class Protection:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        addresses = (*settings.addresses, *(settings.admin or ()))
        encrypts = any(one.scheme == "https" for one in addresses)
        self.users = self._users()
        self.of_listeners = self._context(server=True) if encrypts else None
        self.towards_leader = self._context(server=False) if encrypts else None

    def _context(self, *, server: bool) -> ssl.SSLContext:
        from ottla.security.tls import client_context, server_context, tls_options

        said = {name: value for name, value in self._settings.tls.items() if value is not None}
        options = tls_options(said, "the worker")._replace(are_of_a_client=not server)
        return server_context(options) if server else client_context(options)

    def _users(self) -> Users | None:
        extensions = self._settings.said.get("rest.extension.classes", "")
        file = self._settings["authentication.users"]
        others = [one for one in extensions.split(",") if one.strip() and _BASIC not in one]
        if others:
            raise OttlaError(
                f"rest.extension.classes={','.join(others)} cannot be run: they are Java's."
            )
        if file is None:
            if _BASIC in extensions:
                raise OttlaError(
                    f"{_BASIC} needs authentication.users, the file of those who may ask (what "
                    "the login module of Connect's names as its file)."
                )
            return None
        return Users(read_users(Path(file)), "ConnectRest")
