"""What a fetcher names in its requests, while partitions come, go, pause and resume."""

from pathlib import Path

import pytest

from ottla.ids import TopicPartition, Uuid
from ottla.log.config import LogConfig
from ottla.log.files import OpenFiles
from ottla.log.partition_log import LogResources
from ottla.log.recovery import open_log
from ottla.log.tail import TailCache
from ottla.replication.fetch_session import FetchSessionHandler
from ottla.replication.fetch_states import FetchStates
from ottla.replication.follower import FollowedPartition
from ottla.wire.messages.fetch import FetchRequest

ORDERS, BILLS = TopicPartition("orders", 0), TopicPartition("bills", 3)
OLD, NEW = b"o" * 16, b"n" * 16


class Following:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.states = FetchStates()
        self.session = FetchSessionHandler(())

    def follow(self, partition: TopicPartition, topic_id: Uuid = OLD) -> None:
        resources = LogResources(OpenFiles(), TailCache())
        path = self.path / str(partition) / topic_id.hex()
        path.parent.mkdir(exist_ok=True)
        log = open_log(path, partition, LogConfig(), resources, now_ms=0, topic_id=topic_id)
        self.states.add(FollowedPartition(log, leader_id=1, epoch=5))
        self.session.name(partition)

    def request(self) -> tuple[list[tuple[Uuid, int]], list[tuple[Uuid, int]]]:
        request = FetchRequest()
        self.session.fill(request, self.states, 1000)
        self.session.go_on(7)
        asked = [
            (topic.topic_id, one.partition) for topic in request.topics for one in topic.partitions
        ]
        forgotten = [
            (topic.topic_id, one)
            for topic in request.forgotten_topics_data
            for one in topic.partitions
        ]
        return asked, forgotten


@pytest.fixture
def following(tmp_path: Path) -> Following:
    return Following(tmp_path)


def test_what_has_not_changed_is_named_once(following: Following) -> None:
    following.follow(ORDERS)
    following.follow(BILLS)
    assert following.request() == ([(OLD, 0), (OLD, 3)], [])
    assert following.request() == ([], [])


def test_a_paused_partition_is_forgotten_and_named_again_when_it_resumes(
    following: Following,
) -> None:
    following.follow(ORDERS)
    following.request()
    state = following.states.get(ORDERS)
    assert state is not None
    following.states.pause(state, 10.0)
    following.session.name(ORDERS)
    assert following.states.all_are_paused
    assert following.request() == ([], [(OLD, 0)])
    assert following.states.resume(9.9) == []
    assert following.states.resume(10.0) == [state]
    following.session.name(ORDERS)
    assert following.request() == ([(OLD, 0)], [])


def test_each_pause_ends_in_its_own_time(following: Following) -> None:
    following.follow(ORDERS)
    following.follow(BILLS)
    orders, bills = following.states
    following.states.pause(orders, 20.0)
    following.states.pause(bills, 10.0)
    assert following.states.resume(15.0) == [bills]
    assert following.states.resume(15.0) == []
    assert following.states.resume(20.0) == [orders]


def test_a_topic_that_was_made_anew_is_forgotten_under_its_old_id(following: Following) -> None:
    following.follow(ORDERS, OLD)
    following.request()
    following.states.remove(ORDERS)
    following.follow(ORDERS, NEW)
    assert following.states.get_by_id(OLD, 0) is None
    assert following.request() == ([(NEW, 0)], [(OLD, 0)])


def test_who_follows_anew_is_not_paused(following: Following) -> None:
    following.follow(ORDERS)
    (state,) = following.states
    following.states.pause(state, 10.0)
    following.follow(ORDERS)
    assert not following.states.all_are_paused
    assert following.states.resume(10.0) == []
