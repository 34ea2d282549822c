"""What is under way while a node dies: sends, commits of a group, transactions.

Each load notes when something was acknowledged, and what was; `failover` asks for the silence.
"""

import itertools
import threading
import time
from abc import ABC, abstractmethod

from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)

from bench.reach import Reach

TOPIC = "failover"
GROUP = "failover"
TRANSACTIONAL_ID = "failover"
QUIET = {"log_level": 0}
RECORDS_PER_TRANSACTION = 5


class Load(threading.Thread, ABC):
    """Numbers from `first` on until told to stop. It may outlive a kill."""

    def __init__(self, reach: Reach, first: int) -> None:
        super().__init__(daemon=True)
        self.reach = reach
        self.next = first
        self.moments: list[float] = []
        """When something was acknowledged."""
        self.acknowledged: list[int] = []
        self.consumed: list[int] = []
        """By a group, where the load has one."""
        self.failures: list[str] = []
        self.done = threading.Event()

    @abstractmethod
    def run(self) -> None: ...

    def has_begun(self) -> bool:
        return bool(self.moments)

    def gap_after(self, moment: float, settle_s: float, most_s: float) -> float:
        """The longest silence from `moment` on, once acknowledgements flow again."""
        while time.perf_counter() < moment + most_s:
            times = [at for at in self.moments[-5000:] if at >= moment]
            if times and time.perf_counter() - times[0] > settle_s:
                pairs = itertools.pairwise([moment, *times])
                return max(later - earlier for earlier, later in pairs)
            time.sleep(0.05)
        return most_s

    def finish(self) -> None:
        self.done.set()
        self.join(150)


class Sends(Load):
    """An idempotent producer with acks=all, a record every millisecond."""

    def __init__(self, reach: Reach, first: int) -> None:
        super().__init__(reach, first)
        self.producer = Producer(
            {
                **reach.config(),
                "acks": "all",
                "enable.idempotence": True,
                "linger.ms": 1,
                "delivery.timeout.ms": 120_000,
                **QUIET,
            }
        )

    def run(self) -> None:
        while not self.done.is_set():
            self.producer.produce(TOPIC, b"%d" % self.next, on_delivery=self._delivered)
            self.next += 1
            self.producer.poll(0.001)
        self.producer.flush(120)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.failures.append(str(error))
        else:
            self.moments.append(time.perf_counter())
            self.acknowledged.append(int(message.value() or b"-1"))


class Commits(Load):
    """A member of a group that reads what is sent and commits as it goes."""

    def __init__(self, reach: Reach, first: int) -> None:
        super().__init__(reach, first)
        self._sends = Sends(reach, first)
        self._consumer = Consumer(
            {
                **reach.config(),
                "group.id": GROUP,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                **QUIET,
            }
        )
        self._consumer.subscribe([TOPIC])

    def run(self) -> None:
        self._sends.start()
        while not self.done.is_set():
            self._read_and_commit()
        self._sends.finish()
        missing = len(self._sends.acknowledged)
        deadline = time.perf_counter() + 60
        while len(self.consumed) < missing and time.perf_counter() < deadline:
            self._read_and_commit()
        self._consumer.close()
        self.next, self.acknowledged = self._sends.next, self._sends.acknowledged
        self.failures += self._sends.failures

    def _read_and_commit(self) -> None:
        messages = [one for one in self._consumer.consume(50, 0.05) if one.error() is None]
        if not messages:
            return
        self.consumed += [int(one.value() or b"-1") for one in messages]
        last = messages[-1]
        place = TopicPartition(TOPIC, last.partition() or 0, (last.offset() or 0) + 1)
        try:
            self._consumer.commit(offsets=[place], asynchronous=False)
            self.moments.append(time.perf_counter())
        except KafkaException as error:
            self.failures.append(str(error.args[0]))


class Transactions(Load):
    """One transaction after another."""

    def __init__(self, reach: Reach, first: int) -> None:
        super().__init__(reach, first)
        self._producer = Producer(
            {
                **reach.config(),
                "transactional.id": TRANSACTIONAL_ID,
                "linger.ms": 1,
                **QUIET,
            }
        )

    def run(self) -> None:
        self._producer.init_transactions(60)
        while not self.done.is_set():
            values = list(range(self.next, self.next + RECORDS_PER_TRANSACTION))
            self.next += RECORDS_PER_TRANSACTION
            try:
                self._producer.begin_transaction()
                for value in values:
                    self._producer.produce(TOPIC, b"%d" % value)
                self._producer.commit_transaction(60)
            except KafkaException as error:
                self.failures.append(str(error.args[0]))
                self._producer.abort_transaction(60)
                continue
            self.moments.append(time.perf_counter())
            self.acknowledged += values
