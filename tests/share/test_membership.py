"""Members of share groups: everyone gets something, and nobody has to wait for it."""

from typing import Any

from ottla.errors import ErrorCode, KafkaError
from ottla.groups.limits import Pace
from ottla.groups.outcome import Caller
from ottla.groups.share.group import ShareGroup
from ottla.groups.share.heartbeats import heartbeat
from ottla.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from support.group_driver import Driver


def beat(driver: Driver, member: str, epoch: int, *topics: str) -> Any:
    request = ShareGroupHeartbeatRequest(
        group_id="g",
        member_id=member,
        member_epoch=epoch,
        subscribed_topic_names=list(topics) or None,
    )
    caller = Caller("c", "/127.0.0.1", 1)
    return driver.ask(lambda _: heartbeat(driver.groups, driver.now, request, caller)).reply


def has(reply: Any) -> set[int]:
    return {index for topic in reply.assignment.topic_partitions for index in topic.partitions}


def group_of(driver: Driver) -> ShareGroup:
    group = driver.groups.groups["g"]
    assert isinstance(group, ShareGroup)
    return group


def test_members_share_partitions_out_and_share_them() -> None:
    driver = Driver()
    driver.make_topic("t", 2)
    assert has(beat(driver, "a", 0, "t")) == {0, 1}
    assert has(beat(driver, "b", 0, "t")) == {1}
    assert has(beat(driver, "a", 2)) == {0}
    assert has(beat(driver, "c", 0, "t")) == {0}


def test_a_silent_member_goes_and_others_take_its_part() -> None:
    driver = Driver()
    driver.make_topic("t", 2)
    beat(driver, "a", 0, "t")
    epoch = beat(driver, "b", 0, "t").member_epoch
    for _ in range(10):
        driver.pass_time(5)
        reply = beat(driver, "b", epoch)
        epoch = reply.member_epoch
    assert list(group_of(driver).members) == ["b"]
    assert group_of(driver).members["b"].partitions == {b"t...............": {0, 1}}


def test_who_leaves_is_unknown_afterwards() -> None:
    driver = Driver()
    driver.make_topic("t", 1)
    beat(driver, "a", 0, "t")
    assert beat(driver, "a", -1).member_epoch == -1
    refusal = beat(driver, "a", 2)
    assert isinstance(refusal, KafkaError)
    assert refusal.code is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_restart_changes_nothing() -> None:
    driver = Driver()
    driver.make_topic("t", 2)
    reply = beat(driver, "a", 0, "t")
    driver.restart()
    again = beat(driver, "a", reply.member_epoch)
    assert again.member_epoch == reply.member_epoch
    assert again.assignment is None
    assert group_of(driver).started == {b"t...............": ("t", frozenset({0, 1}))}


def test_a_consumer_group_is_no_share_group() -> None:
    driver = Driver()
    driver.make_topic("t", 1)
    driver.settle(1)
    refusal = beat(driver, "a", 0, "t")
    assert isinstance(refusal, KafkaError)
    assert refusal.code is ErrorCode.GROUP_ID_NOT_FOUND


def test_many_who_join_at_once_share_one_assignment() -> None:
    driver = Driver(pace=Pace(share_assignment_interval_ms=1_000))
    driver.make_topic("t", 2)
    assert has(beat(driver, "a", 0, "t")) == {0, 1}
    reply = beat(driver, "b", 0, "t")
    assert has(reply) == set()
    assert reply.heartbeat_interval_ms == 500
    driver.pass_time(1)
    reply = beat(driver, "b", reply.member_epoch)
    assert has(reply) == {1}
    assert reply.heartbeat_interval_ms == 5_000
