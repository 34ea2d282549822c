"""Groups of every kind while two brokers take turns: offsets stay, and members do not notice."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer

from support.brokers import BrokerProcess, Kind
from support.confluent import create_topic, produce
from support.toolbox import Toolbox

pytestmark = [pytest.mark.java, pytest.mark.timeout(240)]

TOPIC = "t"
SHARE_GROUPS = "org.apache.kafka.tools.consumer.group.ShareGroupCommand"


@pytest.fixture(scope="module")
def toolbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Toolbox]:
    folder: Path = tmp_path_factory.mktemp("toolbox")
    box = Toolbox(folder, folder / "log")
    yield box
    box.close()


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
                "log_level": 0,
                **options,
            }
        )
        self.assigned = self.read = 0
        self.consumer.subscribe([TOPIC], on_assign=self._assigned)

    def _assigned(self, consumer: Consumer, partitions: list[object]) -> None:
        self.assigned += bool(partitions)

    def read_up_to(self, count: int) -> None:
        deadline = time.monotonic() + 60
        while self.read < count:
            assert time.monotonic() < deadline, f"{self.read} of {count} records"
            message = self.consumer.poll(0.2)
            self.read += message is not None and message.error() is None
        self.consumer.commit(asynchronous=False)


def share_start(toolbox: Toolbox, bootstrap: str) -> str:
    ran = toolbox.run(
        SHARE_GROUPS, "--bootstrap-server", bootstrap, "--describe", "--group", "share", "--offsets"
    )
    header, row = (line.split() for line in ran.lines[-2:])
    return dict(zip(header, row, strict=True))["START-OFFSET"]


@pytest.mark.parametrize("kafka_first", [False, True], ids=["from-ottla", "from-kafka"])
def test_members_and_offsets_survive_the_swap(
    turn: Callable[[Kind], BrokerProcess],
    toolbox: Toolbox,
    broker_kind: Kind,
    other_kind: Kind,
    kafka_first: bool,
) -> None:
    first, second = (other_kind, broker_kind) if kafka_first else (broker_kind, other_kind)
    readers: list[Reader] = []
    for number, kind in enumerate((first, second, first), start=1):
        broker = turn(kind)
        if not readers:
            create_topic(broker.bootstrap, TOPIC)
            readers = [Reader(broker.bootstrap, name) for name in ("classic", "consumer")]
        else:
            assert share_start(toolbox, broker.bootstrap) == str(10 * (number - 1))
        produce(broker.bootstrap, TOPIC, [b"%d" % n for n in range(10)], config={"linger.ms": 0})
        for reader in readers:
            reader.read_up_to(10 * number)
        shared = {"group.id": "share"}
        seen = toolbox.scenario("share", broker.bootstrap, shared, topic=TOPIC, count=10)
        assert seen["accepted"] == 10
        broker.stop()
    assert [reader.assigned for reader in readers] == [1, 1]
