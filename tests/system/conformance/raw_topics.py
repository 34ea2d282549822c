"""A topic, written and read request by request."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kio.schema.errors import ErrorCode

from support.batches import batch
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


MakeRawTopic = Callable[..., RawTopic]
