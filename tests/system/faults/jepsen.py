"""Real nodes, real clients and faults, in the manner of Jepsen: what was done, told as a history.

    PYTHONPATH=src:tests python -m system.faults.jepsen --seconds 180

Workers send, poll and do both in transactions; meanwhile `strikes` happen. At the end all is mended
and everything is read once more. `ottla.simulation.checker` judges.
"""

import argparse
import itertools
import random
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from ottla.simulation.checker import Anomalies, Op, Outcome, Poll, Send, check
from support.clusters import Cluster, Place, cluster_of
from support.disks import small_disk
from support.namespaces import Cables, network
from system.faults.strikes import BAD_DISK, KINDS, Strikes

TOPIC = "jepsen"
PARTITIONS = 3
SEND_S_MAX = 20
QUIET = {"log_level": 0}
SETTLE_S = 60
UNREADABLE = -1
DISK_BYTES = 512 * 1024 * 1024


class Worker(threading.Thread):
    """One process of the history; every second one works in transactions."""

    def __init__(self, number: int, bootstrap: str, values: "itertools.count[int]") -> None:
        super().__init__(daemon=True)
        self.number = number
        self.ops: list[tuple[float, Op]] = []
        self.done = threading.Event()
        self._servers = bootstrap
        self._values = values
        self._rng = random.Random(number)
        self._lives = itertools.count()
        self._transactional = number % 2 == 1
        self._assigned = 0
        self._told: set[str] = set()  # errors, in the operation under way
        self._producer = self._new_producer()
        self._consumer = self._new_consumer()

    def run(self) -> None:
        while not self.done.is_set():
            op = self._transact() if self._transactional else self._act()
            self.ops.append((time.monotonic(), op._replace(told=frozenset(self._told))))
            self._told.clear()
            if self._rng.random() < 1 / 64:  # a fresh reader, from the start
                self._consumer.close()
                self._assigned += 1
                self._consumer = self._new_consumer()
            self.done.wait(0.01)
        self._consumer.close()

    # --- operations

    def _act(self) -> Op:
        if self._rng.random() < 0.5:
            return Op(self.number, (self._poll(),), Outcome.OK, self._assigned)
        sent = self._send()
        self._producer.flush(SEND_S_MAX)
        told = [each() for each in sent]
        known = all(send.offset is not None for send in told)
        return Op(self.number, tuple(told), Outcome.OK if known else Outcome.INFO, self._assigned)

    def _transact(self) -> Op:
        sent: list[Callable[[], Send]] = []
        polled: tuple[Poll, ...] = ()
        try:
            self._producer.begin_transaction()
            sent = self._send()
            polled = (self._poll(),)
            self._producer.flush(SEND_S_MAX)
            if self._rng.random() < 0.15:
                self._producer.abort_transaction(SEND_S_MAX)
                outcome = Outcome.FAIL
            else:
                outcome = self._commit()
        except KafkaException as error:
            outcome = self._give_up(error.args[0])
        return Op(self.number, (*(each() for each in sent), *polled), outcome, self._assigned)

    def _commit(self) -> Outcome:
        for _ in range(5):
            try:
                self._producer.commit_transaction(SEND_S_MAX)
                return Outcome.OK
            except KafkaException as error:
                self._told.add(error.args[0].name())
                if not error.args[0].retriable():
                    return self._give_up(error.args[0], committing=True)
        self._producer = self._new_producer()
        return Outcome.INFO

    def _give_up(self, error: KafkaError, *, committing: bool = False) -> Outcome:
        """Only a transaction that is known to be aborted has failed."""
        self._told.add(error.name())
        if error.txn_requires_abort():
            try:
                self._producer.abort_transaction(SEND_S_MAX)
                return Outcome.INFO if committing else Outcome.FAIL
            except KafkaException as refused:
                self._told.add(refused.args[0].name())
        self._producer = self._new_producer()
        return Outcome.INFO

    def _send(self) -> list[Callable[[], Send]]:
        """Begin to send one to three values; ask again later what became of them."""
        return [self._send_one() for _ in range(self._rng.randint(1, 3))]

    def _send_one(self) -> Callable[[], Send]:
        value, partition = next(self._values), self._rng.randrange(PARTITIONS)
        offsets: list[int] = []

        def delivered(error: KafkaError | None, message: Message) -> None:
            offset = message.offset()
            if error is not None:
                self._told.add(error.name())
            elif offset is not None:
                offsets.append(offset)

        self._producer.produce(TOPIC, b"%d" % value, partition=partition, on_delivery=delivered)
        return lambda: Send(str(partition), value, offsets[0] if offsets else None)

    def _poll(self) -> Poll:
        records: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        for message in self._consumer.consume(50, 0.1):
            if message.error() is None:
                records[str(message.partition())].append(place_of(message))
        return Poll({key: tuple(found) for key, found in records.items()})

    # --- clients

    def _new_producer(self) -> Producer:
        config: dict[str, object] = {
            "bootstrap.servers": self._servers,
            "enable.idempotence": True,
            "linger.ms": 1,
            "delivery.timeout.ms": SEND_S_MAX * 1000,
            "socket.timeout.ms": 4000,
            **QUIET,
        }
        if not self._transactional:
            return Producer(config)
        config["transaction.timeout.ms"] = 20_000
        while not self.done.is_set():
            producer = Producer({**config, "transactional.id": f"jepsen-{self.number}"})
            try:
                producer.init_transactions(SEND_S_MAX)
                return producer
            except KafkaException:
                time.sleep(0.2)
        return Producer({"bootstrap.servers": self._servers, **QUIET})

    def _new_consumer(self) -> Consumer:
        return reader(self._servers, f"jepsen-{self.number}")


def place_of(message: Message) -> tuple[int, int]:
    """Offset and value; a value that is not even a number is one that nobody sent."""
    offset, value = message.offset(), message.value()
    assert offset is not None
    return offset, int(value) if value is not None and value.isdigit() else UNREADABLE


def reader(bootstrap: str, group: str) -> Consumer:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "socket.timeout.ms": 4000,
            "fetch.wait.max.ms": 50,
            **QUIET,
        }
    )
    consumer.assign([TopicPartition(TOPIC, n, 0) for n in range(PARTITIONS)])
    return consumer


# --- a run


def run(
    seconds: float,
    path: Path,
    seed: int = 0,
    kinds: tuple[str, ...] = KINDS,
    pause_s_max: float = 10.0,
    mutant: str | None = None,
    settings: dict[str, str] | None = None,
) -> tuple[list[Op], Counter[str]]:
    """The history of a cluster under faults, and how often each was made."""
    rng = random.Random(seed)
    faults: Counter[str] = Counter()
    disk = path / f"node{BAD_DISK}"
    with (
        network(3) as cables,
        small_disk(disk, DISK_BYTES) as is_small,
        cluster_of(3, path, settings, places=places_of(cables, mutant)) as cluster,
    ):
        create_topic(cluster)
        strikes = Strikes(cluster, TOPIC, PARTITIONS, rng, pause_s_max)
        strikes.arm(kinds, cables, small_disk=is_small)
        values = itertools.count()
        workers = [Worker(n, cluster.bootstrap, values) for n in range(4)]
        for worker in workers:
            worker.start()
        deadline = time.monotonic() + seconds
        time.sleep(min(3.0, seconds / 4))
        while time.monotonic() < deadline:
            faults[strikes.strike()] += 1
            for partition in range(PARTITIONS):
                cluster.await_in_sync(TOPIC, [1, 2, 3], partition)
            time.sleep(rng.random())
        for worker in workers:
            worker.done.set()
        for worker in workers:
            worker.join(SETTLE_S)
        last = Op(-1, (read_all(cluster),), Outcome.OK)
    ops = sorted((one for worker in workers for one in worker.ops), key=lambda one: one[0])
    return [*(op for _, op in ops), last], faults


def places_of(cables: Cables | None, mutant: str | None) -> dict[int, Place]:
    places = {node: Place() for node in (1, 2, 3)} if cables is None else cables.places
    if mutant is None:
        return places
    program = ("-m", "system.faults.mutants", mutant)
    return {node: replace(place, program=program) for node, place in places.items()}


def create_topic(cluster: Cluster) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, **QUIET})
    topic = NewTopic(TOPIC, PARTITIONS, 3, config={"min.insync.replicas": "2"})
    admin.create_topics([topic])[TOPIC].result(30)
    for partition in range(PARTITIONS):
        cluster.await_in_sync(TOPIC, [1, 2, 3], partition)


def read_all(cluster: Cluster) -> Poll:
    """Everything committed, by a fresh client from the first offset on."""
    consumer = reader(cluster.bootstrap, "jepsen-last")
    records: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    places = [TopicPartition(TOPIC, n) for n in range(PARTITIONS)]
    ends = {n: consumer.get_watermark_offsets(places[n], 30)[1] for n in range(PARTITIONS)}
    deadline = time.monotonic() + SETTLE_S
    while any(position(consumer, n) < end for n, end in ends.items()):
        assert time.monotonic() < deadline, f"not all could be read: {ends}"
        for message in consumer.consume(500, 0.2):
            if message.error() is None:
                records[str(message.partition())].append(place_of(message))
    consumer.close()
    return Poll({key: tuple(found) for key, found in records.items()})


def position(consumer: Consumer, partition: int) -> int:
    (place,) = consumer.position([TopicPartition(TOPIC, partition)])
    return max(place.offset, 0)


def report(ops: list[Op], faults: Counter[str], found: Anomalies) -> str:
    outcomes = Counter(op.outcome.value for op in ops)
    polled = sum(len(list(op.polled())) for op in ops)
    sent = sum(len(list(op.sends())) for op in ops)
    lines = [
        f"{len(ops)} operations {dict(outcomes)}, {sent} sends, {polled} records polled",
        f"faults: {dict(faults)}",
    ]
    for name, problems in found.items():
        lines += [f"{name}: {len(problems)}", *(f"  {problem}" for problem in problems[:5])]
    return "\n".join(lines if found else [*lines, "no anomaly"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=180)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--faults", default=",".join(KINDS), help="some of %(default)s")
    parser.add_argument("--pause", type=float, default=10.0, help="seconds a node stops at most")
    asked = parser.parse_args()
    kinds = tuple(asked.faults.split(","))
    with tempfile.TemporaryDirectory() as path:
        ops, faults = run(asked.seconds, Path(path), asked.seed, kinds, asked.pause)
    found = check(ops)
    print(report(ops, faults, found))
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
