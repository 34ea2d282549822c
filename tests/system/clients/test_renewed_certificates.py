"""Certificates are replaced under clients that go on: by files, and by AlterConfigs."""

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from support import certificates
from support.brokers import Kind
from support.certificates import Issued
from support.confluent import wait_until
from support.secured import Secured, running_secured

SECONDS = 20


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def secured(broker_kind: Kind, home: Path) -> Iterator[Secured]:
    with running_secured(broker_kind, home) as secured:
        secured.create("sealed")
        yield secured


def config(secured: Secured) -> dict[str, Any]:
    return {
        "bootstrap.servers": secured.encrypted,
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.username": "root",
        "sasl.password": "secret",
        "ssl.ca.pem": secured.authority.certificate_pem,
    }


def shown(secured: Secured) -> bytes:
    """The certificate that a new connection sees."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=secured.authority.certificate_pem)
    host, port = secured.encrypted.split(":")
    with (
        socket.create_connection((host, int(port)), 5) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as encrypted,
    ):
        certificate = encrypted.getpeercert(binary_form=True)
        assert certificate is not None
        return certificate


def next_certificate(secured: Secured, name: str = "broker") -> Issued:
    return certificates.issue(secured.authority, name, "localhost", "127.0.0.1")


@contextmanager
def load(secured: Secured) -> Iterator[Callable[[], int]]:
    """Somebody writes all the time, over connections that come and go; how much so far."""
    ended, errors, acknowledged = threading.Event(), list[KafkaError](), [0]

    def delivered(error: KafkaError | None, _: object) -> None:
        if error is None:
            acknowledged[0] += 1
        else:
            errors.append(error)

    def write() -> None:
        while not ended.is_set():
            producer = Producer({**config(secured), "linger.ms": 0})
            for _ in range(20):
                producer.produce("sealed", b"x", on_delivery=delivered)
                producer.flush(SECONDS)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield lambda: acknowledged[0]
    finally:
        ended.set()
        writer.join()
    assert errors == []


def test_files_that_change_are_read_again_and_no_client_notices(
    secured: Secured, home: Path
) -> None:
    with load(secured) as count:
        for _ in range(2):
            new = next_certificate(secured)
            new.write_pem(home / "own.pem")
            wait_until(lambda new=new: shown(secured) == new.der)
            so_far = count()
            wait_until(lambda so_far=so_far: count() > so_far + 20)
    before = shown(secured)
    (home / "own.pem").write_text("not a certificate")
    other = next_certificate(secured, "somebody-else")
    with load(secured) as count:
        wait_until(lambda: count() > 40)
        other.write_pem(home / "own.pem")
        wait_until(lambda: count() > 80)
    assert shown(secured) == before


def altered(secured: Secured, location: Path) -> None:
    """By the broker's own settings, as ConfigCommand does."""
    admin = AdminClient({"bootstrap.servers": secured.process.bootstrap})
    entry = ConfigEntry(
        "listener.name.guarded.ssl.keystore.location",
        str(location),
        incremental_operation=AlterConfigOpType.SET,
    )
    resource = ConfigResource(ResourceType.BROKER, "1", incremental_configs=[entry])
    admin.incremental_alter_configs([resource])[resource].result(SECONDS)


def test_a_store_is_named_at_run_time(secured: Secured, home: Path) -> None:
    new = next_certificate(secured)
    altered(secured, new.write_pem(home / "next.pem"))
    wait_until(lambda: shown(secured) == new.der)
    bad = home / "bad.pem"
    bad.write_text("nothing")
    for refused in (
        bad,
        home / "missing.pem",
        next_certificate(secured, "somebody-else").write_pem(home / "else.pem"),
    ):
        with pytest.raises(KafkaException) as error:
            altered(secured, refused)
        assert error.value.args[0].code() == KafkaError.INVALID_REQUEST
    assert shown(secured) == new.der
