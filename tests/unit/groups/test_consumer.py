"""The consumer protocol: members are led from what they have to what they should have."""

from msgspec.structs import replace

from ottla.errors import ErrorCode, KafkaError
from ottla.groups.consumer.group import ConsumerGroup
from ottla.groups.limits import Pace
from support.committing import committing, committing_in_transaction
from support.consumers import Consumer, settle
from support.group_driver import Driver


def driver_with(**topics: int) -> Driver:
    driver = Driver()
    for name, partitions in topics.items():
        driver.make_topic(name, partitions)
    return driver


def group_of(driver: Driver) -> ConsumerGroup:
    group = driver.groups.groups["g"]
    assert isinstance(group, ConsumerGroup)
    return group


def error_of(reply: object) -> ErrorCode:
    assert isinstance(reply, KafkaError)
    return reply.code


def places(topic: str, *indexes: int) -> set[tuple[str, int]]:
    return {(topic, index) for index in indexes}


def test_the_first_member_gets_everything_at_once() -> None:
    driver = driver_with(t=3)
    one = Consumer(driver, "a", "t").join()
    assert one.has == places("t", 0, 1, 2)
    assert one.epoch == 2
    assert group_of(driver).state == "Stable"


def test_a_second_member_gets_its_share_when_the_first_has_given_it_up() -> None:
    driver = driver_with(t=4)
    one = Consumer(driver, "a", "t").join()
    two = Consumer(driver, "b", "t").join()
    assert two.has == set()
    assert two.beat() is ErrorCode.NONE
    assert two.has == set(), "the first still has everything"
    settle(one, two)
    assert len(one.has) == len(two.has) == 2
    assert not one.has & two.has
    assert one.epoch == two.epoch == 3


def test_nobody_else_loses_anything_when_one_leaves() -> None:
    driver = driver_with(t=6)
    members = [Consumer(driver, name, "t").join() for name in "abc"]
    settle(*members)
    before = [member.has for member in members[:2]]
    members[2].leave()
    settle(*members[:2])
    for member, had in zip(members[:2], before, strict=True):
        assert had < member.has
        assert len(member.has) == 3


def test_a_partition_never_has_two_owners() -> None:
    driver = driver_with(t=5)
    one = Consumer(driver, "a", "t").join()
    one.stubborn = True
    two = Consumer(driver, "b", "t").join()
    for _ in range(5):
        one.beat()
        two.beat()
        assert not two.has & one.has
    one.stubborn = False
    settle(one, two)
    assert len(one.has | two.has) == 5


def test_who_does_not_give_up_in_time_is_out() -> None:
    driver = driver_with(t=4)
    one = Consumer(driver, "a", "t").join()
    one.stubborn = True
    two = Consumer(driver, "b", "t").join()
    for _ in range(16):
        driver.pass_time(2)
        if one.beat() is not ErrorCode.NONE:
            break
        two.beat()
    assert one.beat() is ErrorCode.UNKNOWN_MEMBER_ID
    settle(two)
    assert len(two.has) == 4
    assert "did not give up" in driver.groups.history("g").reason


def test_who_does_not_give_up_is_out_though_the_coordinator_was_restarted() -> None:
    driver = driver_with(t=4)
    one = Consumer(driver, "a", "t").join()
    one.stubborn = True
    Consumer(driver, "b", "t").join()
    one.beat()
    driver.restart()
    for _ in range(31):
        driver.pass_time(1)
        one.beat()
    assert one.beat() is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_silent_member_is_out_after_its_session() -> None:
    driver = driver_with(t=2)
    one, two = Consumer(driver, "a", "t").join(), Consumer(driver, "b", "t").join()
    settle(one, two)
    for _ in range(10):
        driver.pass_time(5)
        assert two.beat() is ErrorCode.NONE
    assert two.has == places("t", 0, 1)
    assert one.beat() is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_new_partition_is_given_to_somebody() -> None:
    driver = driver_with(t=1)
    one = Consumer(driver, "a", "t").join()
    driver.make_topic("t", 2)
    settle(one)
    assert one.has == places("t", 0, 1)


def test_a_topic_that_appears_later_is_read() -> None:
    driver = driver_with(t=1)
    one = Consumer(driver, "a", "t", "later").join()
    driver.make_topic("later", 1)
    settle(one)
    assert one.has == places("t", 0) | places("later", 0)


def test_a_regular_expression_follows_the_topics() -> None:
    driver = driver_with(orders=1, users=1)
    one = Consumer(driver, "a", regex="orders.*").join()
    one.join()
    assert one.has == places("orders", 0)
    driver.make_topic("orders-2", 1)
    settle(one)
    assert one.has == places("orders", 0) | places("orders-2", 0)
    driver.delete_topic("orders")
    one.owned = {key: value for key, value in one.owned.items() if b"-2" in key}
    settle(one)
    assert one.has == places("orders-2", 0)


def test_a_new_regular_expression_counts_after_the_answer_to_who_brought_it() -> None:
    """Kafka looks for its topics in the background: those with a name come first. Clients count
    on two assignments (librdkafka's own tests do)."""
    driver = driver_with(orders=1, users=1)
    one = Consumer(driver, "a", "users", regex="orders.*").join()
    assert one.has == places("users", 0)
    driver.pass_time(2)
    settle(one)
    assert one.has == places("users", 0) | places("orders", 0)


def test_a_bad_regular_expression_is_refused() -> None:
    driver = driver_with(t=1)
    reply = Consumer(driver, "a").send(
        0, rebalance_timeout_ms=1, subscribed_topic_regex="(", topic_partitions=[]
    )
    assert error_of(reply) is ErrorCode.INVALID_REGULAR_EXPRESSION


def test_a_changed_subscription_changes_the_target() -> None:
    driver = driver_with(t=2, u=2)
    one = Consumer(driver, "a", "t").join()
    reply = one.send(one.epoch, subscribed_topic_names=["u"], topic_partitions=one._owned())
    one._take(reply)
    settle(one)
    assert one.has == places("u", 0, 1)


def test_an_old_epoch_is_fenced_unless_the_answer_was_lost() -> None:
    driver = driver_with(t=2)
    one = Consumer(driver, "a", "t").join()
    two = Consumer(driver, "b", "t").join()
    one.send(2, topic_partitions=one._owned())  # told to give up, and the answer gets lost
    assert one.beat() is ErrorCode.NONE
    settle(one, two)
    assert error_of(one.send(one.epoch + 1)) is ErrorCode.FENCED_MEMBER_EPOCH
    assert error_of(one.send(1, topic_partitions=[])) is ErrorCode.FENCED_MEMBER_EPOCH


def test_who_missed_an_epoch_may_commit_what_it_still_has_and_nothing_beside_it() -> None:
    driver = driver_with(t=2)
    one = Consumer(driver, "a", "t").join()
    old = one.epoch
    two = Consumer(driver, "b", "t").join()
    settle(one, two)
    (kept,), (given,) = one.has, two.has
    assert committing(driver, "a", old, kept) is ErrorCode.NONE, "it has had it since then"
    assert committing(driver, "a", old, kept, given) is ErrorCode.STALE_MEMBER_EPOCH
    assert committing(driver, "a", one.epoch + 1, kept) is ErrorCode.STALE_MEMBER_EPOCH
    assert committing(driver, "a", -1, kept) is ErrorCode.STALE_MEMBER_EPOCH
    assert committing_in_transaction(driver, "a", old, kept) is ErrorCode.NONE
    assert committing_in_transaction(driver, "a", old, kept, given) is ErrorCode.ILLEGAL_GENERATION
    assert committing_in_transaction(driver, "a", old, ("gone", 0)) is ErrorCode.ILLEGAL_GENERATION
    assert committing_in_transaction(driver, "x", old, kept) is ErrorCode.UNKNOWN_MEMBER_ID
    assert committing_in_transaction(driver, "", -1, given) is ErrorCode.NONE, "not of the group"


def test_strangers_are_unknown() -> None:
    driver = driver_with(t=2)
    nobody = Consumer(driver, "x", "t")
    assert error_of(nobody.send(5)) is ErrorCode.GROUP_ID_NOT_FOUND
    Consumer(driver, "a", "t").join()
    assert error_of(nobody.send(5)) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_member_that_becomes_a_static_one_has_no_target_before_the_next_is_made() -> None:
    driver = driver_with(t=4)
    one, two = Consumer(driver, "a", "t").join(), Consumer(driver, "b", "t").join()
    one.instance = "i"
    one.join()
    assert (one.has, one.epoch) == (set(), 3), "as in Kafka"
    settle(one, two)
    assert one.has == set()
    Consumer(driver, "c", "t").join().leave()
    settle(one, two)
    assert len(one.has) == len(two.has) == 2


def test_a_static_member_comes_back_to_what_it_had() -> None:
    driver = driver_with(t=4)
    one = Consumer(driver, "a", "t", instance="i").join()
    two = Consumer(driver, "b", "t").join()
    settle(one, two)
    had, epoch = one.has, group_of(driver).epoch
    again = Consumer(driver, "a2", "t", instance="i")
    fields = {"rebalance_timeout_ms": 1, "subscribed_topic_names": ["t"], "topic_partitions": []}
    assert error_of(again.send(0, **fields)) is ErrorCode.UNRELEASED_INSTANCE_ID
    one.leave(-2)
    settle(two)
    again.join()
    assert again.has == had
    assert group_of(driver).epoch == epoch
    assert error_of(one.send(epoch)) is ErrorCode.FENCED_INSTANCE_ID


def test_a_static_member_that_stays_away_is_out_after_its_session() -> None:
    driver = driver_with(t=2)
    one = Consumer(driver, "a", "t", instance="i").join()
    one.leave(-2)
    driver.pass_time(46)
    assert group_of(driver).is_empty


def test_a_restart_changes_nothing_for_the_members() -> None:
    driver = driver_with(t=4, u=3)
    one = Consumer(driver, "a", "t", "u").join()
    two = Consumer(driver, "b", regex="t").join()
    settle(one, two)
    before = (one.epoch, one.has, two.epoch, two.has)
    written = len(driver.written)
    driver.restart()
    settle(one, two)
    assert (one.epoch, one.has, two.epoch, two.has) == before
    assert len(driver.written) == written


def test_an_assignor_nobody_has_is_refused() -> None:
    driver = driver_with(t=1)
    reply = Consumer(driver, "a").send(
        0,
        rebalance_timeout_ms=1,
        subscribed_topic_names=["t"],
        topic_partitions=[],
        server_assignor="mine",
    )
    assert error_of(reply) is ErrorCode.UNSUPPORTED_ASSIGNOR


def test_members_who_want_an_assignor_that_is_no_longer_offered_get_the_first_one() -> None:
    driver = driver_with(t=4)
    one, two = (Consumer(driver, name, "t", assignor="uniform").join() for name in "ab")
    driver.limits = replace(driver.limits, consumer_assignors=("range",))
    driver.restart()
    driver.pass_time(1)
    two.leave()
    settle(one)
    assert one.has == places("t", 0, 1, 2, 3)


def test_ranges_give_equal_topics_equal_cuts() -> None:
    driver = driver_with(t=4, u=4)
    one = Consumer(driver, "a", "t", "u", assignor="range").join()
    two = Consumer(driver, "b", "t", "u", assignor="range").join()
    settle(one, two)
    assert one.has == places("t", 0, 1) | places("u", 0, 1)
    assert two.has == places("t", 2, 3) | places("u", 2, 3)


def test_a_usual_heartbeat_writes_nothing() -> None:
    driver = driver_with(t=4)
    one = Consumer(driver, "a", "t").join()
    settle(one)
    written = len(driver.written)
    for _ in range(5):
        assert one.beat() is ErrorCode.NONE
    assert len(driver.written) == written


def test_a_member_that_waits_for_partitions_keeps_the_configured_pace() -> None:
    driver = driver_with(t=4)
    Consumer(driver, "a", "t").join()
    two = Consumer(driver, "b", "t").join()
    reply = two.send(two.epoch)
    assert not isinstance(reply, KafkaError)
    assert reply.heartbeat_interval_ms == 5_000


def hurried(partitions: int) -> Driver:
    driver = Driver(pace=Pace(assignment_interval_ms=1_000))
    driver.make_topic("t", partitions)
    return driver


def test_many_who_join_at_once_share_one_target() -> None:
    driver = hurried(4)
    one, two, three = (Consumer(driver, name, "t").join() for name in "abc")
    assert one.has == places("t", 0, 1, 2, 3)
    assert two.has == three.has == set()
    first_target = group_of(driver).assignment_epoch
    driver.pass_time(1)
    settle(one, two, three)
    assert group_of(driver).assignment_epoch == group_of(driver).epoch == first_target + 2
    assert one.has | two.has | three.has == places("t", 0, 1, 2, 3)
    assert two.has
    assert three.has


def test_a_target_that_was_put_off_is_made_with_the_next_heartbeat() -> None:
    driver = hurried(2)
    one = Consumer(driver, "a", "t").join()
    Consumer(driver, "b", "t").join()
    assert group_of(driver).state == "Assigning"
    driver.restart()
    driver.pass_time(1)
    assert group_of(driver).state == "Assigning"
    assert one.beat() is ErrorCode.NONE
    assert group_of(driver).assignment_epoch == group_of(driver).epoch


def test_a_clock_that_goes_back_does_not_put_targets_off() -> None:
    driver = hurried(2)
    Consumer(driver, "a", "t").join()
    driver.seconds -= 3_600
    Consumer(driver, "b", "t").join()
    assert group_of(driver).assignment_epoch == group_of(driver).epoch
