"""Who may speak as a node, on the listeners where nodes come by certificates."""

import asyncio
import re
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import pytest
from confluent_kafka import TopicCollection
from confluent_kafka.cimpl import NewTopic

from ottla import Node
from ottla.cli.secured.vault import Vault
from ottla.errors import ErrorCode
from ottla.ports.network import TcpNetwork
from ottla.security.authority import KeyPair, new_node
from ottla.wire.client import Client
from ottla.wire.envelope import Origin, unwrap, wrap
from ottla.wire.message import Message
from ottla.wire.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from ottla.wire.messages.create_topics import (
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from ottla.wire.messages.envelope import EnvelopeResponse
from ottla.wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ReplicaState,
)
from ottla.wire.messages.vote import (
    RequestPartitionData,
    RequestTopicData,
    VoteRequest,
    VoteResponse,
)
from support import certificates

M = TypeVar("M", bound=Message)
DENIED = ErrorCode.CLUSTER_AUTHORIZATION_FAILED


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    with Node(secure=True, data=tmp_path_factory.mktemp("nodes") / "home") as node:
        admin = node.connection.admin()
        admin.create_topics([NewTopic("t", 1, 1)])["t"].result(20)
        yield node


class Impostor:
    """Whoever holds a certificate of the cluster's authority, on one of its nodes' listeners."""

    def __init__(self, node: Node, listener: str, pair: KeyPair, folder: Path) -> None:
        text = (node.data / "node1" / "server.properties").read_text()
        found = re.search(rf"{listener}://127\.0\.0\.1:(\d+)", text)
        assert found is not None
        self.port = int(found[1])
        file = folder / "impostor.pem"
        file.write_text(pair.chained)
        self.context = ssl.create_default_context(cafile=str(Vault(node.data).trusted_file))
        self.context.load_cert_chain(file)

    def ask(self, request: Message, response: type[M]) -> M:
        async def ask() -> M:
            network = TcpNetwork(encryption=lambda: self.context)
            link = await network.connect("127.0.0.1", self.port, lambda: None)
            try:
                version = 0 if "Envelope" in type(request).__name__ else request.VERSIONS[-1]
                return await Client(link, "impostor").ask(request, version, response)
            finally:
                link.close()

        return asyncio.run(ask())


def of_node(node: Node, number: int) -> KeyPair:
    return new_node(Vault(node.data).authority(), number, ["localhost"], datetime.now(UTC))


def vote(candidate: int) -> VoteRequest:
    partition = RequestPartitionData(replica_id=candidate, replica_epoch=0)
    return VoteRequest(
        topics=[RequestTopicData(topic_name="__cluster_metadata", partitions=[partition])]
    )


def forged(principal: str) -> Message:
    ask = CreateTopicsRequest(topics=[CreatableTopic(name="x", num_partitions=1)], timeout_ms=5000)
    return wrap(ask, Origin(principal, "127.0.0.1", "c", 7, 1))


def test_a_node_does_not_speak_as_another_one(node: Node, tmp_path: Path) -> None:
    second = Impostor(node, "CONTROLLER", of_node(node, 2), tmp_path)
    beat = second.ask(BrokerHeartbeatRequest(broker_id=1, broker_epoch=1), BrokerHeartbeatResponse)
    assert beat.error_code == DENIED
    own = second.ask(BrokerHeartbeatRequest(broker_id=2, broker_epoch=1), BrokerHeartbeatResponse)
    assert own.error_code not in (0, DENIED)  # nobody registered it, which is another matter
    assert second.ask(vote(1), VoteResponse).error_code == DENIED
    assert second.ask(vote(2), VoteResponse).error_code != DENIED


def test_a_node_does_not_fetch_as_another_replica(node: Node, tmp_path: Path) -> None:
    admin = node.connection.admin()
    told: Any = admin.describe_topics(TopicCollection(["t"]))["t"].result(20)
    topic_id = told.topic_id
    raw = topic_id.get_most_significant_bits(), topic_id.get_least_significant_bits()
    id = b"".join((part & (2**64 - 1)).to_bytes(8, "big") for part in raw)

    def fetched(pair: KeyPair, replica: int) -> int:
        ask = FetchRequest(
            replica_state=ReplicaState(replica_id=replica, replica_epoch=1),
            max_wait_ms=10,
            topics=[FetchTopic(topic_id=id, partitions=[FetchPartition(partition_max_bytes=1000)])],
        )
        answer = Impostor(node, "NODES", pair, tmp_path).ask(ask, FetchResponse)
        return int(answer.responses[0].partitions[0].error_code)

    second = of_node(node, 2)
    assert fetched(second, 3) == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert fetched(second, 2) != ErrorCode.TOPIC_AUTHORIZATION_FAILED


def test_whoever_is_no_node_passes_nothing_on_and_votes_for_nobody(
    node: Node, tmp_path: Path
) -> None:
    """A certificate of the same authority, of one who is not among the super users."""
    authority = Vault(node.data).authority()
    stranger = certificates.issue(certificates.loaded(authority), "stranger")
    pair = KeyPair(stranger.certificate_pem, stranger.key_pem())
    other = Impostor(node, "CONTROLLER", pair, tmp_path)
    for principal in ("User:admin", "User:ottla-node"):
        assert other.ask(forged(principal), EnvelopeResponse).error_code == DENIED
    assert other.ask(vote(1), VoteResponse).error_code == DENIED
    direct = other.ask(
        CreateTopicsRequest(topics=[CreatableTopic(name="x")], timeout_ms=5000),
        CreateTopicsResponse,
    )
    assert direct.topics[0].error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED


def test_what_a_node_passes_on_counts_as_the_clients(node: Node, tmp_path: Path) -> None:
    second = Impostor(node, "CONTROLLER", of_node(node, 2), tmp_path)
    origin = Origin("User:alice", "127.0.0.1", "c", 7, 1)
    answer = second.ask(forged("User:alice"), EnvelopeResponse)
    assert answer.error_code == 0
    assert answer.response_data is not None
    inside = unwrap(answer.response_data, CreateTopicsResponse, origin)
    assert inside.topics[0].error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
