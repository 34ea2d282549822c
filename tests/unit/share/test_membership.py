"""Members of share groups: everyone gets something, and nobody has to wait for it."""

from typing import Any

from ottla.errors import ErrorCode, KafkaError
from ottla.groups.limits import Pace
from ottla.groups.outcome import Caller
from ottla.groups.share.group import ShareGroup
from ottla.groups.share.heartbeats import heartbeat
from ottla.groups.share.starting import initialized, not_initialized
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
    reply = driver.ask(lambda _: heartbeat(driver.groups, driver.now, request, caller)).reply
    if isinstance(reply, KafkaError):
        return reply
    made = reply.to_initialize
    if made is not None:
        driver.ask(lambda _: initialized(driver.groups, "g", made.topics))
    return reply.response


def join(driver: Driver, member: str, *topics: str) -> Any:
    """The first answer that gives partitions."""
    reply = beat(driver, member, 0, *topics)
    return reply if has(reply) else beat(driver, member, reply.member_epoch)


def has(reply: Any) -> set[int]:
    return {index for topic in reply.assignment.topic_partitions for index in topic.partitions}


def group_of(driver: Driver) -> ShareGroup:
    group = driver.groups.groups["g"]
    assert isinstance(group, ShareGroup)
    return group


def test_partitions_are_given_once_they_have_a_state() -> None:
    driver = Driver()
    driver.make_topic("t", 2)
    reply = beat(driver, "a", 0, "t")
    assert (has(reply), reply.member_epoch) == (set(), 2)
    reply = beat(driver, "a", 2)
    assert (has(reply), reply.member_epoch) == ({0, 1}, 3)
    assert beat(driver, "a", 3).assignment is None
    assert has(beat(driver, "a", 3, "t")) == {0, 1}  # who says what it wants is told what it has


def test_states_that_could_not_be_made_are_made_with_the_next_heartbeat() -> None:
    driver = Driver()
    driver.make_topic("t", 2)
    request = ShareGroupHeartbeatRequest(
        group_id="g", member_id="a", member_epoch=0, subscribed_topic_names=["t"]
    )
    caller = Caller("c", "/127.0.0.1", 1)

    def asks_for_states() -> Any:
        reply = driver.ask(lambda _: heartbeat(driver.groups, driver.now, request, caller)).reply
        request.member_epoch = reply.response.member_epoch
        return reply.to_initialize

    made = asks_for_states()
    assert made.topics == {b"t...............": ("t", frozenset({0, 1}))}
    assert asks_for_states() is None  # somebody is busy with it
    driver.ask(lambda _: not_initialized(driver.groups, "g", made.topics))
    assert asks_for_states() == made
    driver.restart()
    assert asks_for_states() == made  # nobody is, any more
    driver.pass_time(29)
    assert asks_for_states() is None
    driver.pass_time(1)
    assert asks_for_states() == made


def test_members_share_partitions_out_and_share_them() -> None:
    driver = Driver()
    driver.make_topic("t", 2)
    assert has(join(driver, "a", "t")) == {0, 1}
    others = has(beat(driver, "b", 0, "t"))
    mine = has(beat(driver, "a", 3))
    assert len(others) == len(mine) == 1
    assert others | mine == {0, 1}
    third = has(beat(driver, "c", 0, "t"))
    targets = [set[int](*one.values()) for one in group_of(driver).targets.values()]
    assert third in targets
    assert sorted(len(one) for one in targets) == [1, 1, 2]  # two members for each partition


def test_members_keep_what_they_have_when_another_comes() -> None:
    driver = Driver()
    driver.make_topic("t", 6)
    join(driver, "a", "t")
    before = group_of(driver).targets["a"][b"t..............."]
    beat(driver, "b", 0, "t")
    after = group_of(driver).targets
    assert after["a"][b"t..............."] < before
    assert sorted(len(one[b"t..............."]) for one in after.values()) == [3, 3]


def test_a_silent_member_goes_and_others_take_its_part() -> None:
    driver = Driver()
    driver.make_topic("t", 2)
    join(driver, "a", "t")
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
    reply = join(driver, "a", "t")
    driver.restart()
    again = beat(driver, "a", reply.member_epoch)
    assert again.member_epoch == reply.member_epoch
    assert again.assignment is None
    assert group_of(driver).initialized == {b"t...............": ("t", frozenset({0, 1}))}


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
    beat(driver, "a", 0, "t")
    driver.pass_time(1)
    assert has(beat(driver, "a", 2)) == {0, 1}
    reply = beat(driver, "b", 0, "t")
    assert has(reply) == set()
    assert reply.heartbeat_interval_ms == 5_000
    driver.pass_time(1)
    assert len(has(beat(driver, "b", reply.member_epoch))) == 1


def test_a_topic_that_is_made_anew_is_not_taken_for_the_old_one() -> None:
    driver = Driver()
    driver.make_topic("t", 2)
    epoch = join(driver, "a", "t").member_epoch
    driver.delete_topic("t")
    driver.make_topic("t", 2)
    topic = driver.image.topics_by_id.pop(driver.image.topics_by_name["t"].id)
    topic.id = b"u" * 16
    driver.image.topics_by_id[topic.id] = topic
    epochs = []
    for _ in range(4):
        epoch = beat(driver, "a", epoch).member_epoch
        epochs.append(epoch)
    assert group_of(driver).members["a"].partitions == {b"u" * 16: {0, 1}}
    assert epochs[2] == epochs[3]
