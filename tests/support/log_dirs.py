"""Replicas in the directories of one node: where they are, how they move."""

import time
from pathlib import Path
from typing import NamedTuple

from kio.schema.errors import ErrorCode

from support.batches import batch
from support.confluent import wait_until
from support.homes import Home
from support.wire import Connection

RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
SLOW = "20000"
BATCHES, RECORDS, SIZE = 40, 10, 1000


class Lying(NamedTuple):
    """A replica in a directory, as DescribeLogDirs tells."""

    directory: Path
    size: int
    lag: int
    is_future: bool


class TopicOnDisk:
    """One partition on a node with several directories."""

    def __init__(self, home: Home, name: str = "t") -> None:
        self.home = home
        self.name = name
        self.values: list[bytes] = []

    def create(self) -> None:
        wanted = {"name": self.name, "num_partitions": 1, "replication_factor": 1}
        with self.connect() as connection:
            connection.ask("create_topics", 7, topics=[wanted], timeout=10_000)
        wait_until(lambda: len(self.lies()) == 1 and self.is_led())

    def connect(self) -> Connection:
        return Connection(self.home.bootstrap)

    def is_led(self) -> bool:
        place = {"partition_index": 0, "timestamp": -1}
        with self.connect() as connection:
            topics = [{"name": self.name, "partitions": [place]}]
            reply = connection.ask("list_offsets", 5, replica_id=-1, topics=topics)
        return bool(reply.topics[0].partitions[0].error_code == ErrorCode.none)

    def write(self, batches: int = BATCHES) -> None:
        with self.connect() as connection:
            for _ in range(batches):
                now_ms = time.time_ns() // 1_000_000  # nothing that retention would take
                values = [f"{len(self.values) + n:06}".encode().ljust(SIZE) for n in range(RECORDS)]
                place = {"index": 0, "records": batch(values, timestamp=now_ms)}
                topic = {"name": self.name, "partition_data": [place]}
                reply = connection.ask("produce", 9, acks=-1, timeout=5000, topic_data=[topic])
                assert reply.responses[0].partition_responses[0].error_code == ErrorCode.none
                self.values += values

    def check(self) -> None:
        """Every record is there, once and in order."""
        stored, offset = b"", 0
        with self.connect() as connection:
            while offset < len(self.values):
                place = {"partition": 0, "fetch_offset": offset, "partition_max_bytes": 1 << 20}
                fields = {"max_wait": 500, "min_bytes": 1, "max_bytes": 1 << 20}
                topics = [{"topic": self.name, "partitions": [place]}]
                reply = connection.ask("fetch", 12, **fields, session_epoch=-1, topics=topics)
                part = reply.responses[0].partitions[0]
                assert part.error_code == ErrorCode.none
                assert part.records, f"nothing after {offset} of {len(self.values)}"
                stored += part.records
                offset = stored.count(b" " * (SIZE - 6))
                assert part.high_watermark == len(self.values)
        at = 0
        for value in self.values:
            at = stored.index(value, at) + len(value)

    def lies(self) -> list[Lying]:
        with self.connect() as connection:
            reply = connection.ask("describe_log_dirs", 4, topics=None)
        return [
            Lying(Path(one.log_dir), part.partition_size, part.offset_lag, part.is_future_key)
            for one in reply.results
            for topic in one.topics
            if topic.name == self.name
            for part in topic.partitions
        ]

    @property
    def place(self) -> Path:
        return next(one.directory for one in self.lies() if not one.is_future)

    def elsewhere(self) -> Path:
        present = self.place
        return next(path for path in self.home.data if path != present)

    def is_moving(self) -> bool:
        return any(one.is_future for one in self.lies())

    def is_in(self, directory: Path) -> bool:
        lies = self.lies()
        return [one.directory for one in lies] == [directory] and not lies[0].is_future

    def move(self, directory: Path | str, partition: int = 0, topic: str = "") -> ErrorCode:
        asked = {"name": topic or self.name, "partitions": [partition]}
        with self.connect() as connection:
            dirs = [{"path": str(directory), "topics": [asked]}]
            reply = connection.ask("alter_replica_log_dirs", 2, dirs=dirs)
        return ErrorCode(reply.results[0].partitions[0].error_code)

    def throttle(self, rate: str | None) -> None:
        """None: no longer."""
        operation = 1 if rate is None else 0
        config = {"name": RATE, "config_operation": operation, "value": rate}
        resource = {"resource_type": 4, "resource_name": "1", "configs": [config]}
        with self.connect() as connection:
            reply = connection.ask("incremental_alter_configs", 1, resources=[resource])
        assert reply.responses[0].error_code == ErrorCode.none


def future_directories(home: Home) -> list[Path]:
    return [path for data in home.data for path in data.glob("*-future")]
