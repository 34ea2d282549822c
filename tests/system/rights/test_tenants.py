"""Two tenants of one cluster: whatever one asks of the other's, it is told what it would be told of
names that nobody has. Every API is asked, at its oldest and its newest version."""

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from kio.schema.errors import ErrorCode
from msgspec import to_builtins

from differential.link import Link
from differential.waiting import drive
from ottla.security import scram
from ottla.wire.message import Message
from ottla.wire.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from ottla.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from support.batches import batch
from support.brokers import Kind
from support.confluent import wait_until
from support.secured import Secured, create_topic, running_secured
from support.wire import Connection
from system.cli.test_tools import Tool
from system.rights.asking import PATIENCE_S, asked, versions_of
from system.rights.people import PREFIX
from system.rights.question import NO_SUCH_ID, Ids, Question
from system.rights.questions import QUESTIONS
from system.rights.requests import messages, request_of, response_of

ASKING, OWNER, NOBODY = "alpha", "bravo", "ghost"
SECRET = "of a tenant"
HELD = b"what only its owner may read"


@pytest.fixture(scope="module")
def shared(broker_kind: Kind, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    with running_secured(broker_kind, tmp_path_factory.mktemp("tenants")) as secured:
        tool = Tool(secured.process.bootstrap)
        for name in (ASKING, OWNER):
            made = ("--bytes", "50MB/s", "--mechanism", "SCRAM-SHA-256")
            tool("tenant", "create", name, *made, stdin=f"{SECRET}\n")
        yield secured


@contextmanager
def tenant(secured: Secured, name: str) -> Iterator[Connection]:
    with secured.by(name, SECRET) as connection:
        yield connection


def furnish(secured: Secured) -> Ids:
    """What the owner has: topics with records, a group with offsets, a transactional id."""
    ids: Ids = {}
    with tenant(secured, OWNER) as own:
        for rest in ("orders", "secret"):
            topic = f"{OWNER}.{rest}"
            made = create_topic(own, topic)
            assert made.error_code == ErrorCode.none
            ids[f"{PREFIX}{rest}"] = made.topic_id.bytes
            wait_until(lambda topic=topic: written(own, topic) == ErrorCode.none)
        wait_until(lambda: began(own) == ErrorCode.none)
        wait_until(lambda: committed(own) == ErrorCode.none)
    return ids


def written(own: Connection, topic: str) -> Any:
    place = {"index": 0, "records": batch([HELD])}
    data = [{"name": topic, "partition_data": [place]}]
    reply = own.ask("produce", 9, acks=-1, timeout=5000, topic_data=data)
    return reply.responses[0].partition_responses[0].error_code


def began(own: Connection) -> Any:
    own.ask("find_coordinator", 3, key=f"{OWNER}.mover", key_type=1)
    return own.ask(
        "init_producer_id", 4, transactional_id=f"{OWNER}.mover", transaction_timeout=60_000
    ).error_code


def committed(own: Connection) -> Any:
    own.ask("find_coordinator", 3, key=f"{OWNER}.readers", key_type=0)
    place = {"partition_index": 0, "committed_offset": 1}
    reply = own.ask(
        "offset_commit",
        7,
        group_id=f"{OWNER}.readers",
        generation_id_or_member_epoch=-1,
        topics=[{"name": f"{OWNER}.orders", "partitions": [place]}],
    )
    return reply.topics[0].partitions[0].error_code


def possessions(secured: Secured) -> Any:
    """All that a stranger could have changed, as the owner sees it."""
    with tenant(secured, OWNER) as own:
        topics = own.ask("metadata", 8, topics=None).topics
        names = sorted((topic.name, len(topic.partitions)) for topic in topics)
        ends = own.ask(
            "list_offsets",
            5,
            topics=[
                {"name": name, "partitions": [{"partition_index": 0, "timestamp": -1}]}
                for name, _ in names
            ],
        )
        offsets = own.ask("offset_fetch", 7, group_id=f"{OWNER}.readers", topics=None)
        groups = own.ask("list_groups", 4)
        configs = own.ask(
            "describe_configs",
            4,
            resources=[{"resource_type": 2, "resource_name": f"{OWNER}.orders"}],
        )
    return (
        names,
        [[place.offset for place in topic.partitions] for topic in ends.topics],
        [[place.committed_offset for place in topic.partitions] for topic in offsets.topics],
        sorted(group.group_id for group in groups.groups),
        sorted((one.name, one.value) for one in configs.results[0].configs),
    )


def sign_in(link: Link) -> None:
    asked(link, SaslHandshakeRequest(mechanism="SCRAM-SHA-256"), 1, SaslHandshakeResponse)
    client = scram.ScramClient(scram.SHA_256, ASKING, SECRET, nonce="of-alpha")
    first = asked(
        link, SaslAuthenticateRequest(auth_bytes=client.first()), 2, SaslAuthenticateResponse
    )
    assert isinstance(first, SaslAuthenticateResponse)
    proof = client.prove(client.challenge(bytes(first.auth_bytes)).run())
    asked(link, SaslAuthenticateRequest(auth_bytes=proof), 2, SaslAuthenticateResponse)


def of(owner: str, value: Any) -> Any:
    """The same question, of what belongs to somebody."""
    if isinstance(value, str):
        return f"{owner}.{value.removeprefix(PREFIX)}" if value.startswith(PREFIX) else value
    if isinstance(value, list):
        return [of(owner, one) for one in value]
    if isinstance(value, dict):
        return {key: of(owner, one) for key, one in value.items()}
    return value


def told(link: Link, question: Question, version: int, owner: str, ids: Ids) -> Any:
    request = request_of(
        question._replace(fields=lambda given: of(owner, question.fields(given))), ids
    )
    came = drive(link.ask(request, version, response_of(type(request)), PATIENCE_S))
    if isinstance(came, str):
        sign_in(link)
        return came
    return anonymous(came, owner)


def anonymous(came: Message, owner: str) -> Any:
    """Without the owner's name, times, and the ids that producers are given one after another."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {
                key: plain(one)
                for key, one in value.items()
                if key not in ("throttle_time_ms", "error_message", "producer_id")
            }
        if isinstance(value, list):
            return [plain(one) for one in value]
        if isinstance(value, str):
            return value.replace(f"{owner}.", "…")
        return value

    return plain(to_builtins(came, builtin_types=(bytes,)))


def test_no_api_tells_a_tenant_what_another_has_or_lets_it_change_that(shared: Secured) -> None:
    ids = furnish(shared)
    before = possessions(shared)
    unknown = dict.fromkeys(ids, NO_SUCH_ID)
    differences = []
    served = versions_of(shared.address)
    with closing(Link(shared.address, ASKING)) as link:
        sign_in(link)
        for question in QUESTIONS:
            if question.at_controller:
                continue
            versions = [
                version
                for version in served.get(messages(question.api)[0].API_KEY, ())
                if question.versions is None or version in question.versions
            ]
            for version in {*versions[:1], *versions[-1:]}:
                of_another = told(link, question, version, OWNER, unknown)
                of_nobody = told(link, question, version, NOBODY, unknown)
                if of_another != of_nobody:
                    differences.append((question.name, version, of_another, of_nobody))
                by_id = repr(told(link, question, version, NOBODY, ids))
                if f"{OWNER}." in by_id or HELD.decode() in by_id:
                    differences.append((question.name, version, by_id, "by id"))
    assert differences == []
    assert possessions(shared) == before


def test_a_tenant_lists_its_own_and_no_more(shared: Secured) -> None:
    with tenant(shared, ASKING) as own:
        assert create_topic(own, f"{ASKING}.events").error_code == ErrorCode.none
        topics = own.ask("metadata", 8, topics=None).topics
        assert {topic.name.partition(".")[0] for topic in topics} == {ASKING}
        groups = own.ask("list_groups", 4).groups
        assert all(group.group_id.startswith(f"{ASKING}.") for group in groups)


def test_the_password_of_a_tenant_is_kept_nowhere(shared: Secured) -> None:
    home: Path = shared.process.home.path
    for file in home.rglob("*"):
        if file.is_file():
            assert SECRET.encode() not in file.read_bytes(), file


RATE, WRITING_S = 200_000, 21.5
"""Two windows of a quota: a window's worth goes out at once whenever the window is empty."""


class Working(Thread):
    """A tenant's own work, by librdkafka: transactions into a topic, a group that reads them."""

    def __init__(self, secured: Secured, name: str, other: str) -> None:
        super().__init__(daemon=True)
        self._config: dict[str, Any] = {
            "bootstrap.servers": secured.address,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "SCRAM-SHA-256",
            "sasl.username": name,
            "sasl.password": SECRET,
            "client.id": "worker",  # of both: quotas are the users'
        }
        self.name, self._other = name, other
        self.written = 0
        self.read: set[bytes] = set()
        self.refused: list[int] = []
        self.start()

    def run(self) -> None:
        topic = f"{self.name}.work"
        admin = AdminClient(self._config)
        admin.create_topics([NewTopic(topic, 2, 1)])[topic].result(30)
        self._write(topic)
        self._read(topic)
        self._pry()

    def _write(self, topic: str) -> None:
        own = {"transactional.id": f"{self.name}.writer", "batch.size": 5_000}
        producer = Producer(self._config | own | {"max.in.flight.requests.per.connection": 1})
        producer.init_transactions(30)
        deadline = time.monotonic() + WRITING_S
        while time.monotonic() < deadline:
            producer.begin_transaction()
            for _ in range(4):
                producer.produce(topic, self.name.encode() * 1000)
            producer.commit_transaction(60)
            self.written += 4 * len(self.name) * 1000
        self.seconds = time.monotonic() - deadline + WRITING_S

    def _read(self, topic: str) -> None:
        group = {"group.id": f"{self.name}.readers", "auto.offset.reset": "earliest"}
        consumer = Consumer(self._config | group)
        consumer.subscribe([topic])
        for message in consumer.consume(20, 30):
            self.read.add(message.value() or b"")
        consumer.close()

    def _pry(self) -> None:
        """Into the other's."""
        producer = Producer(self._config)
        producer.produce(
            f"{self._other}.work",
            b"x",
            on_delivery=lambda error, _: self.refused.append(error.code() if error else 0),
        )
        producer.flush(30)


@pytest.mark.long
def test_two_tenants_work_side_by_side_and_each_keeps_to_its_bytes(
    broker_kind: Kind, tmp_path: Path
) -> None:
    names = ("acme", "blue")
    with running_secured(broker_kind, tmp_path) as secured:
        tool = Tool(secured.process.bootstrap)
        for name in names:
            made = ("--bytes", f"{RATE}B/s", "--mechanism", "SCRAM-SHA-256")
            tool("tenant", "create", name, *made, stdin=f"{SECRET}\n")
        both = [Working(secured, one, other) for one, other in (names, names[::-1])]
        for one in both:
            one.join(180)
            assert 0.9 < one.written / (RATE * one.seconds) < 1.1
            assert one.read == {one.name.encode() * 1000}
            assert one.refused == [KafkaError.TOPIC_AUTHORIZATION_FAILED]
