"""Apache Kafka and Ottla, one process each, for as many sequences as there are."""

import contextlib
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from differential.link import Link
from differential.running import Broker, is_retriable
from differential.waiting import drive
from ottla.wire.message import Message
from ottla.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from ottla.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from ottla.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
)
from support.brokers import BrokerProcess, Kind
from support.homes import Home

SETTINGS = {
    "offsets.topic.num.partitions": "1",  # one to load, before the first sequence
    "transaction.state.log.num.partitions": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "group.min.session.timeout.ms": "100",
    "log.segment.delete.delay.ms": "1000",  # of the topics of thousands of sequences
    "file.delete.delay.ms": "1000",
    "log.cleaner.dedupe.buffer.size": "8388608",
    "log.index.size.max.bytes": "65536",  # Kafka maps both indexes of each partition whole
    "log.retention.ms": "-1",  # records are years old, and each broker deletes in its own time
    "controller.quorum.append.linger.ms": "0",  # Kafka passes on one request after another
    "connections.max.idle.ms": "60000",
    "max.incremental.fetch.session.cache.slots": "100000",  # sessions outlive their sequences
}
DEFAULT = "default"
"""What an area says of a setting above that it must not have."""
DEFAULTS_OF_TOPICS = {"log.index.size.max.bytes": DEFAULT, "log.retention.ms": DEFAULT}
"""For areas whose answers tell of every setting."""
SMALL_JAVA = (
    *("java", "-Xms256m", "-Xmx512m", "-Xmn160m"),  # young, as nearly all of it dies young
    *("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
)
READY_S = 60
IN_MEMORY = Path("/dev/shm")
"""Where there is one: thousands of topics are made and deleted, and nobody tests disks here."""
GROUP, TRANSACTION = 0, 1


class Rendezvous:
    """A restart of a broker that several runs use: each waits where its own comes, and once all
    that have begun are there the broker is stopped and started. Who comes meanwhile begins when
    all of those have ended."""

    def __init__(
        self, restart: Callable[[], None], heal: Callable[[], None] = lambda: None
    ) -> None:
        """What is done when all wait, and when all of those have ended."""
        self.restart = restart
        self.heal = heal
        self.changed = threading.Condition()
        self.running = self.waiting = self.restarts = 0
        self.is_closed = False

    def __enter__(self) -> None:
        with self.changed:
            self.changed.wait_for(lambda: not self.is_closed)
            self.running += 1

    def __exit__(self, *_: object) -> None:
        with self.changed:
            self.running -= 1
            if self.is_closed and not self.running:
                self.heal()
                self.is_closed = False
            self._restart_if_all_wait()
            self.changed.notify_all()

    def wait(self) -> None:
        with self.changed:
            self.is_closed = True
            self.waiting += 1
            before = self.restarts
            self._restart_if_all_wait()
            self.changed.wait_for(lambda: self.restarts > before)

    def _restart_if_all_wait(self) -> None:
        if self.waiting and self.waiting == self.running:
            self.restart()
            self.waiting = 0
            self.restarts += 1
            self.changed.notify_all()


@contextlib.contextmanager
def serving(
    kind: Kind, settings: Mapping[str, str], program: tuple[str, ...] = ("-m", "ottla")
) -> Iterator[Broker]:
    """A broker whose coordinators are loaded."""
    with started(kind, settings, program) as process:
        yield Broker(process.bootstrap)


@contextlib.contextmanager
def restartable(kind: Kind, settings: Mapping[str, str]) -> Iterator[Broker]:
    """One that the sequences stop and start."""
    with started(kind, settings) as process:
        yield Broker(process.bootstrap, Rendezvous(partial(start_anew, process)))


@contextlib.contextmanager
def started(
    kind: Kind, settings: Mapping[str, str], program: tuple[str, ...] = ("-m", "ottla")
) -> Iterator[BrokerProcess]:
    within = IN_MEMORY if os.access(IN_MEMORY, os.W_OK) else None
    folder = Path(tempfile.mkdtemp(prefix=f"ottla-differential-{kind}-", dir=within))
    wanted = {name: value for name, value in {**SETTINGS, **settings}.items() if value != DEFAULT}
    home = Home(path=folder, settings=wanted)
    broker = BrokerProcess(kind, home, java=SMALL_JAVA, program=program)
    try:
        broker.start()
        warm_up(home.bootstrap)
        yield broker
    finally:
        broker.discard()
        shutil.rmtree(folder, ignore_errors=True)


def start_anew(broker: BrokerProcess) -> None:
    broker.stop()
    broker.start()
    warm_up(broker.bootstrap)


def warm_up(bootstrap: str, node_of: Callable[[Message], str] | None = None) -> None:
    """Nobody is told that a coordinator is still loading: that says nothing about answers."""
    deadline = time.monotonic() + READY_S
    finding = [
        (FindCoordinatorRequest(key_type=kind, coordinator_keys=["warm-up"]), 4)
        for kind in (GROUP, TRANSACTION)
    ]
    group = OffsetFetchRequestGroup(group_id="warm-up", topics=None)
    asked: list[tuple[Message, int, type[Message]]] = [
        *((request, version, FindCoordinatorResponse) for request, version in finding),
        (OffsetFetchRequest(groups=[group]), 8, OffsetFetchResponse),
        (InitProducerIdRequest(transactional_id=None), 4, InitProducerIdResponse),
        (
            InitProducerIdRequest(transactional_id="warm-up", transaction_timeout_ms=1000),
            4,
            InitProducerIdResponse,
        ),
    ]
    for request, version, response in asked:
        link = Link(bootstrap if node_of is None else node_of(request), "warm-up")
        while is_retriable(drive(link.ask(request, version, response, READY_S))):
            assert time.monotonic() < deadline, f"{type(request).__name__} is never answered"
            time.sleep(0.02)
        link.close()
