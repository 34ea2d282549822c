"""A database as a connector's keys name it: its dialect, and connections that say what is wrong."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from ottla.connect.connector import ConnectError, RetriableError
from ottla.connect.connectors.jdbc.dialects import NAMES, dialect
from ottla.connect.connectors.jdbc.dialects.dialect import Connection, Dialect, TableId
from ottla.connect.connectors.jdbc.url import Target, read_url
from ottla.connect.definitions import InvalidConfig


@dataclass(frozen=True, slots=True)
class Database:
    """Picklable: Spark's tasks connect by themselves."""

    target: Target
    quoting: bool
    zone_name: str
    attempts: int = 3
    backoff_ms: int = 10000

    @property
    def dialect(self) -> Dialect:
        return dialect(self.target.dialect, self.quoting)

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.zone_name)

    def name(self, table: TableId) -> str:
        return ".".join(self.dialect.quote(part) for part in table if part)

    def connect(self) -> Connection:
        """Tried again while it may succeed."""
        for attempt in range(1, self.attempts + 1):
            try:
                return self.dialect.connect(self.target)
            except self.dialect.errors as error:
                failure = self.dialect.failure(error, self.target)
                if attempt == self.attempts or not isinstance(failure, RetriableError):
                    raise failure from error
                time.sleep(self.backoff_ms / 1000)
        raise AssertionError("at least one attempt is made")

    def try_out(self) -> None:
        """Once, at once; InvalidConfig says why not."""
        if self.target.dialect == "sqlite" and self._is_still_to_be_made():
            return
        try:
            replace(self, attempts=1).connect().close()
        except ConnectError as error:
            raise InvalidConfig({"connection.url": [str(error)]}) from None

    def _is_still_to_be_made(self) -> bool:
        """A file that a sink's first connection makes, and a look must not."""
        file = Path(self.target.database)
        return self.target.purpose == "sink" and not file.exists() and file.parent.is_dir()

    @contextmanager
    def speaking(self) -> Iterator[None]:
        """What a driver raises within becomes a sentence."""
        try:
            yield
        except self.dialect.errors as error:
            raise self.dialect.failure(error, self.target) from error


def database(values: Mapping[str, Any], purpose: str) -> Database:
    """By the keys all JDBC connectors have; InvalidConfig where they do not fit together."""
    user, password = values["connection.user"], values["connection.password"]
    try:
        target = read_url(values["connection.url"], user, password, purpose)
        wanted = NAMES.get(values["dialect.name"], target.dialect)
        if wanted != target.dialect:
            raise ValueError(f"it is not one of {values['dialect.name']}'s")
        made = Database(
            target,
            values["quote.sql.identifiers"] in ("always", "true"),
            values["db.timezone"],
            values["connection.attempts"],
            values["connection.backoff.ms"],
        )
        made.dialect.check(target)
    except ValueError as error:
        name = "connection.url"
        sentence = f"Invalid value for configuration {name}: {error}"
        raise InvalidConfig({name: [sentence]}) from None
    return made
