"""What strangers try before it is known who they are, and what must not be found anywhere.

CVE-2022-34917 (memory before authentication), 2021-38153 and its like (users guessed), 2024-56128
(SCRAM's nonce), 2026-33558 (secrets in logs).
"""

import os
import struct
from base64 import b64encode
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from ottla.broker.api import Listeners, apis
from ottla.security import scram
from support.brokers import Kind
from support.confluent import wait_until
from support.secured import Secured, running_secured, sign_in
from support.wire import Connection

BEFORE = {17, 18, 36}
FRAME_BYTES_MAX = 64 * 1024
EVERY_API = sorted({*apis(Listeners.BROKER), *apis(Listeners.CONTROLLER)} - BEFORE)
PASSWORD = "grep-me-Zwq81"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("attacked")


@pytest.fixture(scope="module")
def secured(broker_kind: Kind, home: Path) -> Iterator[Secured]:
    more = {
        "ottla.audit.file": str(home / "audit.json"),
        "ottla.audit.topic": "audit",
        "delegation.token.secret.key": PASSWORD,
        "ssl.key.password": PASSWORD,
    }
    with running_secured(broker_kind, home, more) as secured:
        yield secured


def test_no_api_is_answered_before_it_is_known_who_asks(secured: Secured) -> None:
    for key in (*EVERY_API, 999, -1):
        with Connection(secured.address) as connection:
            connection.send_frame(struct.pack(">hhih", key, 0, 1, -1) + bytes(64))
            assert connection.is_closed_by_peer(), f"API {key}"


@pytest.mark.parametrize("size", [FRAME_BYTES_MAX + 1, 100 * 1024 * 1024, 2**31 - 1, -1])
def test_a_large_frame_of_a_stranger_is_not_waited_for(secured: Secured, size: int) -> None:
    with Connection(secured.address) as connection:
        connection.socket.sendall(struct.pack(">i", size) + b"\0\x24\0\2")
        assert connection.is_closed_by_peer()


def test_strangers_together_have_little_memory(secured: Secured, broker_kind: Kind) -> None:
    if broker_kind == "kafka":
        pytest.skip("Apache Kafka has no limit for all of them")
    begun = struct.pack(">i", FRAME_BYTES_MAX - 4) + bytes(FRAME_BYTES_MAX - 100)
    before = resident_bytes(secured.process.pid)
    with ExitStack() as stack:
        strangers = [stack.enter_context(Connection(secured.address)) for _ in range(1500)]
        for stranger in strangers:
            stranger.socket.setblocking(False)
            with suppress(BlockingIOError):
                stranger.socket.send(begun)
        with secured.by("alice") as known:  # who comes behind them is served
            assert known.ask("metadata", 1, topics=[]).brokers
        grown = resident_bytes(secured.process.pid) - before
    assert grown < 1500 * FRAME_BYTES_MAX / 2


def resident_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_users_are_not_guessed_by_the_answer(secured: Secured, broker_kind: Kind) -> None:
    if broker_kind == "kafka":
        pytest.skip("Apache Kafka refuses an unknown user at the first message")
    answers = []
    for user in ("alice", "nobody-of-that-name"):
        with Connection(secured.address) as connection:
            last = sign_in(connection, user, "wrong")
            answers.append((last.error_code, last.error_message))
    assert answers[0] == answers[1]


def test_scram_goes_on_from_the_nonce_that_was_given(secured: Secured) -> None:
    with Connection(secured.address) as connection:
        connection.ask("sasl_handshake", 1, mechanism="SCRAM-SHA-256")
        client = scram.ScramClient(scram.SHA_256, "alice", "secret", nonce="mine")
        first = connection.ask("sasl_authenticate", 2, auth_bytes=client.first())
        final = client.prove(client.challenge(bytes(first.auth_bytes)).run())
        position = final.index(b"r=mine") + 6
        other = b"y" if final[position : position + 1] == b"x" else b"x"
        forged = final[:position] + other + final[position + 1 :]
        answer = connection.ask("sasl_authenticate", 2, auth_bytes=forged)
        assert int(answer.error_code) != 0
        assert connection.is_closed_by_peer()


def test_a_token_that_is_ended_closes_its_connections(secured: Secured) -> None:
    from ottla.wire.client import read_reply, request_frame
    from ottla.wire.messages.create_delegation_token import (
        CreateDelegationTokenRequest,
        CreateDelegationTokenResponse,
    )
    from ottla.wire.messages.expire_delegation_token import ExpireDelegationTokenRequest

    with secured.by("alice") as owner, Connection(secured.address) as bearer:
        owner.send_frame(request_frame(CreateDelegationTokenRequest(), 3, 1, b""))
        token = read_reply(owner.receive_frame(), CreateDelegationTokenResponse, 3, 1)
        password = b64encode(token.hmac).decode()
        assert int(sign_in(bearer, token.token_id, password, token=True).error_code) == 0
        end = ExpireDelegationTokenRequest(hmac=token.hmac, expiry_time_period_ms=-1)
        owner.send_frame(request_frame(end, 2, 2, b""))
        assert bearer.is_closed_by_peer(timeout=10)


def reader(secured: Secured) -> dict[str, Any]:
    return {"bootstrap.servers": secured.process.bootstrap, "group.id": "auditors"}


def more_of(consumer: Consumer, events: list[bytes]) -> bool:
    for message in consumer.consume(500, 0.5):
        value = message.value()
        if message.error() is None and isinstance(value, bytes):
            events.append(value)
    return bool(events)


def test_a_password_is_found_nowhere(secured: Secured, home: Path, broker_kind: Kind) -> None:
    """Not in logs, not in the audit trail, not in DescribeConfigs, not among the arguments."""
    if broker_kind == "kafka":
        pytest.skip("there is no audit trail")
    secured.add_user("grace", PASSWORD)
    config: dict[str, Any] = {
        "bootstrap.servers": secured.address,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.username": "grace",
        "log_level": 0,
    }
    AdminClient({**config, "sasl.password": PASSWORD}).list_topics(timeout=10)
    with pytest.raises(KafkaException):
        AdminClient({**config, "sasl.password": PASSWORD + "?"}).list_topics(timeout=3)
    plain = {**config, "sasl.mechanism": "PLAIN", "sasl.password": PASSWORD + "!"}
    with pytest.raises(KafkaException):
        AdminClient(plain).list_topics(timeout=3)
    resource = ConfigResource(ResourceType.BROKER, "1")
    admin = AdminClient({"bootstrap.servers": secured.process.bootstrap})
    told = admin.describe_configs([resource])[resource].result(10)
    assert told["delegation.token.secret.key"].value is None
    assert told["delegation.token.secret.key"].is_sensitive
    assert told["listener.name.secure.plain.sasl.jaas.config"].value is None
    audit = home / "audit.json"
    wait_until(lambda: audit.exists() and "grace" in audit.read_text())
    with Consumer(reader(secured)) as consumer:
        consumer.assign([TopicPartition("audit", 0, 0)])
        events: list[bytes] = []
        wait_until(lambda: more_of(consumer, events) and b"grace" in b"".join(events))
    places = {
        "audit topic": b"".join(events).decode(),
        "log": secured.process.log.read_text(),
        "audit": audit.read_text(),
        "configs": " ".join(f"{name}={entry.value}" for name, entry in told.items()),
        "arguments": Path(f"/proc/{secured.process.pid}/cmdline").read_text(),
    }
    for place, text in places.items():
        assert PASSWORD not in text, place
        assert "plain secret" not in text, place
