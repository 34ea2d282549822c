"""A member of a share group that speaks to brokers in bytes: no virtual machine is needed."""

import time
import uuid
from collections.abc import Iterator
from typing import Any, NamedTuple

from kio.schema.errors import ErrorCode

from support.wire import Connection

GROUP_RESOURCE, SET, ACCEPT = 32, 0, 1
SECONDS_MAX = 30
LOADING = (
    ErrorCode.not_coordinator,
    ErrorCode.coordinator_load_in_progress,
    ErrorCode.coordinator_not_available,
)


class Taken(NamedTuple):
    partition: int
    offset: int
    deliveries: int


def start_at_the_beginning(bootstrap: str, group: str) -> None:
    """A new share group would read only what comes after it."""
    earliest = {"name": "share.auto.offset.reset", "value": "earliest", "config_operation": SET}
    resource = {"resource_type": GROUP_RESOURCE, "resource_name": group, "configs": [earliest]}
    with Connection(bootstrap) as connection:
        reply = connection.ask("incremental_alter_configs", 1, resources=[resource])
    assert reply.responses[0].error_code == ErrorCode.none


class ShareMember:
    """Knows brokers by their addresses only: they may be replaced under it."""

    def __init__(self, group: str, topic: str) -> None:
        self.group = group
        self.topic = topic
        self.id = str(uuid.uuid4())
        self.epoch = 0
        self.has_partitions = False

    def beat(self, bootstrap: str) -> ErrorCode:
        """One heartbeat; the first one joins. A coordinator that loads is waited for."""
        deadline = time.monotonic() + SECONDS_MAX
        while (code := self._beat_once(bootstrap)) in LOADING and time.monotonic() < deadline:
            time.sleep(0.05)
        return code

    def _beat_once(self, bootstrap: str) -> ErrorCode:
        topics = [self.topic] if self.epoch == 0 else None
        with Connection(self._coordinator(bootstrap)) as connection:
            reply = connection.ask(
                "share_group_heartbeat",
                1,
                group_id=self.group,
                member_id=self.id,
                member_epoch=self.epoch,
                rack_id=None,
                subscribed_topic_names=topics,
            )
        if reply.error_code == ErrorCode.none:
            self.epoch = reply.member_epoch
            if reply.assignment is not None:
                self.has_partitions = bool(reply.assignment.topic_partitions)
        return ErrorCode(reply.error_code)

    def leave(self, bootstrap: str) -> None:
        self.epoch = -1
        assert self.beat(bootstrap) == ErrorCode.none
        self.epoch = 0
        self.has_partitions = False

    def ask_coordinator(self, bootstrap: str, api: str, version: int, **fields: Any) -> Any:
        with Connection(self._coordinator(bootstrap)) as connection:
            return connection.ask(api, version, **fields)

    def take(self, bootstrap: str, count: int) -> list[Taken]:
        """Take so many records, and accept them."""
        taken: list[Taken] = []
        deadline = time.monotonic() + SECONDS_MAX
        while len(taken) < count:
            assert time.monotonic() < deadline, f"{len(taken)} of {count} records"
            assert self.beat(bootstrap) == ErrorCode.none
            if not self.has_partitions:
                time.sleep(0.05)  # their states are not made yet
                continue
            topic_id, leaders = self._leaders(bootstrap)
            for address, partitions in leaders.items():
                with Connection(address) as connection:
                    taken += self._take_there(connection, topic_id, partitions)
        return sorted(taken)

    def _take_there(
        self, connection: Connection, topic_id: uuid.UUID, partitions: list[int]
    ) -> Iterator[Taken]:
        wanted = [{"partition_index": index, "acknowledgement_batches": []} for index in partitions]
        reply = connection.ask(
            "share_fetch",
            1,
            **self._session(0),
            max_wait=100,
            min_bytes=1,
            max_bytes=1 << 20,
            max_records=1000,
            batch_size=1000,
            topics=[{"topic_id": topic_id, "partitions": wanted}],
            forgotten_topics_data=[],
        )
        found = [part for topic in reply.responses for part in topic.partitions]
        answers = [
            {
                "partition_index": part.partition_index,
                "acknowledgement_batches": [
                    {
                        "first_offset": one.first_offset,
                        "last_offset": one.last_offset,
                        "acknowledge_types": [ACCEPT],
                    }
                    for one in part.acquired_records
                ],
            }
            for part in found
            if part.acquired_records
        ]
        topics = [{"topic_id": topic_id, "partitions": answers}]
        told = connection.ask("share_acknowledge", 1, **self._session(-1), topics=topics)
        assert told.error_code == ErrorCode.none, told
        refused = [part for topic in told.responses for part in topic.partitions if part.error_code]
        assert not refused, refused
        for part in found:
            for one in part.acquired_records:
                for offset in range(one.first_offset, one.last_offset + 1):
                    yield Taken(part.partition_index, offset, one.delivery_count)

    def _session(self, epoch: int) -> dict[str, Any]:
        return {"group_id": self.group, "member_id": self.id, "share_session_epoch": epoch}

    def _coordinator(self, bootstrap: str) -> str:
        deadline = time.monotonic() + SECONDS_MAX
        while True:
            with Connection(bootstrap) as connection:
                reply = connection.ask(
                    "find_coordinator", 4, key_type=0, coordinator_keys=[self.group]
                )
            found = reply.coordinators[0]
            if found.error_code == ErrorCode.none:
                return f"{found.host}:{found.port}"
            assert time.monotonic() < deadline, found
            time.sleep(0.05)

    def _leaders(self, bootstrap: str) -> tuple[uuid.UUID, dict[str, list[int]]]:
        with Connection(bootstrap) as connection:
            reply = connection.ask("metadata", 12, topics=[{"topic_id": None, "name": self.topic}])
        addresses = {one.node_id: f"{one.host}:{one.port}" for one in reply.brokers}
        (topic,) = reply.topics
        led: dict[str, list[int]] = {}
        for part in topic.partitions:
            if part.leader_id in addresses:
                led.setdefault(addresses[part.leader_id], []).append(part.partition_index)
        return topic.topic_id, led
