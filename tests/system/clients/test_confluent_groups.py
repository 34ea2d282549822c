"""The classic group protocol through librdkafka: rebalances, commits, static members."""

from dataclasses import dataclass, field

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions

from support.confluent import SECONDS_MAX, create_topic, poll_until, produce, take
from system.clients.conftest import MakeTopic


@dataclass
class Member:
    """A consumer that remembers what it was given and what was taken from it."""

    consumer: Consumer
    given: list[list[int]] = field(default_factory=list)
    taken: list[list[int]] = field(default_factory=list)

    @property
    def holds(self) -> set[int]:
        return {place.partition for place in self.consumer.assignment()}


def member(bootstrap: str, group: str, topic: str, strategy: str, **extra: str | bool) -> Member:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "session.timeout.ms": 6000,
            "heartbeat.interval.ms": 200,
            "partition.assignment.strategy": strategy,
            **{name.replace("_", "."): value for name, value in extra.items()},
        }
    )
    joined = Member(consumer)
    consumer.subscribe(
        [topic],
        on_assign=lambda _, places: joined.given.append([p.partition for p in places]),
        on_revoke=lambda _, places: joined.taken.append([p.partition for p in places]),
    )
    return joined


STRATEGIES = ["range", "roundrobin", "cooperative-sticky"]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_members_share_the_partitions_and_inherit_from_one_that_leaves(
    bootstrap: str, make_topic: MakeTopic, group: str, strategy: str
) -> None:
    topic = make_topic(partitions=4)
    first = member(bootstrap, group, topic, strategy)
    poll_until(lambda: first.holds == {0, 1, 2, 3}, first.consumer)
    second = member(bootstrap, group, topic, strategy)

    def shared() -> bool:
        both = (first.holds, second.holds)
        return sorted(map(len, both)) == [2, 2] and set.union(*both) == {0, 1, 2, 3}

    poll_until(shared, first.consumer, second.consumer)
    second.consumer.close()
    poll_until(lambda: first.holds == {0, 1, 2, 3}, first.consumer)
    first.consumer.close()


def test_an_eager_rebalance_takes_all_and_a_cooperative_one_only_what_moves(
    bootstrap: str, make_topic: MakeTopic, group: str
) -> None:
    for strategy, taken in (("range", 4), ("cooperative-sticky", 2)):
        topic = make_topic(partitions=4)
        first = member(bootstrap, f"{group}-{strategy}", topic, strategy)
        poll_until(lambda first=first: len(first.holds) == 4, first.consumer)
        second = member(bootstrap, f"{group}-{strategy}", topic, strategy)
        poll_until(lambda second=second: len(second.holds) == 2, first.consumer, second.consumer)
        assert len(first.taken[0]) == taken
        first.consumer.close()
        second.consumer.close()


def test_a_committed_offset_is_where_the_next_member_starts(
    bootstrap: str, topic: str, group: str
) -> None:
    produce(bootstrap, topic, [b"%d" % n for n in range(10)])
    first = member(bootstrap, group, topic, "range").consumer
    messages = take(first, 5)
    [committed] = first.commit(message=messages[3], asynchronous=False)
    assert committed.offset == 4
    first.close()
    second = member(bootstrap, group, topic, "range").consumer
    assert [m.offset() for m in take(second, 6)] == [4, 5, 6, 7, 8, 9]
    second.close()


def test_committed_offsets_carry_metadata_and_unknown_ones_are_invalid(
    bootstrap: str, make_topic: MakeTopic, group: str
) -> None:
    topic = make_topic(partitions=2)
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    consumer.commit(
        offsets=[TopicPartition(topic, 0, 7, metadata="up to seven")], asynchronous=False
    )
    asked = [TopicPartition(topic, 0), TopicPartition(topic, 1)]
    committed, unknown = consumer.committed(asked, timeout=SECONDS_MAX)
    assert (committed.offset, committed.metadata) == (7, "up to seven")
    assert unknown.offset == -1001  # OFFSET_INVALID: nothing was committed
    consumer.close()


def test_auto_commit_on_close_loses_nothing_and_repeats_nothing(
    bootstrap: str, topic: str, group: str
) -> None:
    produce(bootstrap, topic, [b"%d" % n for n in range(20)])
    first = member(bootstrap, group, topic, "range", enable_auto_commit=True).consumer
    assert [m.offset() for m in take(first, 8)] == list(range(8))
    first.close()
    second = member(bootstrap, group, topic, "range", enable_auto_commit=True).consumer
    assert [m.offset() for m in take(second, 12)] == list(range(8, 20))
    second.close()


def test_a_static_member_comes_back_to_its_partitions_without_a_rebalance(
    bootstrap: str, make_topic: MakeTopic, group: str
) -> None:
    topic = make_topic(partitions=4)
    anna = member(bootstrap, group, topic, "range", group_instance_id="anna")
    bert = member(bootstrap, group, topic, "range", group_instance_id="bert")
    poll_until(lambda: len(anna.holds) == 2 == len(bert.holds), anna.consumer, bert.consumer)
    held, rebalances = bert.holds, len(anna.given)
    bert.consumer.close()  # a static member does not say goodbye
    bert = member(bootstrap, group, topic, "range", group_instance_id="bert")
    poll_until(lambda: bert.holds == held, anna.consumer, bert.consumer)
    assert len(anna.given) == rebalances
    anna.consumer.close()
    bert.consumer.close()


def test_a_second_static_member_of_the_same_name_fences_the_first(
    bootstrap: str, topic: str, group: str
) -> None:
    first = member(bootstrap, group, topic, "range", group_instance_id="anna")
    poll_until(lambda: first.holds == {0}, first.consumer)
    second = member(bootstrap, group, topic, "range", group_instance_id="anna")
    fenced: list[int] = []

    def told() -> bool:
        try:
            message = first.consumer.poll(0.1)
        except KafkaException as error:
            fenced.append(error.args[0].code())
            return True
        if message is not None and (failure := message.error()):
            fenced.append(failure.code())
        return bool(fenced)

    poll_until(told, second.consumer)
    assert fenced[0] in (KafkaError._FATAL, KafkaError.FENCED_INSTANCE_ID)
    second.consumer.close()
    first.consumer.close()


def test_a_member_that_dies_is_replaced_after_its_session(
    bootstrap: str, make_topic: MakeTopic, group: str
) -> None:
    topic = make_topic(partitions=2)
    stays = member(bootstrap, group, topic, "range")
    poll_until(lambda: stays.holds == {0, 1}, stays.consumer)
    vanishes = member(bootstrap, group, topic, "range", max_poll_interval_ms="6000")
    poll_until(lambda: len(vanishes.holds) == 1, stays.consumer, vanishes.consumer)
    # It stops polling, so that it is out of the group after max.poll.interval.ms.
    poll_until(lambda: stays.holds == {0, 1}, stays.consumer)
    vanishes.consumer.close()
    stays.consumer.close()


def test_a_pattern_subscribes_to_topics_that_come_later(
    bootstrap: str, make_topic: MakeTopic, group: str
) -> None:
    first_topic = make_topic()
    subscribed = member(
        bootstrap,
        group,
        "^" + first_topic + ".*",
        "range",
        topic_metadata_refresh_interval_ms="200",
    )
    poll_until(lambda: subscribed.holds == {0}, subscribed.consumer)
    create_topic(bootstrap, first_topic + "-later")
    poll_until(lambda: len(subscribed.consumer.assignment()) == 2, subscribed.consumer)
    subscribed.consumer.close()


def test_new_partitions_reach_a_running_group(
    bootstrap: str, make_topic: MakeTopic, group: str
) -> None:
    topic = make_topic(partitions=1)
    subscribed = member(bootstrap, group, topic, "range", topic_metadata_refresh_interval_ms="200")
    poll_until(lambda: subscribed.holds == {0}, subscribed.consumer)
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_partitions([NewPartitions(topic, 3)])[topic].result(SECONDS_MAX)
    poll_until(lambda: subscribed.holds == {0, 1, 2}, subscribed.consumer)
    subscribed.consumer.close()


def test_a_commit_by_a_stranger_to_an_active_group_is_refused(
    bootstrap: str, topic: str, group: str
) -> None:
    active = member(bootstrap, group, topic, "range")
    poll_until(lambda: active.holds == {0}, active.consumer)
    stranger = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    with pytest.raises(KafkaException) as refused:
        stranger.commit(offsets=[TopicPartition(topic, 0, 1)], asynchronous=False)
    assert refused.value.args[0].code() == KafkaError.UNKNOWN_MEMBER_ID
    stranger.close()
    active.consumer.close()
