"""Members of both protocols in one group, and the group on its way between them."""

from struct import pack

from ottla.errors import ErrorCode, KafkaError
from ottla.groups.classic.group import ClassicGroup, ClassicGroupState
from ottla.groups.consumer.group import ConsumerGroup
from ottla.groups.describing import describe_consumer, listed
from ottla.wire.codec import decode, encode
from ottla.wire.messages.join_group import JoinGroupResponse
from ottla.wire.messages.sync_group import SyncGroupResponse
from ottla.wire.records.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolAssignmentTopicPartition,
    ConsumerProtocolSubscription,
    ConsumerProtocolSubscriptionTopicPartition,
)
from support.committing import committing
from support.consumers import Consumer, settle
from support.group_driver import Driver, Ticket


def subscription(topic: str, *owned: int) -> bytes:
    places = ConsumerProtocolSubscriptionTopicPartition(topic=topic, partitions=list(owned))
    message = ConsumerProtocolSubscription(
        topics=[topic], owned_partitions=[places] if owned else []
    )
    return pack(">h", 1) + encode(message, 1)


def assignment(topic: str, *partitions: int) -> bytes:
    places = ConsumerProtocolAssignmentTopicPartition(topic=topic, partitions=list(partitions))
    return pack(">h", 1) + encode(ConsumerProtocolAssignment(assigned_partitions=[places]), 1)


def read(data: bytes) -> list[int]:
    message, _ = decode(ConsumerProtocolAssignment, 1, data, 2)
    return [index for place in message.assigned_partitions for index in place.partitions]


def code(ticket: Ticket) -> ErrorCode:
    reply = ticket.reply
    return reply.code if isinstance(reply, KafkaError) else ErrorCode(reply.error_code)


class ClassicConsumer:
    """A cooperative consumer: joins again when told, gives up what it was not given."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.id = ""
        self.generation = -1
        self.has: list[int] = []

    def start(self) -> "ClassicConsumer":
        """Alone in a classic group, with everything."""
        joined = self.driver.join(version=3, metadata=subscription("t"))
        self.driver.pass_time(0)
        self.id, self.generation = joined.reply.member_id, joined.reply.generation_id
        synced = self.driver.sync(self.id, self.generation, {self.id: assignment("t", 0, 1, 2, 3)})
        self.has = read(synced.reply.assignment)
        return self

    def beat(self) -> ErrorCode:
        answer = code(self.driver.heartbeat(self.id, self.generation))
        if answer is ErrorCode.REBALANCE_IN_PROGRESS:
            self.rejoin()
        return answer

    def rejoin(self) -> None:
        reply = self.driver.join(self.id, metadata=subscription("t", *self.has)).reply
        assert isinstance(reply, JoinGroupResponse)
        assert reply.error_code == 0, ErrorCode(reply.error_code)
        self.id, self.generation = reply.member_id, reply.generation_id
        synced = self.driver.sync(self.id, self.generation).reply
        assert isinstance(synced, SyncGroupResponse), synced
        given = read(synced.assignment)
        gave_up = set(self.has) - set(given)
        self.has = given
        if gave_up:
            self.rejoin()


def test_a_classic_group_goes_on_as_a_consumer_group() -> None:
    driver = Driver()
    driver.make_topic("t", 4)
    old = ClassicConsumer(driver).start()
    new = Consumer(driver, "new", "t").join()
    assert isinstance(driver.groups.groups["g"], ConsumerGroup)
    assert new.has == set()
    assert old.beat() is ErrorCode.REBALANCE_IN_PROGRESS
    settle(new)
    assert len(old.has) == len(new.has) == 2
    assert not {("t", index) for index in old.has} & new.has
    assert old.beat() is ErrorCode.NONE


def test_both_kinds_survive_a_restart() -> None:
    driver = Driver()
    driver.make_topic("t", 4)
    old = ClassicConsumer(driver).start()
    new = Consumer(driver, "new", "t").join()
    old.beat()
    settle(new)
    before = (old.has, new.has)
    driver.restart()
    assert old.beat() is ErrorCode.NONE
    settle(new)
    assert (old.has, new.has) == before


def test_the_last_new_member_leaves_a_classic_group_behind() -> None:
    driver = Driver()
    driver.make_topic("t", 4)
    old = ClassicConsumer(driver).start()
    new = Consumer(driver, "new", "t").join()
    old.beat()
    settle(new)
    new.leave()
    group = driver.groups.groups["g"]
    assert isinstance(group, ClassicGroup)
    driver.pass_time(0)
    assert group.state is ClassicGroupState.PREPARING_REBALANCE
    assert code(driver.heartbeat(old.id, group.generation)) is ErrorCode.REBALANCE_IN_PROGRESS
    again = driver.join(old.id, metadata=subscription("t", *old.has))
    assert again.reply.leader == old.id
    driver.restart()
    assert isinstance(driver.groups.groups["g"], ClassicGroup)


def test_a_silent_classic_member_loses_its_session_in_a_consumer_group_too() -> None:
    driver = Driver()
    driver.make_topic("t", 4)
    ClassicConsumer(driver).start()
    new = Consumer(driver, "new", "t").join()
    driver.pass_time(11)
    settle(new)
    assert len(new.has) == 4


def test_a_classic_member_that_was_thrown_out_gives_up_what_it_has_before_it_joins() -> None:
    driver = Driver()
    driver.make_topic("t", 4)
    old = ClassicConsumer(driver).start()
    new = Consumer(driver, "new", "t").join()
    driver.pass_time(11)
    settle(new)
    refused = driver.join(old.id, metadata=subscription("t", *old.has))
    assert code(refused) is ErrorCode.UNKNOWN_MEMBER_ID
    assert len(new.has) == 4
    old.has = []
    old.rejoin()
    assert not {("t", index) for index in old.has} & new.has


def test_what_a_classic_member_may_not_have_given_up_yet_is_given_to_nobody_else() -> None:
    driver = Driver()
    driver.make_topic("t", 4)
    old = ClassicConsumer(driver).start()
    joined = driver.join(old.id, metadata=subscription("t", *old.has)).reply
    unheard = driver.sync(old.id, joined.generation_id, {old.id: assignment("t", 0, 1)})
    assert read(unheard.reply.assignment) == [0, 1]
    new = Consumer(driver, "new", "t").join()
    settle(new)
    assert new.has == set()
    old.generation = joined.generation_id
    assert old.beat() is ErrorCode.REBALANCE_IN_PROGRESS
    settle(new)
    assert len(old.has) == len(new.has) == 2


def test_a_closed_way_is_refused() -> None:
    driver = Driver()
    driver.limits = type(driver.limits)(initial_rebalance_delay_ms=0, consumer_migration="disabled")
    driver.groups = driver._machine()
    driver.make_topic("t", 4)
    ClassicConsumer(driver).start()
    reply = Consumer(driver, "new", "t").send(
        0, rebalance_timeout_ms=1, subscribed_topic_names=["t"], topic_partitions=[]
    )
    assert isinstance(reply, KafkaError)
    assert reply.code is ErrorCode.GROUP_ID_NOT_FOUND


def test_an_empty_group_changes_its_kind_with_who_comes_next() -> None:
    driver = Driver()
    driver.make_topic("t", 4)
    one = Consumer(driver, "a", "t").join()
    one.leave()
    old = ClassicConsumer(driver).start()
    assert isinstance(driver.groups.groups["g"], ClassicGroup)
    driver.leave(old.id)
    Consumer(driver, "b", "t").join()
    assert isinstance(driver.groups.groups["g"], ConsumerGroup)
    driver.restart()
    assert isinstance(driver.groups.groups["g"], ConsumerGroup)


def test_an_unknown_member_that_joins_an_empty_group_ends_it_but_not_what_is_shown() -> None:
    driver = Driver()
    driver.make_topic("t", 4)
    one = Consumer(driver, "a", "t").join()
    one.leave()
    assert one.epoch == 2
    assert code(driver.join("nobody")) is ErrorCode.UNKNOWN_MEMBER_ID
    assert describe_consumer(driver.groups, "g").group_state == "Empty"
    assert [each.group_id for each in listed(driver.groups, (), ())] == ["g"]
    other = Consumer(driver, "b", "t").join()
    assert other.epoch == 2, "a new group has begun"
    assert [each.group_id for each in listed(driver.groups, (), ())] == ["g"]
    driver.restart()
    assert other.beat() is ErrorCode.NONE


def test_offsets_of_a_group_that_was_forgotten_age_as_others() -> None:
    driver = Driver(offsets_retention_ms=60_000, retention_check_interval_ms=1_000)
    driver.make_topic("t", 4)
    one = Consumer(driver, "a", "t").join()
    assert committing(driver, "a", one.epoch, ("t", 0)) is ErrorCode.NONE
    one.leave()
    driver.join("nobody")
    assert driver.groups.offsets.of("g")
    driver.pass_time(70)
    assert not driver.groups.offsets.of("g")


def test_who_waits_is_sent_to_join_again_though_the_group_stays_classic() -> None:
    driver = Driver()
    driver.make_topic("t", 4)
    both = driver.join(instance="one", protocols=("sticky", "range"), metadata=subscription("t"))
    driver.pass_time(0)
    assert both.reply.protocol_name == "sticky"
    waiting = driver.join(instance="two", protocols=("range",), metadata=subscription("t"))
    assert waiting.waits
    reply = Consumer(driver, "new", "t").send(
        0, rebalance_timeout_ms=1, subscribed_topic_names=["t"], topic_partitions=[]
    )
    assert not isinstance(reply, KafkaError)
    assert reply.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert code(waiting) is ErrorCode.REBALANCE_IN_PROGRESS
    again = driver.join(
        waiting.reply.member_id, instance="two", protocols=("range",), metadata=subscription("t")
    )
    driver.join(
        both.reply.member_id,
        instance="one",
        protocols=("sticky", "range"),
        metadata=subscription("t"),
    )
    assert code(again) is ErrorCode.NONE
    assert again.reply.protocol_name == "range"


def test_who_takes_the_place_of_another_waits_for_what_it_had_itself() -> None:
    driver = Driver()
    driver.make_topic("t", 4)
    one = Consumer(driver, "a", "t").join()
    driver.join(instance="i", metadata=subscription("t"))
    one.instance = "i"
    one.join()
    assert one.has == set(), "as in Kafka: before this it had all of them under another name"
    settle(one)
    assert len(one.has) == 2


def test_a_group_that_is_classic_again_knows_what_it_is_subscribed_to() -> None:
    driver = Driver()
    driver.make_topic("t", 4)
    Consumer(driver, "a", "t", instance="i").join()
    driver.join(instance="i", metadata=subscription("t"))
    group = driver.groups.groups["g"]
    assert isinstance(group, ClassicGroup)
    assert group.is_subscribed_to("t")
    assert not group.is_subscribed_to("u")
