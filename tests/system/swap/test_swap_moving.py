"""A replica that is on its way to another directory arrives, whoever goes on with the move."""

from collections.abc import Callable
from pathlib import Path

import pytest

from support.brokers import BrokerProcess, Kind
from support.confluent import wait_until
from support.homes import Home
from support.log_dirs import SLOW, TopicOnDisk, future_directories

pytestmark = pytest.mark.timeout(240)

SETTINGS = {"replica.fetch.max.bytes": "16384"}
ARRIVAL_SECONDS_MAX = 40
End = Callable[[BrokerProcess], object]


def half_way(broker: BrokerProcess, topic: TopicOnDisk) -> Path:
    """Where a move leads that has begun and is held up."""
    topic.create()
    topic.write()
    target = topic.elsewhere()
    topic.throttle(SLOW)
    topic.move(target)
    wait_until(lambda: any(one.is_future and one.size > 0 for one in topic.lies()))
    topic.write(5)
    assert topic.is_moving()
    return target


def goes_on(broker: BrokerProcess, topic: TopicOnDisk, target: Path) -> None:
    topic.write(5)
    topic.throttle(None)
    wait_until(lambda: topic.is_in(target), ARRIVAL_SECONDS_MAX)
    topic.write(5)
    topic.check()
    wait_until(lambda: future_directories(topic.home) == [])


@pytest.mark.java
@pytest.mark.parametrize("end", [BrokerProcess.stop, BrokerProcess.kill9])
@pytest.mark.parametrize(("first", "second"), [("ottla", "kafka"), ("kafka", "ottla")])
def test_the_other_broker_finishes_a_move(
    tmp_path: Path, first: Kind, second: Kind, end: End
) -> None:
    home = Home(path=tmp_path / "node", log_dirs=2, settings=SETTINGS)
    topic = TopicOnDisk(home)
    brokers = [BrokerProcess(kind, home) for kind in (first, second, first)]
    try:
        brokers[0].start()
        target = half_way(brokers[0], topic)
        end(brokers[0])
        assert len(future_directories(home)) == 1
        brokers[1].start()
        wait_until(topic.is_led)
        goes_on(brokers[1], topic, target)
        brokers[1].stop()
        brokers[2].start()
        wait_until(topic.is_led)
        assert topic.is_in(target)
        topic.check()
    finally:
        for broker in brokers:
            broker.discard()


def test_a_move_survives_kills(tmp_path: Path) -> None:
    home = Home(path=tmp_path / "node", log_dirs=2, settings=SETTINGS)
    topic = TopicOnDisk(home)
    broker = BrokerProcess("ottla", home)
    try:
        broker.start()
        target = half_way(broker, topic)
        for _ in range(3):
            broker.kill9()
            broker.start()
            wait_until(topic.is_led)
            topic.write(3)
            assert topic.is_moving()
        goes_on(broker, topic, target)
        broker.kill9()
        broker.start()
        wait_until(topic.is_led)
        assert topic.is_in(target)
        topic.check()
    finally:
        broker.discard()


def test_a_crash_between_the_two_renames_leaves_the_copy(tmp_path: Path) -> None:
    home = Home(path=tmp_path / "node", log_dirs=2)
    topic = TopicOnDisk(home)
    broker = BrokerProcess("ottla", home)
    try:
        broker.start()
        topic.create()
        topic.write()
        place = topic.place
        broker.stop()
        (place / "t-0").rename(place / f"t-0.{'0' * 32}-future")
        broker.start()
        wait_until(topic.is_led)
        assert topic.is_in(place)
        topic.check()
    finally:
        broker.discard()
