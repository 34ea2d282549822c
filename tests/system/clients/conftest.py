"""A topic of the test's own, and the admin client."""

import uuid
from collections.abc import Callable

import pytest
from confluent_kafka.admin import AdminClient

from support.confluent import create_topic

MakeTopic = Callable[..., str]


@pytest.fixture
def make_topic(bootstrap: str) -> MakeTopic:
    """Create a topic with a new name: `make_topic(partitions=2, config={…})`."""

    def make(partitions: int = 1, config: dict[str, str] | None = None) -> str:
        name = f"topic-{uuid.uuid4().hex[:10]}"
        create_topic(bootstrap, name, partitions, config)
        return name

    return make


@pytest.fixture
def topic(make_topic: MakeTopic) -> str:
    return make_topic()


@pytest.fixture
def group() -> str:
    return f"group-{uuid.uuid4().hex[:10]}"


@pytest.fixture
def admin(bootstrap: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": bootstrap})
