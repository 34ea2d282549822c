"""Users and access rules go with the directory, from Apache Kafka to Ottla and back."""

from itertools import pairwise
from pathlib import Path

import pytest
from kio.schema.errors import ErrorCode

from support.brokers import Kind
from support.secured import DESCRIBE, TOPIC, Secured, running_secured

pytestmark = [pytest.mark.java, pytest.mark.timeout(240)]


def told(secured: Secured, user: str, topic: str) -> ErrorCode:
    """What a user who proves its name hears of a topic."""
    with secured.by(user, f"{user}'s secret") as connection:
        reply = connection.ask("metadata", 9, topics=[{"name": topic}])
        return ErrorCode(reply.topics[0].error_code)


@pytest.mark.parametrize("turns", [("kafka", "ottla", "kafka"), ("ottla", "kafka", "ottla")])
def test_each_finds_the_users_and_rules_of_the_others(
    turns: tuple[Kind, ...], tmp_path: Path
) -> None:
    users: list[str] = []
    for number, kind in enumerate(turns):
        with running_secured(kind, tmp_path / "node") as secured:
            user = f"user-{number}"
            secured.create(user)
            secured.add_user(user, f"{user}'s secret")
            secured.allow(user, (TOPIC, user, DESCRIBE))
            users.append(user)
            for each in users:
                assert told(secured, each, each) is ErrorCode.none
            for one, other in pairwise(users):
                assert told(secured, one, other) is ErrorCode.topic_authorization_failed
