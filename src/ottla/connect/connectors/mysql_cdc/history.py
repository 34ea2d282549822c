"""The schema history in its topic: Debezium's documents, one for each change of a definition."""

import json
import logging
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import NewTopic

from ottla.client.connection import Connection
from ottla.client.properties import JAVA_ALONE, Property
from ottla.connect.connector import ConnectError, RetriableError
from ottla.connect.connectors.mysql_cdc.settings import CONSUMER, PRODUCER, HistorySettings

_WITHIN_S = 60.0
_CONFIG = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}
_log = logging.getLogger(__name__)
Document = Mapping[str, Any]


class SchemaHistory(Protocol):
    def documents(self) -> Iterable[Document]:
        """All that there are, in their order."""

    def append(self, documents: Iterable[Document]) -> None:
        """Returns when they are there to stay."""


class KafkaSchemaHistory:
    def __init__(self, settings: HistorySettings) -> None:
        self._topic = settings.topic
        self._reading = _connection(settings.bootstrap, settings.consumer, CONSUMER)
        self._writing = _connection(settings.bootstrap, settings.producer, PRODUCER)

    def documents(self) -> Iterator[Document]:
        options = {"group.id": self._topic, "enable.partition.eof": True}
        consumer = self._reading.consumer(options, fixed={"enable.auto.commit": False})
        try:
            if self._topic not in consumer.list_topics(timeout=_WITHIN_S).topics:
                return
            consumer.assign([TopicPartition(self._topic, 0, 0)])
            while True:
                message = consumer.poll(_WITHIN_S)
                if message is None:
                    raise RetriableError(f"The schema history {self._topic} cannot be read.")
                error = message.error()
                if error is not None:
                    if error.code() == KafkaError._PARTITION_EOF:
                        return
                    raise RetriableError(f"The schema history {self._topic}: {error.str()}")
                value = message.value()
                if value is not None:
                    yield self._document(value)
        except KafkaException as error:
            raise self._failed("read", error) from None
        finally:
            consumer.close()

    def _document(self, value: bytes) -> Document:
        try:
            document: Document = json.loads(value)
        except ValueError:
            raise ConnectError(
                f"The schema history {self._topic} has a record that is no JSON."
            ) from None
        return document

    def append(self, documents: Iterable[Document]) -> None:
        self._create()
        failures: list[KafkaError] = []

        def delivered(error: KafkaError | None, _message: Any) -> None:
            if error is not None:
                failures.append(error)

        producer = self._writing.producer({"acks": "all", "linger.ms": 5})
        try:
            for one in documents:
                value = json.dumps(one, ensure_ascii=False, separators=(",", ":")).encode()
                producer.produce(self._topic, value, partition=0, on_delivery=delivered)
            left = producer.flush(_WITHIN_S)
        except (KafkaException, BufferError) as error:
            raise self._failed("written", error) from None
        if failures or left:
            said = failures[0].str() if failures else "it does not answer"
            raise RetriableError(f"The schema history {self._topic} cannot be written: {said}")

    def _create(self) -> None:
        """Where it is missing: one partition, from which nothing is ever deleted."""
        admin = self._writing.admin()
        try:
            if self._topic in admin.list_topics(timeout=_WITHIN_S).topics:
                return
            made = admin.create_topics([NewTopic(self._topic, 1, -1, config=_CONFIG)])
            made[self._topic].result(_WITHIN_S)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise self._failed("created", error) from None

    def _failed(self, what: str, error: Exception) -> ConnectError:
        return RetriableError(f"The schema history {self._topic} cannot be {what}: {error}")


def _connection(bootstrap: str, properties: Mapping[str, str], prefix: str) -> Connection:
    kept = [
        Property(name, value, f"{prefix}{name}")
        for name, value in properties.items()
        if name not in JAVA_ALONE
    ]
    return Connection(bootstrap).override(None, kept)
