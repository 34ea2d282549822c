"""Delegation tokens: the same questions to Apache Kafka and to Ottla."""

import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import pytest

from ottla.errors import ErrorCode
from ottla.wire.client import read_reply, request_frame
from ottla.wire.message import Message
from ottla.wire.messages.create_delegation_token import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from ottla.wire.messages.describe_delegation_token import (
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)
from ottla.wire.messages.expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)
from ottla.wire.messages.renew_delegation_token import (
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)
from support.brokers import Kind
from support.confluent import wait_until
from support.secured import DESCRIBE, TOPIC, Secured, running_secured, sign_in
from support.wire import Connection

DELEGATION_TOKEN, USER = 6, 7
CREATE_TOKENS, DESCRIBE_TOKENS = 13, 14
M = TypeVar("M", bound=Message)
DAY_MS = 24 * 3600 * 1000


@pytest.fixture(scope="module")
def secured(broker_kind: Kind, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    with running_secured(broker_kind, tmp_path_factory.mktemp("secured")) as secured:
        for user in ("carol", "dave"):
            secured.add_user(user, "secret")
        yield secured


def ask(connection: Connection, request: Message, response: type[M]) -> M:
    """By our own messages: kio has moments for times, and none for -1."""
    version = request.VERSIONS[-1]
    connection.send_frame(request_frame(request, version, 7, b"raw"))
    return read_reply(connection.receive_frame(), response, version, 7)


def created(
    connection: Connection, *renewers: str, kind: str = "User", **fields: Any
) -> CreateDelegationTokenResponse:
    named = [CreatableRenewers(principal_type=kind, principal_name=one) for one in renewers]
    request = CreateDelegationTokenRequest(**{"renewers": named, "max_lifetime_ms": -1, **fields})
    return ask(connection, request, CreateDelegationTokenResponse)


def once_known(asked: Callable[[], Any]) -> Any:
    """Kafka's controller may hear of a token a moment after its maker."""
    answers: list[Any] = []

    def is_known() -> bool:
        answers.append(asked())
        return bool(answers[-1].error_code != ErrorCode.DELEGATION_TOKEN_NOT_FOUND)

    wait_until(is_known)
    return answers[-1]


def renewed(connection: Connection, hmac: bytes, ms: int = -1) -> RenewDelegationTokenResponse:
    request = RenewDelegationTokenRequest(hmac=hmac, renew_period_ms=ms)
    return once_known(lambda: ask(connection, request, RenewDelegationTokenResponse))


def ended(connection: Connection, hmac: bytes, ms: int = -1) -> ExpireDelegationTokenResponse:
    request = ExpireDelegationTokenRequest(hmac=hmac, expiry_time_period_ms=ms)
    return once_known(lambda: ask(connection, request, ExpireDelegationTokenResponse))


def described(
    connection: Connection, owners: list[str] | None = None
) -> DescribeDelegationTokenResponse:
    named = None
    if owners is not None:
        named = [
            DescribeDelegationTokenOwner(principal_type="User", principal_name=one)
            for one in owners
        ]
    request = DescribeDelegationTokenRequest(owners=named)
    return ask(connection, request, DescribeDelegationTokenResponse)


def let_in(connection: Connection, token: CreateDelegationTokenResponse) -> Any:
    password = b64encode(token.hmac).decode()
    return sign_in(connection, token.token_id, password, token=True)


def came_in(secured: Secured, token: CreateDelegationTokenResponse) -> bool:
    """A broker may hear of a token a moment after its maker."""
    with Connection(secured.address) as connection:
        return int(let_in(connection, token).error_code) == 0


def seen(connection: Connection, owners: list[str] | None = None) -> list[str]:
    reply = described(connection, owners)
    assert reply.error_code == ErrorCode.NONE
    return [token.token_id for token in reply.tokens]


def test_a_token_opens_the_door_to_its_owner_s_topics(secured: Secured) -> None:
    secured.create("of-alice")
    secured.allow("alice", (TOPIC, "of-alice", DESCRIBE))
    with secured.by("alice") as connection:
        token = created(connection, "bob")
    assert token.error_code == ErrorCode.NONE
    assert (token.principal_type, token.principal_name) == ("User", "alice")
    assert token.token_requester_principal_name == "alice"
    assert len(token.hmac) == 64
    wait_until(lambda: came_in(secured, token))
    with Connection(secured.address) as connection:
        answer = let_in(connection, token)
        assert answer.session_lifetime.total_seconds() > 0
        reply = connection.ask("metadata", 9, topics=[{"name": "of-alice"}])
        assert int(reply.topics[0].error_code) == 0


def test_a_token_s_bearer_may_not_ask_for_tokens(secured: Secured) -> None:
    with secured.by("alice") as connection:
        token = created(connection)
    wait_until(lambda: came_in(secured, token))
    refused = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    with Connection(secured.address) as connection:
        let_in(connection, token)
        answer = created(connection)
        assert (answer.error_code, answer.token_id) == (refused, "")
        assert renewed(connection, token.hmac).error_code == refused
        assert ended(connection, token.hmac).error_code == refused
        assert described(connection).error_code == refused


def test_on_a_listener_where_nobody_proves_anything_there_are_no_tokens(secured: Secured) -> None:
    with secured.setup() as connection:
        answer = created(connection)
    assert answer.error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    assert answer.principal_name == "ANONYMOUS"


def test_the_wrong_hmac_opens_nothing(secured: Secured) -> None:
    with secured.by("alice") as connection:
        token = created(connection)
    wait_until(lambda: came_in(secured, token))
    with Connection(secured.address) as connection:
        answer = sign_in(connection, token.token_id, "wrong", token=True)
        assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    with Connection(secured.address) as connection:
        wrong = b64encode(token.hmac).decode()
        answer = sign_in(connection, token.token_id, wrong)  # not said to be a token
        assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED


def test_a_token_for_another_needs_a_right_to_that_user(secured: Secured) -> None:
    with secured.by("bob") as connection:
        fields = {"owner_principal_type": "User", "owner_principal_name": "carol"}
        denied = created(connection, **fields)
        assert denied.error_code == ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED
        assert (denied.principal_name, denied.token_requester_principal_name) == ("carol", "bob")
        secured.allow("bob", (USER, "User:carol", CREATE_TOKENS))
        wait_until(lambda: created(connection, **fields).error_code == ErrorCode.NONE)
        token = created(connection, **fields)
        assert (token.principal_name, token.token_requester_principal_name) == ("carol", "bob")
        refused = ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
        assert renewed(connection, token.hmac).error_code == refused
    with secured.by("carol") as connection:
        assert renewed(connection, token.hmac).error_code == ErrorCode.NONE


def test_renewers_are_users(secured: Secured) -> None:
    with secured.by("alice") as connection:
        answer = created(connection, "staff", kind="Group")
        assert answer.error_code == ErrorCode.INVALID_PRINCIPAL_TYPE


def test_a_token_lives_as_long_as_it_is_renewed_and_no_longer_than_it_may(
    secured: Secured,
) -> None:
    with secured.by("alice") as connection:
        token = created(connection, "bob", max_lifetime_ms=600_000)
        issued = token.issue_timestamp_ms
        assert token.max_timestamp_ms == token.expiry_timestamp_ms == issued + 600_000
        usual = created(connection)
        assert usual.max_timestamp_ms - usual.issue_timestamp_ms == 7 * DAY_MS
        assert usual.expiry_timestamp_ms - usual.issue_timestamp_ms == DAY_MS
    with secured.by("bob") as connection:
        reply = renewed(connection, token.hmac, 3_600_000)
        assert (reply.error_code, reply.expiry_timestamp_ms) == (0, token.max_timestamp_ms)
        soon = ended(connection, token.hmac, 1)
        assert soon.expiry_timestamp_ms < token.max_timestamp_ms
    with secured.by("dave") as connection:
        refused = ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
        assert ended(connection, token.hmac).error_code == refused
    with secured.by("alice") as connection:
        unknown = ErrorCode.DELEGATION_TOKEN_NOT_FOUND
        request = RenewDelegationTokenRequest(hmac=b"nobody's")
        assert ask(connection, request, RenewDelegationTokenResponse).error_code == unknown
        wait_until(lambda: time.time() * 1000 > soon.expiry_timestamp_ms + 1)
        wait_until(
            lambda: (
                soon.expiry_timestamp_ms
                in {one.expiry_timestamp for one in described(connection).tokens}
            )
        )
        over = ErrorCode.DELEGATION_TOKEN_EXPIRED
        assert renewed(connection, token.hmac).error_code == over


def test_a_token_that_is_ended_opens_nothing_more(secured: Secured) -> None:
    with secured.by("alice") as connection:
        token = created(connection)
        wait_until(lambda: came_in(secured, token))
        assert ended(connection, token.hmac).error_code == ErrorCode.NONE
    wait_until(lambda: not came_in(secured, token))


def test_tokens_are_seen_by_those_they_concern_and_those_who_may(secured: Secured) -> None:
    with secured.by("carol") as connection:
        other, token = created(connection), created(connection, "bob")
        wait_until(lambda: {token.token_id, other.token_id} <= {*seen(connection)})
        assert token.token_id in seen(connection, ["carol"])
        assert seen(connection, ["nobody"]) == []
        assert seen(connection, []) == []
    with secured.by("bob") as connection:
        assert token.token_id in seen(connection)
        assert token.token_id in seen(connection, ["carol"])
    with secured.by("dave") as connection:
        assert seen(connection) == []
        secured.allow("dave", (DELEGATION_TOKEN, token.token_id, DESCRIBE))
        wait_until(lambda: seen(connection) == [token.token_id])
        secured.allow("dave", (USER, "User:carol", DESCRIBE_TOKENS))
        wait_until(lambda: other.token_id in seen(connection))
