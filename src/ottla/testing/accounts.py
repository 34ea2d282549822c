"""Who may come to a secured node under test: its first user, and others as tests ask for them."""

import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from ottla.client.files import LIBRDKAFKA, Account
from ottla.config.properties import read_properties
from ottla.errors import OttlaError

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

ADMIN = "admin"
ANSWER_S_MAX = 20.0


class Accounts:
    """`home` is the directory that `ottla start --secure` wrote."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._known: dict[str, Account] = {}

    @property
    def admin_file(self) -> Path:
        return self._home / "secure" / "clients" / ADMIN / LIBRDKAFKA

    def admin(self) -> Account:
        """As its file has it, which the node writes at its first start."""
        try:
            said = {entry.name: entry.value for entry in read_properties(self.admin_file)}
        except OttlaError as error:
            raise OttlaError(f"The node has not been started yet: {error}") from None
        authority = said["ssl.ca.location"]
        return Account(
            said["bootstrap.servers"],
            said["sasl.username"],
            said["sasl.password"],
            authority,
            Path(authority).read_text(),
        )

    def of(self, user: str, admin: "AdminClient") -> Account:
        """A user that is not known yet is made, without any right."""
        if user == ADMIN:
            return self.admin()
        if user not in self._known:
            password = secrets.token_urlsafe(24)
            _add(user, password, admin)
            self._known[user] = self.admin()._replace(user=user, password=password)
        return self._known[user]


def _add(user: str, password: str, admin: "AdminClient") -> None:
    from confluent_kafka.admin import (
        ScramCredentialInfo,
        ScramMechanism,
        UserScramCredentialUpsertion,
    )

    information = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
    change = UserScramCredentialUpsertion(user, information, password.encode())
    admin.alter_user_scram_credentials([change])[user].result(ANSWER_S_MAX)
