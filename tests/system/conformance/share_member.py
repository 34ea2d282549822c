"""A member of a share group, request by request, and what its replies say."""

import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from kio.schema.errors import ErrorCode

from support.batches import batch
from support.confluent import wait_until
from support.wire import Connection
from system.conformance.raw_topics import RawTopic

SECONDS_MAX = 20
GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
BATCHES, RECORDS = 0, 1
Taken = dict[int, list[tuple[int, int, int]]]
RETRIABLE = (
    ErrorCode.not_coordinator,
    ErrorCode.coordinator_load_in_progress,
    ErrorCode.coordinator_not_available,
)


class Member:
    """Of a share group, over one connection: epochs are its own affair, unless told."""

    def __init__(self, bootstrap: str, group: str, topic: RawTopic) -> None:
        self.connection = Connection(bootstrap, timeout=SECONDS_MAX)
        self.group = group
        self.topic = topic
        self.id = str(uuid.uuid4())
        self.member_epoch = 0
        self.session_epoch = 0

    def find_coordinator(self) -> None:
        """The first who asks has the coordinator's topic made."""
        deadline = time.monotonic() + SECONDS_MAX
        while time.monotonic() < deadline:
            reply = self.connection.ask(
                "find_coordinator", 4, key_type=0, coordinator_keys=[self.group]
            )
            if reply.coordinators[0].error_code == ErrorCode.none:
                return
            time.sleep(0.05)
        raise AssertionError("no coordinator")

    def beat(self, epoch: int | None = None, topics: list[str] | None = None) -> Any:
        epoch = self.member_epoch if epoch is None else epoch
        if epoch == 0 and topics is None:
            topics = [self.topic.name]
        deadline = time.monotonic() + SECONDS_MAX
        while True:
            reply = self.connection.ask(
                "share_group_heartbeat",
                1,
                group_id=self.group,
                member_id=self.id,
                member_epoch=epoch,
                rack_id=None,
                subscribed_topic_names=topics,
            )
            if reply.error_code not in RETRIABLE or time.monotonic() > deadline:
                return reply
            time.sleep(0.05)

    def join(self) -> set[int]:
        """The partitions it is given, once they have a state."""
        deadline = time.monotonic() + SECONDS_MAX
        while time.monotonic() < deadline:
            reply = self.beat()
            assert reply.error_code == ErrorCode.none, reply
            self.member_epoch = reply.member_epoch
            if reply.assignment is not None and reply.assignment.topic_partitions:
                return {
                    index
                    for topic in reply.assignment.topic_partitions
                    for index in topic.partitions
                }
            time.sleep(0.05)
        raise AssertionError("no partition was given to the member")

    def leave(self) -> None:
        assert self.beat(-1).error_code == ErrorCode.none
        self.member_epoch = 0

    def fetch(
        self,
        partitions: Sequence[int] = (),
        answers: dict[int, list[tuple[int, int, list[int]]]] | None = None,
        *,
        version: int = 2,
        epoch: int | None = None,
        **fields: Any,
    ) -> Any:
        wanted: dict[int, list[tuple[int, int, list[int]]]] = {index: [] for index in partitions}
        wanted |= answers or {}
        request: dict[str, Any] = {
            "max_wait": 5000,
            "min_bytes": 1,
            "max_bytes": 1 << 20,
            "max_records": 500,
            "batch_size": 500,
            **fields,
        }
        reply = self.connection.ask(
            "share_fetch",
            version,
            group_id=self.group,
            member_id=self.id,
            share_session_epoch=self.session_epoch if epoch is None else epoch,
            topics=self._topics(wanted) if wanted else [],
            forgotten_topics_data=[],
            **request,
        )
        if reply.error_code == ErrorCode.none and epoch is None:
            self.session_epoch += 1
        return reply

    def take(self, partitions: Sequence[int] = (), **fields: Any) -> Taken:
        reply = self.fetch(partitions, **fields)
        assert reply.error_code == ErrorCode.none, reply
        return taken(reply)

    def answer(
        self,
        answers: dict[int, list[tuple[int, int, list[int]]]],
        *,
        version: int = 2,
        **fields: Any,
    ) -> dict[int, ErrorCode]:
        reply = self.ask_to_acknowledge(answers, version=version, **fields)
        assert reply.error_code == ErrorCode.none, reply
        return {
            part.partition_index: part.error_code
            for topic in reply.responses
            for part in topic.partitions
        }

    def ask_to_acknowledge(
        self,
        answers: dict[int, list[tuple[int, int, list[int]]]],
        *,
        version: int = 2,
        epoch: int | None = None,
        **fields: Any,
    ) -> Any:
        reply = self.connection.ask(
            "share_acknowledge",
            version,
            group_id=self.group,
            member_id=self.id,
            share_session_epoch=self.session_epoch if epoch is None else epoch,
            topics=self._topics(answers),
            **fields,
        )
        if reply.error_code == ErrorCode.none and epoch is None:
            self.session_epoch += 1
        return reply

    def _topics(self, answers: dict[int, list[tuple[int, int, list[int]]]]) -> list[dict[str, Any]]:
        return [
            {
                "topic_id": self.topic.id,
                "partitions": [
                    {
                        "partition_index": index,
                        "acknowledgement_batches": [
                            {"first_offset": first, "last_offset": last, "acknowledge_types": types}
                            for first, last, types in batches
                        ],
                    }
                    for index, batches in answers.items()
                ],
            }
        ]


def taken(reply: Any) -> Taken:
    return {
        part.partition_index: [
            (one.first_offset, one.last_offset, one.delivery_count) for one in part.acquired_records
        ]
        for topic in reply.responses
        for part in topic.partitions
        if part.acquired_records
    }


def told(reply: Any) -> dict[int, tuple[ErrorCode, ErrorCode]]:
    """Errors of partitions: of what was taken, and of what was answered."""
    return {
        part.partition_index: (part.error_code, part.acknowledge_error_code)
        for topic in reply.responses
        for part in topic.partitions
    }


JoinShareGroup = Callable[..., Member]


def configure(connection: Connection, group: str, **settings: str) -> None:
    configs = [
        {"name": name.replace("_", "."), "value": value, "config_operation": 0}
        for name, value in settings.items()
    ]
    resource = {"resource_type": 32, "resource_name": group, "configs": configs}
    reply = connection.ask("incremental_alter_configs", 1, resources=[resource])
    assert reply.responses[0].error_code == ErrorCode.none
    wanted = {name.replace("_", "."): value for name, value in settings.items()}

    def is_known() -> bool:
        asked = {"resource_type": 32, "resource_name": group, "configuration_keys": list(wanted)}
        reply = connection.ask("describe_configs", 4, resources=[asked])
        return {one.name: one.value for one in reply.results[0].configs} == wanted

    wait_until(is_known)


def fill(topic: RawTopic, count: int, partition: int = 0, size: int = 10) -> None:
    """So many batches of one record each."""
    for _ in range(count):
        assert topic.produce(batch([b"v" * size]), partition).error_code == ErrorCode.none


def fill_one(topic: RawTopic, count: int, partition: int = 0) -> None:
    """One batch of so many records."""
    records = batch([b"%d" % number for number in range(count)])
    assert topic.produce(records, partition).error_code == ErrorCode.none
