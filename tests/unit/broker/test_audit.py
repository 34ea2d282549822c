"""What is written down: Kafka's lines, events in OCSF's shape, and how many were too many."""

import json
import logging
from pathlib import Path

import pytest

from ottla.broker.access import ByRules, Operation, Resource, authorized_operations
from ottla.broker.api import Listeners, apis
from ottla.broker.audit import EVENTS_MAX, AuditTrail
from ottla.broker.transport.context import Peer, RequestContext
from ottla.metadata.image import Acl
from ottla.security.rules import Rules
from ottla.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    ScramCredentialUpsertion,
)

NOW_MS = 1_700_000_000_000


def asked(api: int = 3) -> RequestContext:
    peer = Peer("USERS", Listeners.BROKER, "10.0.0.7")
    peer.principal = "User:alice"
    return RequestContext(apis(Listeners.BROKER)[api], 9, 1, "c", peer)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit.json"


@pytest.fixture
def trail(path: Path) -> AuditTrail:
    return AuditTrail(str(path), lambda: NOW_MS)


def test_a_denial_is_logged_as_kafka_logs_it(
    trail: AuditTrail, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "kafka.authorizer.logger")
    deny = Acl(2, "orders", 4, "User:alice", "*", 8, 2)
    access = ByRules(Rules([deny]), audit=trail)
    assert not access.allows(asked(), Operation.DESCRIBE, Resource.TOPIC, "orders-1")
    assert [one.message for one in caplog.records] == [
        "Principal = User:alice is Denied operation = DESCRIBE from host = 10.0.0.7 on resource = "
        "Topic:LITERAL:orders-1 for request = Metadata with resourceRefCount = 1 based on rule "
        "MatchingAcl(acl=StandardAcl[resourceType=TOPIC, resourceName=orders, patternType=PREFIXED,"
        " principal=User:alice, host=*, operation=DESCRIBE, permissionType=DENY])"
    ]


def test_what_nobody_tried_to_do_is_no_denial(
    trail: AuditTrail, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "kafka.authorizer.logger")
    access = ByRules(Rules(), audit=trail)
    assert authorized_operations(access, asked(), Resource.TOPIC, "orders") == 0
    assert not access.would_allow(asked(), Operation.DESCRIBE, Resource.TOPIC, "orders")
    trail.close()
    assert (caplog.records, path.exists()) == ([], False)


def test_events_have_ocsf_s_shape(trail: AuditTrail, path: Path) -> None:
    access = ByRules(Rules(), audit=trail)
    access.allows(asked(), Operation.WRITE, Resource.TOPIC, "orders")
    peer = asked().peer
    trail.signed_in(peer, "User:alice", "SCRAM-SHA-512")
    trail.signed_in(peer, "mallory", "PLAIN", "the proof is wrong")
    request = AlterUserScramCredentialsRequest(
        upsertions=[ScramCredentialUpsertion(name="bob", salted_password=b"very secret")]
    )
    trail.changed(
        asked(51),
        request,
        AlterUserScramCredentialsResponse(),
    )
    trail.close()
    denial, came, failed, change = map(json.loads, path.read_text().splitlines())
    assert {one["time"] for one in (denial, came, failed, change)} == {NOW_MS}
    assert (denial["class_uid"], denial["status_id"]) == (6003, 2)
    assert denial["actor"]["user"]["name"] == "User:alice"
    assert denial["resources"] == [{"type": "TOPIC", "name": "orders"}]
    assert (came["class_uid"], came["type_uid"], came["status_id"]) == (3002, 300201, 1)
    assert (failed["status_id"], failed["user"]["name"]) == (2, "mallory")
    assert change["resources"] == [{"type": "USER", "name": "bob"}]
    assert "secret" not in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600


def test_what_is_too_much_is_dropped_and_counted(trail: AuditTrail, path: Path) -> None:
    for _ in range(EVENTS_MAX + 7):
        trail.signed_in(asked().peer, "x", "PLAIN", "no")
    trail.close()
    lines = path.read_text().splitlines()
    assert len(lines) == EVENTS_MAX + 1
    assert json.loads(lines[-1])["count"] == 7
