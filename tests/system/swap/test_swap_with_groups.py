"""Groups of every kind and an open transaction while two brokers take turns, stopped or killed:
offsets stay, members do not notice, what was open is aborted."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from kio.schema.errors import ErrorCode

from support.brokers import BrokerProcess, Kind
from support.confluent import SECONDS_MAX, create_topic, produce, read
from support.homes import Home
from support.share import ShareMember, Taken, start_at_the_beginning

pytestmark = [pytest.mark.java, pytest.mark.timeout(240)]

TOPIC, OUT = "t", "out"
RECORDS = 10  # in each turn


@pytest.fixture
def shared_home(tmp_path: Path) -> Home:
    """With sessions as long as Kafka's own: it waits nine seconds for a broker that was killed."""
    names = ("consumer", "share")
    patient = {f"group.{name}.session.timeout.ms": "45000" for name in names}
    return Home(path=tmp_path / "node", settings=patient)


class Reader:
    """A member that stays while brokers come and go, and counts how often it was assigned."""

    def __init__(self, bootstrap: str, protocol: str) -> None:
        options = {"session.timeout.ms": 45_000} if protocol == "classic" else {}
        self.consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": protocol,
                "group.protocol": protocol,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "reconnect.backoff.max.ms": 500,
                # At its end Kafka tells of a cluster without brokers: to be forgotten soon.
                "metadata.recovery.rebootstrap.trigger.ms": 1000,
                "log_level": 0,
                **options,
            }
        )
        self.assigned = self.read = 0
        self.consumer.subscribe([TOPIC], on_assign=self._assigned)

    def _assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self.assigned += bool(partitions)

    def read_up_to(self, count: int) -> None:
        deadline = time.monotonic() + 60
        while self.read < count:
            assert time.monotonic() < deadline, f"{self.read} of {count} records"
            message = self.consumer.poll(0.2)
            self.read += message is not None and message.error() is None
        self.consumer.commit(asynchronous=False)


class Copier:
    """Writes and commits offsets in transactions; the last one is always left open."""

    def __init__(self, bootstrap: str) -> None:
        """Who comes after another of the same name aborts what that left open."""
        self._bootstrap = bootstrap
        self._group = Consumer(
            {"bootstrap.servers": bootstrap, "group.id": "copier", "log_level": 0}
        )
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "transactional.id": "copier", "log_level": 0}
        )
        self._producer.init_transactions(SECONDS_MAX)

    def commit(self, number: int) -> None:
        self._write(f"committed-{number}", number)
        self._producer.commit_transaction(SECONDS_MAX)

    def abort(self, number: int) -> None:
        self._write(f"aborted-{number}", 500)
        self._producer.abort_transaction(SECONDS_MAX)

    def leave_open(self) -> None:
        self._write("open", 999)

    def _write(self, value: str, offset: int) -> None:
        self._producer.begin_transaction()
        self._producer.produce(OUT, value.encode())
        self._producer.send_offsets_to_transaction(
            [TopicPartition(TOPIC, 0, offset)], self._group.consumer_group_metadata(), SECONDS_MAX
        )
        assert self._producer.flush(SECONDS_MAX) == 0

    def committed_offset(self) -> int:
        (place,) = self._group.committed([TopicPartition(TOPIC, 0)], SECONDS_MAX)
        return int(place.offset)

    def visible(self, count: int) -> list[str]:
        committed = {"isolation.level": "read_committed"}
        found = read(self._bootstrap, OUT, count, config=committed)
        return [(message.value() or b"").decode() for message in found]


@pytest.mark.parametrize("end", [BrokerProcess.stop, BrokerProcess.kill9], ids=["stop", "kill"])
@pytest.mark.parametrize("kafka_first", [False, True], ids=["from-ottla", "from-kafka"])
def test_groups_and_transactions_survive_the_swap(
    turn: Callable[[Kind], BrokerProcess],
    broker_kind: Kind,
    other_kind: Kind,
    kafka_first: bool,
    end: Callable[[BrokerProcess], object],
) -> None:
    first, second = (other_kind, broker_kind) if kafka_first else (broker_kind, other_kind)
    share = ShareMember("share", TOPIC)
    readers: list[Reader] = []
    for number, kind in enumerate((first, second, first), start=1):
        broker = turn(kind)
        bootstrap = broker.bootstrap
        if number == 1:
            create_topic(bootstrap, TOPIC)
            create_topic(bootstrap, OUT)
            start_at_the_beginning(bootstrap, "share")
            readers = [Reader(bootstrap, name) for name in ("classic", "consumer")]
        assert share.beat(bootstrap) == ErrorCode.none  # still the member it was
        produce(bootstrap, TOPIC, [b"%d" % n for n in range(RECORDS)], config={"linger.ms": 0})
        for reader in readers:
            reader.read_up_to(RECORDS * number)
        before = RECORDS * (number - 1)
        fresh = [Taken(0, before + n, 1) for n in range(RECORDS)]
        assert share.take(bootstrap, RECORDS) == fresh
        copier = Copier(bootstrap)
        assert copier.committed_offset() == (number - 1 or -1001)
        copier.commit(number)
        copier.abort(number)
        assert copier.visible(number) == [f"committed-{n}" for n in range(1, number + 1)]
        copier.leave_open()
        end(broker)
    assert [reader.assigned for reader in readers] == [1, 1]
