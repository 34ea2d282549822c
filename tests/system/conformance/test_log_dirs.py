"""AlterReplicaLogDirs and DescribeLogDirs: replicas move between a broker's directories."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from kio.schema.errors import ErrorCode

from support.brokers import BrokerProcess, Kind
from support.confluent import wait_until
from support.homes import Home
from support.log_dirs import SLOW, TopicOnDisk, future_directories

SETTINGS = {"replica.fetch.max.bytes": "16384"}


@pytest.fixture(scope="module")
def node(broker_kind: Kind, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    home = Home(path=tmp_path_factory.mktemp("node"), log_dirs=3, settings=SETTINGS)
    broker = BrokerProcess(broker_kind, home)
    try:
        broker.start()
        yield broker
    finally:
        broker.discard()


@pytest.fixture
def topic(node: BrokerProcess, request: pytest.FixtureRequest) -> TopicOnDisk:
    made = TopicOnDisk(node.home, request.node.name.replace("[", "-").rstrip("]")[:60])
    made.create()
    return made


@pytest.mark.parametrize("batches", [0, 40])
def test_a_replica_moves_with_its_records(topic: TopicOnDisk, batches: int) -> None:
    topic.write(batches)
    target = topic.elsewhere()
    assert topic.move(target) == ErrorCode.none
    wait_until(lambda: topic.is_in(target))
    topic.check()
    topic.write(3)
    topic.check()
    assert topic.move(target) == ErrorCode.none
    assert topic.is_in(target)


def test_a_replica_moves_while_it_is_written_to(topic: TopicOnDisk) -> None:
    topic.write()
    for _ in range(3):
        target = topic.elsewhere()
        assert topic.move(target) == ErrorCode.none
        for _ in range(200):
            topic.write(1)
            if topic.is_in(target):
                break
        wait_until(lambda place=target: topic.is_in(place))
    topic.check()


def test_a_move_under_a_throttle_is_told_and_can_be_taken_back(topic: TopicOnDisk) -> None:
    topic.write()
    present, target = topic.place, topic.elsewhere()
    topic.throttle(SLOW)
    assert topic.move(target) == ErrorCode.none
    wait_until(topic.is_moving)
    [future] = [one for one in topic.lies() if one.is_future]
    assert (future.directory, future.lag > 0) == (target, True)
    assert any(path.name.startswith(f"{topic.name}-0.") for path in future_directories(topic.home))
    assert topic.move(present) == ErrorCode.none
    wait_until(lambda: topic.is_in(present))
    topic.throttle(None)
    topic.write(3)
    topic.check()
    assert topic.is_in(present)


def test_a_move_can_be_turned_to_another_directory(topic: TopicOnDisk) -> None:
    topic.write()
    first, second = (path for path in topic.home.data if path != topic.place)
    topic.throttle(SLOW)
    assert topic.move(first) == ErrorCode.none
    wait_until(topic.is_moving)
    assert topic.move(second) == ErrorCode.none
    topic.throttle(None)
    wait_until(lambda: topic.is_in(second))
    topic.check()


def test_what_cannot_be_moved_is_told(topic: TopicOnDisk, tmp_path: Path) -> None:
    target = topic.elsewhere()
    assert topic.move(tmp_path) == ErrorCode.log_dir_not_found
    assert topic.move(target, partition=7) == ErrorCode.unknown_topic_or_partition
    assert topic.move(target, topic="missing") == ErrorCode.unknown_topic_or_partition
    assert topic.move(target, topic="x" * 245) == ErrorCode.invalid_topic_exception


def test_a_topic_that_is_deleted_while_it_moves_leaves_nothing(topic: TopicOnDisk) -> None:
    topic.write()
    topic.throttle(SLOW)
    assert topic.move(topic.elsewhere()) == ErrorCode.none
    wait_until(topic.is_moving)
    with topic.connect() as connection:
        asked = [{"name": topic.name, "topic_id": None}]
        connection.ask("delete_topics", 6, topics=asked, timeout=5000)
    wait_until(lambda: topic.lies() == [])
    topic.throttle(None)
    wait_until(
        lambda: not any(one.name.startswith(topic.name) for one in future_directories(topic.home))
    )
