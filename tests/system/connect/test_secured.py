"""Workers that ask who comes: TLS, passwords, and /admin at a door of its own."""

import http.client
import json
import ssl
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from ottla.errors import OttlaError
from support.certificates import authority, issue
from support.connect_workers import LocalWorker
from support.homes import free_port
from system.connect.requests import source

BASIC = "org.apache.kafka.connect.rest.basic.auth.extension.BasicAuthSecurityRestExtension"
SESAME = f"Basic {b64encode(b'kim:sesame').decode()}"


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Of a worker whose clients need certificates of one authority."""
    folder = tmp_path_factory.mktemp("stores")
    ca = authority()
    (folder / "ca.pem").write_text(ca.certificate_pem)
    issue(ca, "worker", "127.0.0.1").write_pem(folder / "worker.pem")
    issue(ca, "client").write_pem(folder / "client.pem")
    issue(authority("another"), "stranger").write_pem(folder / "stranger.pem")
    return {
        "folder": str(folder),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(folder / "worker.pem"),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(folder / "ca.pem"),
    }


def options_of(stores: dict[str, str], folder: Path) -> dict[str, str]:
    (folder / "users").write_text("kim: sesame\n")
    tls = {f"listeners.https.{name}": value for name, value in stores.items() if name != "folder"}
    return {
        **tls,
        "listeners.https.ssl.client.authentication": "required",
        "rest.extension.classes": BASIC,
        "authentication.users": str(folder / "users"),
    }


def context(stores: dict[str, str], who: str | None) -> ssl.SSLContext:
    folder = Path(stores["folder"])
    made = ssl.create_default_context(cafile=folder / "ca.pem")
    if who is not None:
        made.load_cert_chain(folder / f"{who}.pem")
    return made


def asked(
    url: str, path: str, tls: ssl.SSLContext | None, word: str | None, body: Any = None
) -> int:
    place = urlsplit(url)
    connection = (
        http.client.HTTPConnection(place.netloc, timeout=60)
        if tls is None
        else http.client.HTTPSConnection(place.netloc, timeout=60, context=tls)
    )
    headers = {} if word is None else {"Authorization": word}
    try:
        if body is None:
            connection.request("GET", path, headers=headers)
        else:
            typed = {**headers, "Content-Type": "application/json"}
            connection.request("PUT", path, json.dumps(body), typed)
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.fixture
def secured(
    bootstrap: str, stores: dict[str, str], tmp_path: Path
) -> Iterator[tuple[LocalWorker, LocalWorker]]:
    options = options_of(stores, tmp_path)
    with LocalWorker(bootstrap, options, "https") as one, one.another() as two:
        yield one, two


def test_a_certificate_and_a_password_are_asked_for_and_handed_on_to_the_leader(
    secured: tuple[LocalWorker, LocalWorker], stores: dict[str, str], tmp_path: Path
) -> None:
    known = context(stores, "client")
    for worker in secured:
        assert asked(worker.url, "/connectors", known, SESAME) == 200
        assert asked(worker.url, "/connectors", known, None) == 401
        wrong = f"Basic {b64encode(b'kim:open').decode()}"
        assert asked(worker.url, "/connectors", known, wrong) == 401
        for stranger in (None, "stranger"):
            with pytest.raises((ssl.SSLError, OSError, http.client.HTTPException)):
                asked(worker.url, "/connectors", context(stores, stranger), SESAME)
    config = source(str(tmp_path))
    for number, worker in enumerate(secured):  # one of them does not lead
        path = f"/connectors/safe{number}/config"
        assert asked(worker.url, path, known, None, config) == 401
        assert asked(worker.url, path, known, SESAME, config) == 201
        assert asked(worker.url, f"/connectors/safe{number}", known, SESAME) == 200


def test_loggers_are_at_the_listeners_that_are_said_and_nowhere_else(bootstrap: str) -> None:
    admin = f"http://127.0.0.1:{free_port()}"
    with LocalWorker(bootstrap, {"admin.listeners": admin}) as worker:
        assert asked(admin, "/admin/loggers", None, None) == 200
        assert asked(admin, "/connectors", None, None) == 404
        assert asked(worker.url, "/admin/loggers", None, None) == 404
        assert asked(worker.url, "/connectors", None, None) == 200
    with LocalWorker(bootstrap, {"admin.listeners": ""}) as worker:
        assert asked(worker.url, "/admin/loggers", None, None) == 404


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"rest.extension.classes": BASIC}, "authentication.users"),
        ({"rest.extension.classes": "com.example.Guard"}, "com.example.Guard cannot be run"),
        ({"authentication.users": "/no/such/file"}, "/no/such/file"),
    ],
)
def test_what_cannot_be_honoured_is_refused_before_anything_is_served(
    bootstrap: str, options: dict[str, str], sentence: str
) -> None:
    with pytest.raises(OttlaError, match=sentence), LocalWorker(bootstrap, options):
        pass
