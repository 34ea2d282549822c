"""A schema registry as its clients know it: Ottla's, Confluent's or any other with that interface.

For the command line and the pipelines. A user and password stand in the URL
(`http://user:password@host:8081`); several URLs with commas between are tried in their order.
"""

import base64
import json
import os
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, unquote, urlencode, urlsplit, urlunsplit

from ottla.errors import OttlaError

DEFAULT_URL = "http://127.0.0.1:8081"
URL_VARIABLE = "OTTLA_REGISTRY"
CA_VARIABLE = "OTTLA_REGISTRY_CA"
TIMEOUT_S = 30.0
AVRO = "AVRO"
SUBJECT_NOT_FOUND, VERSION_NOT_FOUND, SCHEMA_NOT_FOUND = 40401, 40402, 40403
_CONTENT = "application/vnd.schemaregistry.v1+json"


class RegistryRefusal(OttlaError):
    """What the registry answers instead; its own sentence."""

    def __init__(self, status: int, code: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class RegistryAway(OttlaError):
    """None of its addresses answers."""


@dataclass(frozen=True, slots=True)
class Reference:
    """`name` stands in a schema for what another subject holds."""

    name: str
    subject: str
    version: int

    def fields(self) -> dict[str, Any]:
        return {"name": self.name, "subject": self.subject, "version": self.version}


@dataclass(frozen=True, slots=True)
class Stored:
    """A schema as the registry holds it."""

    subject: str
    version: int
    id: int
    text: str
    kind: str = AVRO
    references: tuple[Reference, ...] = ()
    metadata: Mapping[str, Any] | None = None
    rules: Mapping[str, Any] | None = None
    deleted: bool = False

    def draft(self) -> dict[str, Any]:
        """What registers it, without its id and version."""
        return draft(self.text, self.kind, self.references, self.metadata, self.rules)


def stored(fields: Mapping[str, Any]) -> Stored:
    return Stored(
        fields.get("subject") or "",
        fields.get("version") or 0,
        fields.get("id") or 0,
        fields.get("schema") or "",
        fields.get("schemaType") or AVRO,
        tuple(
            Reference(one["name"], one["subject"], one["version"])
            for one in fields.get("references") or ()
        ),
        fields.get("metadata"),
        fields.get("ruleSet"),
        bool(fields.get("deleted")),
    )


def draft(
    text: str,
    kind: str = AVRO,
    references: Iterable[Reference] = (),
    metadata: Mapping[str, Any] | None = None,
    rules: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The body of a registration."""
    body: dict[str, Any] = {"schema": text}
    if kind != AVRO:
        body["schemaType"] = kind
    if named := [one.fields() for one in references]:
        body["references"] = named
    if metadata is not None:
        body["metadata"] = metadata
    if rules is not None:
        body["ruleSet"] = rules
    return body


def url_of(said: str | None, environ: Mapping[str, str] = os.environ) -> str:
    """What was said, else what the environment says, else this machine."""
    return named_url(said, environ) or DEFAULT_URL


def named_url(said: str | None, environ: Mapping[str, str] = os.environ) -> str:
    """The same, but empty where nobody has named one."""
    return said or environ.get(URL_VARIABLE) or ""


@dataclass(frozen=True)
class SchemaRegistry:
    url: str = DEFAULT_URL
    ca: str | None = field(default_factory=lambda: os.environ.get(CA_VARIABLE))  # a PEM file
    timeout_s: float = TIMEOUT_S

    # --- what is there

    def subjects(self, prefix: str | None = None, *, deleted: bool = False) -> list[str]:
        asked: dict[str, str] = {} if prefix is None else {"subjectPrefix": prefix}
        found: list[str] = self.ask("GET", "/subjects", asked | _deleted(deleted))
        return found

    def versions(self, subject: str, *, deleted: bool = False) -> list[int]:
        found: list[int] = self.ask(
            "GET", f"/subjects/{_path(subject)}/versions", _deleted(deleted)
        )
        return found

    def version(
        self, subject: str, version: int | str = "latest", *, deleted: bool = False
    ) -> Stored:
        path = f"/subjects/{_path(subject)}/versions/{version}"
        return stored(self.ask("GET", path, _deleted(deleted)))

    def by_id(self, id: int, subject: str | None = None) -> Stored:
        asked = {} if subject is None else {"subject": subject}
        return stored({"id": id, **self.ask("GET", f"/schemas/ids/{id}", asked)})

    def every(self, prefix: str = "", *, deleted: bool = False) -> Iterator[Stored]:
        """All versions of all subjects, page by page."""
        offset = 0
        while True:
            asked = {"subjectPrefix": prefix, "offset": str(offset), **_deleted(deleted)}
            page = self.ask("GET", "/schemas", asked)
            yield from map(stored, page)
            if not page:
                return
            offset += len(page)

    def texts(self, references: Iterable[Reference]) -> dict[str, str]:
        """The texts that references stand for, each after those that it needs itself."""
        found: dict[str, str] = {}
        for one in references:
            if one.name not in found:
                held = self.version(one.subject, one.version, deleted=True)
                found |= self.texts(held.references)
                found[one.name] = held.text
        return found

    # --- changes

    def register(self, subject: str, body: Mapping[str, Any], *, normalize: bool = False) -> int:
        """Its id; RegistryRefusal (409) with the differences where it is not compatible."""
        asked = {"normalize": "true"} if normalize else {}
        found: int = self.ask("POST", f"/subjects/{_path(subject)}/versions", asked, body)["id"]
        return found

    def differences(
        self, subject: str, body: Mapping[str, Any], version: int | str | None = "latest"
    ) -> list[str]:
        """Why the subject would not take a schema, by its own level; of None, by all versions."""
        path = f"/compatibility/subjects/{_path(subject)}/versions"
        if version is not None:
            path = f"{path}/{version}"
        answer = self.ask("POST", path, {"verbose": "true"}, body)
        if answer["is_compatible"]:
            return []
        return list(answer.get("messages") or ["it is not compatible"])

    def delete(
        self, subject: str, version: int | str | None = None, *, permanent: bool = False
    ) -> list[int]:
        """The versions that are gone."""
        path = f"/subjects/{_path(subject)}"
        if version is not None:
            path = f"{path}/versions/{version}"
        gone = self.ask("DELETE", path, {"permanent": "true"} if permanent else {})
        return gone if isinstance(gone, list) else [gone]

    def setting(self, kind: str, subject: str | None = None) -> dict[str, Any] | None:
        """`config` or `mode`, of everything or of a subject; None where nothing is set."""
        try:
            found: dict[str, Any] = self.ask("GET", _setting(kind, subject))
        except RegistryRefusal as refusal:
            if refusal.status == 404:
                return None
            raise
        return found

    def set(
        self, kind: str, body: Mapping[str, Any], subject: str | None = None, *, force: bool = False
    ) -> None:
        self.ask("PUT", _setting(kind, subject), {"force": "true"} if force else {}, body)

    def unset(self, kind: str, subject: str) -> None:
        self.ask("DELETE", _setting(kind, subject))

    # --- asking

    def ask(
        self,
        method: str,
        path: str,
        parameters: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> Any:
        """RegistryRefusal for what the registry refuses, RegistryAway where nobody answers."""
        query = f"?{urlencode(parameters)}" if parameters else ""
        reason: object = "no address was given"
        for url in self.url.split(","):
            try:
                return self._exchange(method, url.strip().rstrip("/"), path + query, body)
            except (OSError, ValueError) as error:
                reason = getattr(error, "reason", None) or error
        raise RegistryAway(
            f"No schema registry answers at {without_password(self.url)}: {reason}. Start one with "
            f"`ottla registry start`, or name another with --registry or ${URL_VARIABLE}."
        )

    def _exchange(self, method: str, url: str, path: str, body: Mapping[str, Any] | None) -> Any:
        place, headers = _place(url)
        data = None if body is None else json.dumps(body).encode()
        if data is not None:
            headers["Content-Type"] = _CONTENT
        request = urllib.request.Request(place + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(
                request, timeout=self.timeout_s, context=self._tls(place)
            ) as answer:
                said = answer.read()
                return json.loads(said) if said else None
        except urllib.error.HTTPError as refused:
            with refused:
                raise _refusal(refused.code, refused.read()) from None

    def _tls(self, place: str) -> ssl.SSLContext | None:
        if not place.startswith("https:"):
            return None
        return ssl.create_default_context(cafile=self.ca)


def _place(url: str) -> tuple[str, dict[str, str]]:
    """The URL without the user in it, and the headers that name them."""
    parts = urlsplit(url)
    headers = {"Accept": _CONTENT}
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", "")), headers


def without_password(urls: str) -> str:
    """As it may be shown."""
    return ",".join(_place(one.strip())[0] for one in urls.split(","))


def _refusal(status: int, said: bytes) -> RegistryRefusal:
    try:
        fields = json.loads(said)
        return RegistryRefusal(status, int(fields["error_code"]), str(fields["message"]))
    except (ValueError, KeyError, TypeError):
        return RegistryRefusal(status, status, f"The schema registry answers with {status}.")


def _path(subject: str) -> str:
    return quote(subject, safe="")


def _setting(kind: str, subject: str | None) -> str:
    return f"/{kind}" if subject is None else f"/{kind}/{_path(subject)}"


def _deleted(deleted: bool) -> dict[str, str]:
    return {"deleted": "true"} if deleted else {}
