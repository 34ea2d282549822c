"""What the tools ask through librdkafka, with answers instead of futures.

Nothing here knows Ottla's server; it works against Apache Kafka, over any listener that librdkafka
can reach.
"""

from collections.abc import Iterable

from confluent_kafka import (
    Consumer,
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka import KafkaError as ClientError
from confluent_kafka.admin import (
    AdminClient,
    ClusterMetadata,
    ConfigResource,
    ConfigSource,
    ConsumerGroupDescription,
    OffsetSpec,
    TopicMetadata,
)

from ottla.client.connection import Connection
from ottla.client.kafka_errors import explain
from ottla.errors import OttlaError

Place = tuple[str, int]  # topic, partition
TIMEOUT_S = 15.0


def read_metadata(
    client: AdminClient | Producer | Consumer, connection: Connection
) -> ClusterMetadata:
    """Brokers and topics; OttlaError when no broker answers."""
    try:
        found = client.list_topics(timeout=5)
    except KafkaException as error:
        raise OttlaError(explain(error, connection.bootstrap)) from None
    assert isinstance(found, ClusterMetadata)
    return found


def find_topic(
    client: AdminClient | Producer | Consumer, connection: Connection, name: str
) -> TopicMetadata:
    """A topic that must exist; looked for among all, because asking for one may create it."""
    topic = read_metadata(client, connection).topics.get(name)
    if topic is None:
        raise OttlaError(f"There is no topic {name}. `ottla topic list` shows those there are.")
    return topic


class Admin:
    """One admin client; OttlaError when no broker answers as it is made."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.client = connection.admin()
        self.metadata()

    def metadata(self) -> ClusterMetadata:
        return read_metadata(self.client, self.connection)

    def topic(self, name: str) -> TopicMetadata:
        return find_topic(self.client, self.connection, name)

    def configs(self, topic: str) -> dict[str, str | None]:
        """The options of a topic that are its own, no defaults."""
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
        entries = self.client.describe_configs([resource])[resource].result(TIMEOUT_S)
        own = ConfigSource.DYNAMIC_TOPIC_CONFIG.value
        return {key: entry.value for key, entry in entries.items() if entry.source == own}

    def offsets(self, places: Iterable[Place], spec: OffsetSpec) -> dict[Place, int]:
        """Of the partitions that have a leader: nobody can answer for the others."""
        topics = self.metadata().topics
        led = {
            (name, number)
            for name, topic in topics.items()
            for number, part in topic.partitions.items()
            if part.leader >= 0
        }
        asked = {TopicPartition(*place): spec for place in places if place in led}
        found = self.client.list_offsets(asked) if asked else {}
        return {
            (part.topic, part.partition): future.result(TIMEOUT_S).offset
            for part, future in found.items()
        }

    def group(self, name: str) -> ConsumerGroupDescription | None:
        """None where no consumers have such a group.

        Only the coordinator is asked: a list of all groups would wait for brokers that are down.
        """
        try:
            found = self.client.describe_consumer_groups([name])[name].result(TIMEOUT_S)
        except KafkaException as error:
            if error.args[0].code() != ClientError.GROUP_ID_NOT_FOUND:
                raise
            return None
        assert isinstance(found, ConsumerGroupDescription)
        return None if found.state == ConsumerGroupState.DEAD else found

    def committed(self, group: str) -> dict[Place, int]:
        request = ConsumerGroupTopicPartitions(group)
        answer = self.client.list_consumer_group_offsets([request])[group].result(TIMEOUT_S)
        return {
            (part.topic, part.partition): part.offset
            for part in answer.topic_partitions
            if part.offset >= 0
        }
