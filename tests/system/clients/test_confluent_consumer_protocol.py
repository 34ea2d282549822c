"""The consumer group protocol of KIP-848 through librdkafka."""

from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient

from support.confluent import SECONDS_MAX, poll_until, produce, take
from system.clients.conftest import MakeTopic


def member(bootstrap: str, group: str, topic: str) -> Consumer:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "group.protocol": "consumer",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([topic])
    return consumer


def held(consumer: Consumer) -> set[int]:
    return {place.partition for place in consumer.assignment()}


def test_members_share_and_inherit_partitions(
    bootstrap: str, make_topic: MakeTopic, group: str
) -> None:
    topic = make_topic(partitions=4)
    first = member(bootstrap, group, topic)
    poll_until(lambda: held(first) == {0, 1, 2, 3}, first)
    second = member(bootstrap, group, topic)

    def shared() -> bool:
        both = (held(first), held(second))
        return sorted(map(len, both)) == [2, 2] and set.union(*both) == {0, 1, 2, 3}

    poll_until(shared, first, second)
    second.close()
    poll_until(lambda: held(first) == {0, 1, 2, 3}, first)
    first.close()


def test_a_committed_offset_is_where_the_next_member_starts(
    bootstrap: str, topic: str, group: str
) -> None:
    produce(bootstrap, topic, [b"%d" % n for n in range(10)])
    first = member(bootstrap, group, topic)
    first.commit(message=take(first, 4)[-1], asynchronous=False)
    first.close()
    second = member(bootstrap, group, topic)
    assert [m.offset() for m in take(second, 6)] == [4, 5, 6, 7, 8, 9]
    second.close()


def test_a_pattern_is_matched_by_the_broker(
    bootstrap: str, make_topic: MakeTopic, group: str
) -> None:
    topic = make_topic()
    subscribed = member(bootstrap, group, f"^{topic}.*")
    poll_until(lambda: held(subscribed) == {0}, subscribed)
    subscribed.close()


def test_the_group_is_described_with_its_type(
    bootstrap: str, admin: AdminClient, topic: str, group: str
) -> None:
    subscribed = member(bootstrap, group, topic)
    poll_until(lambda: held(subscribed) == {0}, subscribed)
    described = admin.describe_consumer_groups([group])[group].result(SECONDS_MAX)
    assert described.type.name == "CONSUMER"
    assert len(described.members) == 1
    subscribed.close()
