"""A raw connection and topics made through it."""

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from kio.schema.errors import ErrorCode

from support.batches import batch
from support.confluent import wait_until
from support.wire import Connection


@dataclass(frozen=True)
class RawTopic:
    """A topic with the means to write to and read from its partition 0."""

    name: str
    id: uuid.UUID
    connection: Connection

    def produce(self, records: bytes, partition: int = 0, acks: int = -1, version: int = 12) -> Any:
        """The partition's reply to a Produce request."""
        place = {"index": partition, "records": records}
        named = {"name": self.name} if version < 13 else {"topic_id": self.id}
        reply = self.connection.ask(
            "produce",
            version,
            acks=acks,
            timeout=5000,
            topic_data=[{**named, "partition_data": [place]}],
        )
        return reply.responses[0].partition_responses[0]

    def fill(self, *values: bytes) -> None:
        """One batch per value."""
        for value in values:
            assert self.produce(batch([value])).error_code == ErrorCode.none

    def fetch(self, version: int = 17, partition: int = 0, **fields: Any) -> Any:
        """The partition's part of the reply to a full Fetch."""
        of_request = {"max_wait": 0, "min_bytes": 1, "max_bytes": 1 << 20, "isolation_level": 0}
        for name in of_request.keys() & fields.keys():
            of_request[name] = fields.pop(name)
        place = {"partition": partition, "fetch_offset": 0, "partition_max_bytes": 1 << 20}
        named = {"topic": self.name} if version < 13 else {"topic_id": self.id}
        reply = self.connection.ask(
            "fetch", version, **of_request, topics=[{**named, "partitions": [{**place, **fields}]}]
        )
        if version >= 7:
            assert reply.error_code == ErrorCode.none
        return reply.responses[0].partitions[0]


@pytest.fixture
def connection(bootstrap: str) -> Iterator[Connection]:
    with Connection(bootstrap) as opened:
        yield opened


MakeRawTopic = Callable[..., RawTopic]


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
