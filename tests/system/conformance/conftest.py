"""A raw connection and topics made through it."""

import uuid
from collections.abc import Iterator

import pytest
from kio.schema.errors import ErrorCode

from support.brokers import Kind
from support.confluent import wait_until
from support.secured import Secured, running_secured
from support.share import start_at_the_beginning
from support.wire import Connection
from system.conformance.raw_topics import MakeRawTopic, RawTopic
from system.conformance.share_member import JoinShareGroup, Member


@pytest.fixture
def connection(bootstrap: str) -> Iterator[Connection]:
    with Connection(bootstrap) as opened:
        yield opened


@pytest.fixture
def make_raw_topic(connection: Connection) -> MakeRawTopic:
    def make(partitions: int = 1, **config: str) -> RawTopic:
        name = f"raw-{uuid.uuid4().hex[:10]}"
        configs = [{"name": k.replace("_", "."), "value": v} for k, v in config.items()]
        wanted = {
            "name": name,
            "num_partitions": partitions,
            "replication_factor": 1,
            "configs": configs,
        }
        reply = connection.ask("create_topics", 7, topics=[wanted], timeout=10_000)
        assert reply.topics[0].error_code == ErrorCode.none
        wait_until(lambda: is_led(connection, name, partitions))
        return RawTopic(name, reply.topics[0].topic_id, connection)

    return make


def is_led(connection: Connection, name: str, partitions: int) -> bool:
    """Metadata may know of a leader before that leader knows of itself, so the leader is asked."""
    places = [{"partition_index": n, "timestamp": -1} for n in range(partitions)]
    reply = connection.ask("list_offsets", 5, topics=[{"name": name, "partitions": places}])
    return all(place.error_code == ErrorCode.none for place in reply.topics[0].partitions)


@pytest.fixture
def raw_topic(make_raw_topic: MakeRawTopic) -> RawTopic:
    return make_raw_topic()


@pytest.fixture
def group(connection: Connection) -> str:
    """A group whose coordinator is up (the first one makes __consumer_offsets)."""
    name = f"raw-{uuid.uuid4().hex[:10]}"

    def found() -> bool:
        reply = connection.ask("find_coordinator", 3, key=name, key_type=0)
        if reply.error_code != ErrorCode.none:
            return False
        beat = connection.ask("heartbeat", 4, group_id=name, generation_id=1, member_id="x")
        return beat.error_code == ErrorCode.unknown_member_id

    wait_until(found)
    return name


@pytest.fixture
def join(bootstrap: str) -> Iterator[JoinShareGroup]:
    members: list[Member] = []

    def join(topic: RawTopic, group: str | None = None, *, has_joined: bool = True) -> Member:
        if group is None:
            group = f"share-{uuid.uuid4().hex[:10]}"
            start_at_the_beginning(bootstrap, group)
        member = Member(bootstrap, group, topic)
        members.append(member)
        member.find_coordinator()
        if has_joined:
            member.join()
        return member

    yield join
    for member in members:
        member.connection.socket.close()


@pytest.fixture(scope="module")
def secured(broker_kind: Kind, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    """A broker with two listeners: PLAINTEXT, where everybody is a super user and tests set things
    up, and SECURE (SASL_PLAINTEXT), where nobody is."""
    with running_secured(broker_kind, tmp_path_factory.mktemp("secured")) as secured:
        yield secured
