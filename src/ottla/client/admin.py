"""The cluster as the tools see it: clients of librdkafka, made alike, and errors in a sentence.

Nothing here knows Ottla's server; the tools work against Apache Kafka too.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka import KafkaError as ClientError
from confluent_kafka.admin import AdminClient, ClusterMetadata, OffsetSpec, TopicMetadata

from ottla.errors import OttlaError

Place = tuple[str, int]  # topic, partition
TIMEOUT_S = 15.0
_UNREACHABLE = frozenset(
    {
        ClientError._TRANSPORT,
        ClientError._ALL_BROKERS_DOWN,
        ClientError._TIMED_OUT,
        ClientError._RESOLVE,
    }
)
_ADVICE = {
    ClientError.TOPIC_ALREADY_EXISTS: "Choose another name, or add --if-not-exists.",
    ClientError.UNKNOWN_TOPIC_OR_PART: "`ottla topic list` shows the topics there are.",
    ClientError.GROUP_ID_NOT_FOUND: "`ottla group list` shows the groups there are.",
    ClientError.NON_EMPTY_GROUP: "Stop the group's consumers first.",
    ClientError.UNKNOWN_MEMBER_ID: "Stop the group's consumers first.",
    ClientError.INVALID_REPLICATION_FACTOR: "There are fewer brokers than replicas asked for.",
    ClientError.MSG_SIZE_TOO_LARGE: "Raise max.message.bytes of the topic.",
}


class Cluster:
    """Where the brokers are, and clients for them."""

    def __init__(self, bootstrap: str, client_options: Mapping[str, str]) -> None:
        self.bootstrap = bootstrap
        self._options: dict[str, Any] = {
            "bootstrap.servers": bootstrap,
            "client.id": "ottla",
            "log_level": 0,  # what goes wrong is told once, by `explain`
            "socket.connection.setup.timeout.ms": 5000,
            **client_options,
        }

    def admin(self) -> AdminClient:
        """A client for administration; OttlaError when no broker answers."""
        admin = AdminClient(dict(self._options))
        self.metadata(admin)
        return admin

    def producer(self, **options: Any) -> Producer:
        return Producer({**options, **self._options})  # --client may say otherwise

    def consumer(self, **options: Any) -> Consumer:
        return Consumer({**self._options, **options})

    def metadata(self, client: AdminClient | Producer | Consumer) -> ClusterMetadata:
        """Brokers and topics; OttlaError when no broker answers."""
        try:
            found = client.list_topics(timeout=5)
        except KafkaException as error:
            raise OttlaError(explain(error, self.bootstrap)) from None
        assert isinstance(found, ClusterMetadata)
        return found

    def topic(self, client: AdminClient | Producer | Consumer, name: str) -> TopicMetadata:
        """A topic that must exist; asked among all, because asking for one may create it."""
        topic = self.metadata(client).topics.get(name)
        if topic is None:
            raise OttlaError(f"There is no topic {name}. `ottla topic list` shows those there are.")
        return topic

    def offsets(
        self, admin: AdminClient, places: Iterable[Place], spec: OffsetSpec
    ) -> dict[Place, int]:
        """Of the partitions that have a leader: nobody can answer for the others."""
        topics = self.metadata(admin).topics
        led = {
            (name, number)
            for name, topic in topics.items()
            for number, part in topic.partitions.items()
            if part.leader >= 0
        }
        asked = {TopicPartition(*place): spec for place in places if place in led}
        found = admin.list_offsets(asked) if asked else {}
        return {
            (part.topic, part.partition): future.result(TIMEOUT_S).offset
            for part, future in found.items()
        }


def explain(error: BaseException, bootstrap: str) -> str:
    """A sentence that says what happened and what to do."""
    cause = error.args[0] if error.args else None
    if not isinstance(cause, ClientError):
        return str(error) or type(error).__name__
    if cause.code() in _UNREACHABLE:
        return (
            f"No broker answers at {bootstrap}. Start one with `ottla start`, "
            "or name another with --bootstrap."
        )
    said = cause.str().removeprefix("Broker: ").rstrip(".")
    return " ".join(filter(None, [f"{said}.", _ADVICE.get(cause.code())]))
