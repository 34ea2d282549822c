"""A producer that never rests, and the proof that nothing it was promised is missing."""

import itertools
import threading
from collections.abc import Callable, Mapping

from confluent_kafka import KafkaError, Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from support.clusters import Cluster
from support.confluent import SECONDS_MAX, read, wait_until

QUIET = {"log_level": 0}
HASTY = {"socket.timeout.ms": 4_000}  # a node that hangs does not close its sockets


def create_replicated(cluster: Cluster, name: str, partitions: int = 1) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, **QUIET})
    topic = NewTopic(name, partitions, 3, config={"min.insync.replicas": "2"})
    admin.create_topics([topic])[name].result(SECONDS_MAX)
    for index in range(partitions):
        cluster.await_in_sync(name, [1, 2, 3], index)


class Load(threading.Thread):
    """Numbers from an idempotent producer until told to stop; which were acknowledged."""

    def __init__(self, bootstrap: str, topic: str, options: Mapping[str, object] = HASTY) -> None:
        super().__init__(daemon=True)
        self.topic = topic
        self.acknowledged: list[int] = []
        self.failed: list[KafkaError] = []
        self.done = threading.Event()
        self.producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "acks": "all",
                "linger.ms": 1,
                "delivery.timeout.ms": 120_000,
                **options,
                **QUIET,
            }
        )

    def run(self) -> None:
        for number in itertools.count():
            if self.done.wait(0.001):
                break
            self.producer.produce(self.topic, b"%d" % number, on_delivery=self.delivered)
            self.producer.poll(0)
        self.producer.flush(60)

    def delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.failed.append(error)
        else:
            value = message.value()
            assert value is not None
            self.acknowledged.append(int(value))

    def await_progress(self, seconds: float = SECONDS_MAX) -> None:
        """Something sent from now on is acknowledged."""
        known = len(self.acknowledged)
        wait_until(lambda: len(self.acknowledged) > known + 20, seconds)

    def finish(self) -> None:
        self.done.set()
        self.join(90)
        assert self.failed == []


def under_load(
    cluster: Cluster,
    topic: str,
    body: Callable[[Load], None],
    options: Mapping[str, object] = HASTY,
) -> None:
    load = Load(cluster.bootstrap, topic, options)
    load.start()
    load.await_progress()
    body(load)
    load.finish()
    count = len(load.acknowledged)
    values = [int(each.value() or b"-1") for each in read(cluster.bootstrap, topic, count)]
    assert values == list(range(count)), "lost, repeated or out of order"
