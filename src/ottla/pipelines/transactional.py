"""Writing a task's rows exactly once. Runs inside Spark's Python workers.

The number of the last written batch is a group offset, committed in the same transaction as the
rows: a batch that is replayed after a crash finds its own number and writes nothing. Both the
transactional id and the group are named after the checkpoint's query and the task's partition, so
that a second attempt fences the first, and a fresh checkpoint starts with a clean slate.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_SCHEMA = "written bigint"
TIMEOUT_S = 60.0
# Producing a row may fill the local queue; then deliveries are awaited for this long at a time.
QUEUE_WAIT_S = 0.5


@dataclass(frozen=True, slots=True)
class Target:
    """Where a stage writes. `marker` is the topic whose partition 0 the marker is committed for."""

    bootstrap: str
    marker: str
    client: Mapping[str, str]


Writer = Callable[[Iterator["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]


def writer(target: Target, batch_id: int) -> Writer:
    """The function for `mapInArrow`: writes all rows it is given, answers how many."""

    def write(batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        import pyarrow as pa

        written = 0
        first = next((batch for batch in batches if batch.num_rows), None)
        if first is not None:
            written = _write_once(target, batch_id, _chain(first, batches))
        yield pa.RecordBatch.from_pydict({"written": pa.array([written], pa.int64())})

    return write


def _chain(first: "pa.RecordBatch", rest: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
    yield first
    yield from rest


def _write_once(target: Target, batch_id: int, batches: "Iterator[pa.RecordBatch]") -> int:
    from confluent_kafka import Consumer, Producer, TopicPartition
    from pyspark import TaskContext

    task = TaskContext.get()
    assert task is not None
    name = f"{task.getLocalProperty('sql.streaming.queryId')}.{task.partitionId()}"
    producer = Producer(_producer_settings(target, name))
    producer.init_transactions(TIMEOUT_S)  # fences an older attempt, and waits out its commit
    consumer = Consumer(_consumer_settings(target, name))
    try:
        place = TopicPartition(target.marker, 0)
        done = consumer.committed([place], timeout=TIMEOUT_S)[0].offset
        if done >= batch_id:
            for _ in batches:  # state upstream is only committed when all rows were taken
                pass
            return 0
        producer.begin_transaction()
        marker = TopicPartition(target.marker, 0, batch_id, "last batch of an Ottla pipeline")
        producer.send_offsets_to_transaction(
            [marker], consumer.consumer_group_metadata(), TIMEOUT_S
        )
        written = sum(_produce(producer, batch) for batch in batches)
        producer.commit_transaction(TIMEOUT_S)
        return written
    finally:
        consumer.close()


def _produce(producer: Any, batch: "pa.RecordBatch") -> int:
    times = batch.column("time").to_pylist()
    columns = (batch.column(n).to_pylist() for n in ("topic", "key", "value", "partition"))
    headers = batch.column("headers").to_pylist()
    for topic, key, value, partition, time, extra in zip(*columns, times, headers, strict=True):
        pairs = [(item["key"], item["value"]) for item in extra] if extra else None
        where = -1 if partition is None else partition
        while True:
            try:
                producer.produce(
                    topic, value, key, partition=where, timestamp=time or 0, headers=pairs
                )
                break
            except BufferError:
                producer.poll(QUEUE_WAIT_S)
    producer.poll(0)
    return len(times)


def _producer_settings(target: Target, name: str) -> dict[str, Any]:
    return {
        "bootstrap.servers": target.bootstrap,
        "transactional.id": name,
        "partitioner": "murmur2_random",  # the partition that Kafka's Java clients would choose
        "linger.ms": 5,
        "batch.size": 1_000_000,
        "queue.buffering.max.messages": 500_000,
        "queue.buffering.max.kbytes": 262_144,
        # With the default of 100 ms every transaction would wait out the one before it.
        "retry.backoff.ms": 2,
        "compression.type": "lz4",
        "log_level": 2,
        **target.client,
    }


def _consumer_settings(target: Target, name: str) -> dict[str, Any]:
    return {
        "bootstrap.servers": target.bootstrap,
        "group.id": name,
        "isolation.level": "read_committed",
        "enable.auto.commit": False,
        "retry.backoff.ms": 2,
        "log_level": 2,
        **target.client,
    }
