"""Fixtures for the test suites of those who use Ottla: a real broker without Docker or Java.

Loaded by pytest in every project where Ottla is installed, so nothing is imported before a test
asks for it.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

if TYPE_CHECKING:
    from ottla.testing.connect import Connect
    from ottla.testing.node import Node
    from ottla.testing.registry import Registry


@pytest.fixture(scope="session")
def ottla_node() -> "Iterator[Node]":
    """One broker for the whole test session: `ottla_node.bootstrap_servers`."""
    from ottla.testing.node import Node

    with Node() as node:
        yield node


@pytest.fixture(scope="session")
def ottla_secure_node() -> "Iterator[Node]":
    """One secured broker for the whole test session: `ottla_secure_node.client_config("alice")`."""
    from ottla.testing.node import Node

    with Node(secure=True) as node:
        yield node


@pytest.fixture
def ottla_topic(ottla_node: "Node") -> Iterator[str]:
    """The name of a new topic of one partition, gone after the test."""
    from confluent_kafka import KafkaError, KafkaException
    from confluent_kafka.cimpl import NewTopic

    admin = ottla_node.connection.admin()
    name = f"test-{uuid4().hex[:12]}"
    admin.create_topics([NewTopic(name, 1, 1)])[name].result(10)
    yield name
    try:
        admin.delete_topics([name])[name].result(10)
    except KafkaException as error:  # the test may have deleted it itself
        if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
            raise


@pytest.fixture(scope="session")
def ottla_registry(ottla_node: "Node") -> "Iterator[Registry]":
    """One schema registry for the whole test session: `ottla_registry.url`."""
    from ottla.testing.registry import Registry

    with Registry(ottla_node.bootstrap_servers) as registry:
        yield registry


@pytest.fixture(scope="session")
def ottla_connect(ottla_node: "Node") -> "Iterator[Connect]":
    """One Connect worker for the whole test session: `ottla_connect.url`."""
    from ottla.testing.connect import Connect

    with Connect(ottla_node.bootstrap_servers) as connect:
        yield connect
