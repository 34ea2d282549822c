"""What converters share whose records bear the id of a schema in a registry. Keys are Confluent's.

A registry that does not answer is no record's fault: it is a `ServiceError`, which nothing
tolerates. What the registry has told is remembered for as long as the process lives.
"""

import functools
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit, urlunsplit

from ottla.client.schema_registry import (
    RegistryAway,
    RegistryRefusal,
    SchemaRegistry,
    Stored,
    stored,
)
from ottla.connect.connector import ServiceError
from ottla.connect.converters.registered_keys import STRATEGIES
from ottla.connect.data import DataError

_Made = TypeVar("_Made")
_OF_THE_SCHEMA = (404, 409, 422)  # what a registry says of a schema, not of who asks
MAGIC = b"\0"
ID_END = 5


@dataclass(frozen=True, slots=True)
class Registration:
    """How schemas reach the registry."""

    automatic: bool = True
    latest: bool = False
    normalize: bool = False
    fixed_id: int = -1
    strategy: str = "topic"
    latest_for_s: float = -1.0  # -1: as long as the process lives

    @classmethod
    def of(cls, values: Mapping[str, Any], *, is_key: bool) -> "Registration":
        side = "key" if is_key else "value"
        return cls(
            automatic=values["auto.register.schemas"],
            latest=values["use.latest.version"],
            normalize=values["normalize.schemas"],
            fixed_id=values["use.schema.id"],
            strategy=STRATEGIES[values[f"{side}.subject.name.strategy"]],
            latest_for_s=float(values["latest.cache.ttl.sec"]),
        )

    def subject(self, topic: str, name: str | None, *, is_key: bool) -> str:
        if self.strategy == "topic":
            return f"{topic}-{'key' if is_key else 'value'}"
        if name is None:
            side = "key" if is_key else "value"
            raise DataError(
                f"In configuration {side}.subject.name.strategy the message {side} must only be a "
                "record schema"
            )
        return name if self.strategy == "record" else f"{topic}-{name}"


@dataclass
class RegisteredSchemas:
    """A registry, and what it has told."""

    registry: SchemaRegistry
    _ids: dict[tuple[str, str], int] = field(default_factory=dict)  # by subject and text
    _texts: dict[int, tuple[Stored, dict[str, str]]] = field(default_factory=dict)
    _versions: dict[tuple[str, int], int | None] = field(default_factory=dict)
    _latest: dict[str, tuple[float, Stored]] = field(default_factory=dict)

    def id_of(self, subject: str, body: Mapping[str, Any], how: Registration) -> int:
        """Of a schema that is registered, or has to be by now."""
        known = self._ids.get((subject, body["schema"]))
        if known is None:
            known = self._asked(lambda: self._id_of(subject, body, how))
            self._ids[subject, body["schema"]] = known
        return known

    def _id_of(self, subject: str, body: Mapping[str, Any], how: Registration) -> int:
        if how.automatic:
            return self.registry.register(subject, body, normalize=how.normalize)
        asked = {"normalize": "true"} if how.normalize else {}
        path = f"/subjects/{quote(subject, safe='')}"
        return int(self.registry.ask("POST", path, asked, body)["id"])

    def latest(self, subject: str, how: Registration) -> Stored:
        at, known = self._latest.get(subject, (0.0, None))
        fresh = how.latest_for_s < 0 or time.monotonic() - at < how.latest_for_s
        if known is None or not fresh:
            known = self._asked(lambda: self.registry.version(subject))
            self._latest[subject] = (time.monotonic(), known)
        return known

    def told(self, subject: str, how: Registration) -> Stored | None:
        """What is to be written with, whatever the record's own schema; None: just that."""
        if how.automatic or (how.fixed_id < 0 and not how.latest):
            return None
        return self.by_id(how.fixed_id)[0] if how.fixed_id >= 0 else self.latest(subject, how)

    def by_id(self, id: int) -> tuple[Stored, dict[str, str]]:
        """A schema, and what it refers to by name, each after those that it needs itself."""
        found = self._texts.get(id)
        if found is None:
            held = self._asked(lambda: self.registry.by_id(id))
            texts = self._asked(lambda: self.registry.texts(held.references))
            found = self._texts[id] = (held, texts)
        return found

    def version(self, subject: str, id: int) -> int | None:
        """A schema's in a subject; None where it is not the subject's."""
        if (subject, id) not in self._versions:
            held, _ = self.by_id(id)
            path = f"/subjects/{quote(subject, safe='')}"
            try:
                told = self._asked(
                    lambda: self.registry.ask("POST", path, {"deleted": "true"}, held.draft())
                )
                self._versions[subject, id] = stored(told).version
            except DataError:
                self._versions[subject, id] = None
        return self._versions[subject, id]

    def _asked(self, ask: Callable[[], _Made]) -> _Made:
        with refusals():
            return ask()


@contextmanager
def refusals() -> Iterator[None]:
    """DataError for what the registry says of a schema, ServiceError for all else."""
    try:
        yield
    except RegistryAway as error:
        raise ServiceError(str(error), away=True) from None
    except RegistryRefusal as refusal:
        if refusal.status in _OF_THE_SCHEMA:
            raise DataError(f"{refusal}; error code: {refusal.code}") from None
        away = refusal.status >= 500 or refusal.status == 429
        raise ServiceError(f"The schema registry refuses: {refusal}", away=away) from None


def registered_schemas(values: Mapping[str, Any]) -> RegisteredSchemas:
    """The same for all converters of a process that are told the same."""
    urls = list(values["schema.registry.url"])
    user = values["basic.auth.user.info"] or values["schema.registry.basic.auth.user.info"]
    if values["basic.auth.credentials.source"].upper() == "USER_INFO" and user:
        urls = [_with_user(one, user) for one in urls]
    ca = values["schema.registry.ssl.truststore.location"]
    return _schemas(",".join(urls), ca, values["http.read.timeout.ms"] / 1000)


@functools.lru_cache(maxsize=64)
def _schemas(url: str, ca: str | None, timeout_s: float) -> RegisteredSchemas:
    return RegisteredSchemas(SchemaRegistry(url, ca, timeout_s))


def _with_user(url: str, user: str) -> str:
    parts = urlsplit(url)
    name, _, password = user.partition(":")
    said = f"{quote(name, safe='')}:{quote(password, safe='')}"
    place = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, f"{said}@{place}", parts.path, parts.query, ""))


# --- frames


def framed(id: int, body: bytes) -> bytes:
    return MAGIC + id.to_bytes(4, "big") + body


def schema_id(data: bytes) -> int:
    if data[:1] != MAGIC or len(data) < ID_END:
        raise DataError("Unknown magic byte!")
    return int.from_bytes(data[1:ID_END], "big")


@contextmanager
def told_of(what: str) -> Iterator[None]:
    """A DataError says where it happened, as Confluent's does."""
    try:
        yield
    except DataError as error:
        raise DataError(f"{what} {error}") from error
