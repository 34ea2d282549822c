"""What a secured cluster's owner keeps: the authority with its key, the first user, client files.

All of it lies in `secure/` beside the nodes' folders, readable by its owner alone. What is there
is taken as it is.
"""

import os
import secrets
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ottla.client import files as client_files
from ottla.client.files import Account
from ottla.config.properties import read_properties
from ottla.errors import OttlaError

if TYPE_CHECKING:
    from ottla.security.authority import KeyPair

FOLDER = "secure"
ADMIN = "admin"
AUTHORITY, AUTHORITY_KEY = "authority.pem", "authority.key"
TRUSTED = "trusted.pem"
FIRST_USER = "admin.scram"
ITERATIONS = 8192
PASSWORD_BYTES = 24


def write_private(path: Path, text: str) -> None:
    """For its owner alone, and whole or not at all: whoever reads it now has the old one."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def private_folder(path: Path) -> Path:
    """It and those above it that are not there yet, for their owner alone."""
    for each in (*reversed(path.parents), path):
        if not each.exists():
            each.mkdir(mode=0o700)
    return path


class Vault:
    def __init__(self, home: Path) -> None:
        self.folder = (home / FOLDER).absolute()

    @property
    def exists(self) -> bool:
        return (self.folder / AUTHORITY).is_file()

    @property
    def trusted_file(self) -> Path:
        return self.folder / TRUSTED

    @property
    def trusted(self) -> str:
        """The certificates of all authorities that are believed at the moment."""
        return _read(self.trusted_file)

    @property
    def first_user(self) -> str:
        """As `--add-scram` takes it, without the password."""
        return _read(self.folder / FIRST_USER)

    def create(self) -> None:
        """The authority last: with it the vault exists."""
        from ottla.ports.chance import SYSTEM_CHANCE
        from ottla.security.add_scram import render_user
        from ottla.security.authority import new_authority
        from ottla.security.scram import SHA_512

        private_folder(self.folder)
        password = secrets.token_urlsafe(PASSWORD_BYTES)
        user = render_user(ADMIN, SHA_512, password, ITERATIONS, SYSTEM_CHANCE)
        authority = new_authority(datetime.now(UTC))
        write_private(self.folder / FIRST_USER, user + "\n")
        write_private(self.trusted_file, authority.certificate)
        self.write_client_files(ADMIN, password, ())
        self.replace_authority(authority)

    def authority(self) -> "KeyPair":
        from ottla.security.authority import KeyPair

        return KeyPair(_read(self.folder / AUTHORITY), _read(self.folder / AUTHORITY_KEY))

    def replace_authority(self, authority: "KeyPair") -> None:
        write_private(self.folder / AUTHORITY_KEY, authority.key)
        write_private(self.folder / AUTHORITY, authority.certificate)

    # Client files -----------------------------------------------------------------------------

    @property
    def clients(self) -> Path:
        return self.folder / "clients"

    def write_client_files(self, user: str, password: str, servers: Iterable[str]) -> Path:
        folder = private_folder(self.clients / user)
        account = Account(",".join(servers), user, password, str(self.trusted_file), self.trusted)
        for name, text in client_files.files(account).items():
            write_private(folder / name, text)
        return folder

    def renew_client_files(self, servers: Iterable[str]) -> None:
        """Brokers or authorities are others now; users and passwords stay."""
        told = list(servers)
        for folder in sorted(self.clients.iterdir()):
            password = self.password_of(folder.name)
            if password is not None:
                self.write_client_files(folder.name, password, told)

    def password_of(self, user: str) -> str | None:
        file = self.clients / user / client_files.LIBRDKAFKA
        if not file.is_file():
            return None
        found = {entry.name: entry.value for entry in read_properties(file)}
        return found.get("sasl.password")


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError as error:
        raise OttlaError(f"{path} cannot be read: {error.strerror}.") from None
