"""Users, tokens, rules and quotas go with the directory, from Apache Kafka to Ottla and back."""

from base64 import b64encode
from itertools import pairwise
from pathlib import Path

import pytest
from kio.schema.errors import ErrorCode

from ottla.wire.client import read_reply, request_frame
from ottla.wire.messages.create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from support.batches import batch
from support.brokers import Kind
from support.confluent import wait_until
from support.secured import DESCRIBE, TOPIC, WRITE, Secured, running_secured, sign_in
from support.wire import Connection

BYTES_A_SECOND = 1000.0
pytestmark = [pytest.mark.java, pytest.mark.timeout(240)]


def told(secured: Secured, user: str, topic: str) -> ErrorCode:
    """What a user who proves its name hears of a topic."""
    with secured.by(user, f"{user}'s secret") as connection:
        reply = connection.ask("metadata", 9, topics=[{"name": topic}])
        return ErrorCode(reply.topics[0].error_code)


def token_of(secured: Secured, user: str) -> tuple[str, str]:
    """A delegation token's id and what its bearer shows."""
    with secured.by(user, f"{user}'s secret") as connection:
        connection.send_frame(request_frame(CreateDelegationTokenRequest(), 3, 1, b""))
        token = read_reply(connection.receive_frame(), CreateDelegationTokenResponse, 3, 1)
    assert token.error_code == 0
    return token.token_id, b64encode(token.hmac).decode()


def came_in(secured: Secured, token_id: str, password: str) -> bool:
    with Connection(secured.address) as connection:
        return int(sign_in(connection, token_id, password, token=True).error_code) == 0


def limit(secured: Secured, user: str) -> None:
    entity = [{"entity_type": "user", "entity_name": user}]
    rate = [{"key": "producer_byte_rate", "value": BYTES_A_SECOND, "remove": False}]
    with secured.setup() as connection:
        reply = connection.ask(
            "alter_client_quotas", 1, entries=[{"entity": entity, "ops": rate}], validate_only=False
        )
    assert [one.error_code for one in reply.entries] == [ErrorCode.none]


def is_throttled(secured: Secured, user: str) -> bool:
    """Whether it hears that it has written too much."""
    with secured.by(user, f"{user}'s secret") as connection:
        records = batch([bytes(20 * int(BYTES_A_SECOND))])
        place = {"name": user, "partition_data": [{"index": 0, "records": records}]}
        reply = connection.ask("produce", 9, acks=-1, timeout=5000, topic_data=[place])
    (partition,) = reply.responses[0].partition_responses
    assert partition.error_code is ErrorCode.none
    return bool(reply.throttle_time)


@pytest.mark.parametrize("turns", [("kafka", "ottla", "kafka"), ("ottla", "kafka", "ottla")])
def test_each_finds_the_users_rules_and_quotas_of_the_others(
    turns: tuple[Kind, ...], tmp_path: Path
) -> None:
    users: list[str] = []
    tokens: list[tuple[str, str]] = []
    for number, kind in enumerate(turns):
        with running_secured(kind, tmp_path / "node") as secured:
            user = f"user-{number}"
            secured.create(user)
            secured.add_user(user, f"{user}'s secret")
            secured.allow(user, (TOPIC, user, DESCRIBE), (TOPIC, user, WRITE))
            limit(secured, user)
            users.append(user)
            for each in users:
                assert told(secured, each, each) is ErrorCode.none
            tokens.append(token_of(secured, user))
            for token_id, password in tokens:
                wait_until(lambda a=token_id, b=password: came_in(secured, a, b))
            for each in users:
                wait_until(lambda name=each: is_throttled(secured, name))
            for one, other in pairwise(users):
                assert told(secured, one, other) is ErrorCode.topic_authorization_failed
