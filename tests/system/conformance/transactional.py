"""A producer of transactions that sends what a test says.

Clients of version 2 (Produce 12, TxnOffsetCommit 5, EndTxn 5) get a new epoch with each end and
add partitions by writing to them; those of version 1 name them first.
"""

import time
import uuid
from collections.abc import Callable
from typing import Any

from kio.schema.errors import ErrorCode

from support.batches import batch
from support.confluent import wait_until
from support.wire import Connection

TRANSACTIONAL = 0x10
ZSTD = 0x04
TRANSACTION = 1  # FindCoordinator's key type
AGAIN = {
    ErrorCode.concurrent_transactions,
    ErrorCode.coordinator_load_in_progress,
    ErrorCode.coordinator_not_available,
    ErrorCode.not_coordinator,
    ErrorCode.not_enough_replicas,
}
OLD, NEW = 4, 5  # versions of EndTxn


class Transactional:
    """A producer that sends what a test says, epoch by epoch."""

    def __init__(self, connection: Connection, topic: Any) -> None:
        self.connection = connection
        self.topic = topic
        self.name = f"txn-{uuid.uuid4().hex[:10]}"
        self.id, self.epoch = -1, -1

    def find(self) -> None:
        def found() -> bool:
            reply = self.connection.ask("find_coordinator", 3, key=self.name, key_type=TRANSACTION)
            return bool(reply.error_code == ErrorCode.none)

        wait_until(found)

    def init(self, *, timeout_ms: int = 60_000, **known: int) -> Any:
        """Until it is settled."""
        return self.settled(lambda: self.init_once(timeout_ms=timeout_ms, **known))

    def init_once(self, *, timeout_ms: int = 60_000, version: int = 5, **known: int) -> Any:
        reply = self.connection.ask(
            "init_producer_id",
            version,
            transactional_id=self.name,
            transaction_timeout=timeout_ms,
            **known,
        )
        if reply.error_code == ErrorCode.none:
            self.id, self.epoch = reply.producer_id, reply.producer_epoch
        return reply

    def add(self, partition: int = 0) -> Any:
        """Version 1 names its partitions."""

        def once() -> Any:
            place = {"name": self.topic.name, "partitions": [partition]}
            reply = self.connection.ask(
                "add_partitions_to_txn",
                3,
                v3_and_below_transactional_id=self.name,
                v3_and_below_producer_id=self.id,
                v3_and_below_producer_epoch=self.epoch,
                v3_and_below_topics=[place],
            )
            found = reply.results_by_topic_v3_and_below[0].results_by_partition[0]
            return Told(found.partition_error_code)

        return self.settled(once)

    def write(
        self,
        *,
        version: int = 12,
        epoch: int | None = None,
        sequence: int = 0,
        partition: int = 0,
        again: bool = True,
    ) -> Any:
        records = batch(
            [b"v"],
            attributes=TRANSACTIONAL,
            producer_id=self.id,
            producer_epoch=self.epoch if epoch is None else epoch,
            sequence=sequence,
        )

        def once() -> Any:
            return self.produce(records, version, partition)

        return self.settled(once) if again else once()

    def batches(self, *places: tuple[int, int]) -> dict[str, Any]:
        """A request with one batch for each partition and sequence."""
        data = [
            {
                "index": partition,
                "records": batch(
                    [b"v"],
                    attributes=TRANSACTIONAL,
                    producer_id=self.id,
                    producer_epoch=self.epoch,
                    sequence=sequence,
                ),
            }
            for partition, sequence in places
        ]
        return {
            "transactional_id": self.name,
            "acks": -1,
            "timeout": 5_000,
            "topic_data": [{"name": self.topic.name, "partition_data": data}],
        }

    def produce(self, records: bytes, version: int, partition: int = 0) -> Any:
        reply = self.connection.ask(
            "produce",
            version,
            transactional_id=self.name,
            acks=-1,
            timeout=5_000,
            topic_data=[
                {
                    "name": self.topic.name,
                    "partition_data": [{"index": partition, "records": records}],
                }
            ],
        )
        return reply.responses[0].partition_responses[0]

    def end(
        self, commit: bool, *, version: int = NEW, epoch: int | None = None, again: bool = True
    ) -> Any:
        asked = self.epoch if epoch is None else epoch

        def once() -> Any:
            return self.connection.ask(
                "end_txn",
                version,
                transactional_id=self.name,
                producer_id=self.id,
                producer_epoch=asked,
                committed=commit,
            )

        reply = self.settled(once) if again else once()
        if reply.error_code == ErrorCode.none and version >= NEW and epoch is None:
            self.id, self.epoch = reply.producer_id, reply.producer_epoch
        return reply

    def ended(self, commit: bool, *, version: int = NEW) -> None:
        """One transaction from its first record to its last marker."""
        if version < NEW:
            assert self.add().error_code == ErrorCode.none
        written = self.write(version=12 if version >= NEW else 11)
        assert written.error_code == ErrorCode.none
        assert self.end(commit, version=version).error_code == ErrorCode.none
        self.await_state("CompleteCommit" if commit else "CompleteAbort")

    def await_state(self, *names: str) -> None:
        def is_there() -> bool:
            reply = self.connection.ask("describe_transactions", 0, transactional_ids=[self.name])
            return reply.transaction_states[0].transaction_state in names

        wait_until(is_there)

    @staticmethod
    def settled(once: Callable[[], Any]) -> Any:
        deadline = time.monotonic() + 10
        while True:
            reply = once()
            if reply.error_code not in AGAIN or time.monotonic() > deadline:
                return reply
            time.sleep(0.005)


class Told:
    """An answer of which only the code counts."""

    def __init__(self, error_code: ErrorCode) -> None:
        self.error_code = error_code
