"""What comes out of a running application, seen from its topics: latency, and dead letters.

Spark tells neither. Latency is how old the newest record behind a row is when the row can be read:
a sample of each topic about once a second, so that watching costs next to nothing.
"""

import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping
from statistics import median
from typing import TYPE_CHECKING, Any

from ottla.pipelines.api.definitions import Application
from ottla.pipelines.engine.decoding import TIMESTAMP_HEADER

if TYPE_CHECKING:
    from confluent_kafka import Consumer

EVERY_S = 1.0
SAMPLES = 15  # of which the median is shown


class Watcher:
    """Samples topics in a thread of its own, from `start()` to `close()`."""

    def __init__(
        self,
        application: Application,
        partitions: Mapping[str, int],
        outputs: Iterable[str],
        dead_letters: Iterable[str],
    ) -> None:
        self._application = application
        self._outputs = {topic: partitions.get(topic, 1) for topic in outputs}
        self._dead = {topic: partitions.get(topic, 1) for topic in dead_letters}
        self._ages_ms: dict[str, deque[float]] = {t: deque(maxlen=SAMPLES) for t in self._outputs}
        self._buried: dict[str, int] = dict.fromkeys(self._dead, 0)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(10)

    def latencies_ms(self) -> dict[str, float]:
        """The median of the last samples, by topic."""
        return {topic: median(ages) for topic, ages in self._ages_ms.items() if ages}

    def dead_letters(self) -> dict[str, int]:
        """How many were written since the start, by topic."""
        return dict(self._buried)

    def _run(self) -> None:
        from confluent_kafka import KafkaException

        samples, letters = self._consumer(), self._consumer()
        try:
            letters.assign(_ends(self._dead))
            while not self._stopping.wait(EVERY_S):
                try:
                    self._sample(samples)
                    self._count(letters)
                except KafkaException:
                    continue  # a broker that is away may be back at the next turn
        finally:
            samples.close()
            letters.close()

    def _sample(self, consumer: "Consumer") -> None:
        """The age of the next record of each topic, as far as one comes soon."""
        waited_for = set(self._outputs)
        until = time.monotonic() + EVERY_S
        consumer.assign(_ends(self._outputs))
        while waited_for and time.monotonic() < until and not self._stopping.is_set():
            message = consumer.poll(0.1)
            if message is None or message.error() or message.topic() not in waited_for:
                continue
            waited_for.discard(message.topic() or "")
            self._ages_ms[message.topic() or ""].append(time.time() * 1000 - event_time_ms(message))
        consumer.unassign()

    def _count(self, consumer: "Consumer") -> None:
        while (message := consumer.poll(0)) is not None:
            if not message.error():
                self._buried[message.topic() or ""] += 1

    def _consumer(self) -> "Consumer":
        return self._application.connection.consumer(
            {
                "group.id": f"{self._application.name}-watcher",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "queued.min.messages": 1,
                "fetch.message.max.bytes": 65_536,
            }
        )


def event_time_ms(message: Any) -> int:
    """The time of the newest record behind a row: in a header where the sink sets no timestamp."""
    for name, value in message.headers() or ():
        if name == TIMESTAMP_HEADER:
            return int(value)
    when: int = message.timestamp()[1]
    return when


def _ends(topics: Mapping[str, int]) -> list[Any]:
    from confluent_kafka import OFFSET_END, TopicPartition

    return [
        TopicPartition(topic, partition, OFFSET_END)
        for topic, count in topics.items()
        for partition in range(count)
    ]
