"""kill -9 under the load of an idempotent producer, again and again (`make chaos`: 50 times)."""

import itertools
import threading
import time

import pytest
from confluent_kafka import KafkaError, Message, Producer

from support.brokers import BrokerProcess, Kind
from support.confluent import create_topic, read
from support.homes import Home

VALUE_SIZE = 1000
BATCH_BYTES = 16_384
LOAD_SECONDS = 0.7  # between two kills: far less than 64 MB unflushed


class Load(threading.Thread):
    """Produces numbers until told to stop, and remembers which were acknowledged."""

    def __init__(self, bootstrap: str, topic: str) -> None:
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
                "batch.size": BATCH_BYTES,
                "queue.buffering.max.messages": 5000,
                "message.timeout.ms": 0,
                "reconnect.backoff.ms": 10,
                "reconnect.backoff.max.ms": 50,
                "retry.backoff.ms": 20,
                "log_level": 0,
            }
        )

    def run(self) -> None:
        for number in itertools.count():
            if self.done.is_set():
                break
            self.send(number)
        self.producer.flush(60)

    def send(self, number: int) -> None:
        while True:
            try:
                value = b"%d".ljust(VALUE_SIZE) % number
                self.producer.produce(self.topic, value, partition=0, on_delivery=self.delivered)
                self.producer.poll(0)
                return
            except BufferError:
                self.producer.poll(0.01)

    def delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is None:
            self.acknowledged.append(int(message.value() or b""))
        else:
            self.failed.append(error)

    def wait_for_progress(self, seconds: float = 30) -> None:
        """Until something is acknowledged that was not before."""
        before, deadline = len(self.acknowledged), time.monotonic() + seconds
        while len(self.acknowledged) == before:
            assert not self.failed, self.failed[0]
            assert time.monotonic() < deadline, "nothing is acknowledged any more"
            time.sleep(0.01)


@pytest.mark.timeout(900)
def test_nothing_acknowledged_is_lost_and_nothing_comes_twice(
    home: Home, broker_kind: Kind, pytestconfig: pytest.Config
) -> None:
    broker = BrokerProcess(broker_kind, home)
    try:
        empty_start = broker.start()
        create_topic(broker.bootstrap, "load")
        load = Load(broker.bootstrap, "load")
        load.start()
        starts = []
        for _ in range(pytestconfig.getoption("--kills")):
            load.wait_for_progress()
            time.sleep(LOAD_SECONDS)
            broker.kill9()
            starts.append(broker.start())
        load.wait_for_progress()
        load.done.set()
        load.join()
        stored = [
            int(m.value() or b"") for m in read(broker.bootstrap, "load", len(load.acknowledged))
        ]
    finally:
        broker.discard()
    assert not load.failed, load.failed[0]
    assert stored == load.acknowledged == list(range(len(stored)))
    print(f"started in {empty_start:.2f} s, after a kill in {max(starts):.2f} s at most")
