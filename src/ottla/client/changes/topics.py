"""Topics: their options and partitions altered, and topics deleted."""

from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import NamedTuple

from confluent_kafka import KafkaException
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.cimpl import NewPartitions

from ottla.client.admin import TIMEOUT_S
from ottla.client.changes import Outcome, Told
from ottla.client.cluster import Cluster
from ottla.client.kafka_errors import reason
from ottla.errors import OttlaError

PARTITIONS = "partitions"


class TopicState(NamedTuple):
    partitions: int
    configs: Mapping[str, str | None]  # its own, no defaults


class Alteration(NamedTuple):
    what: str  # an option, or `PARTITIONS`
    before: str | None  # None: the default
    after: str | None


@dataclass(frozen=True, slots=True)
class AlterTopic:
    topic: str
    partitions: int | None = None
    configs: Mapping[str, str] = field(default_factory=dict)
    unset: tuple[str, ...] = ()

    def look(self, cluster: Cluster) -> TopicState:
        partitions = len(cluster.admin.topic(self.topic).partitions)
        asks = bool(self.configs or self.unset)
        return TopicState(partitions, cluster.admin.configs(self.topic) if asks else {})

    def preview(self, state: TopicState) -> tuple[Alteration, ...]:
        if self.partitions and self.partitions <= state.partitions:
            raise OttlaError(
                f"{self.topic} has {state.partitions} partitions already, and a partition cannot "
                "be taken away: what is in it would be lost."
            )
        altered = {**self.configs, **dict.fromkeys(self.unset)}
        counted = [Alteration(PARTITIONS, str(state.partitions), str(self.partitions))]
        return (
            *(counted if self.partitions else ()),
            *(Alteration(name, state.configs.get(name), altered[name]) for name in altered),
        )

    def perform(self, cluster: Cluster, preview: tuple[Alteration, ...], told: Told) -> Outcome:
        admin = cluster.admin.client
        if self.partitions:
            more = NewPartitions(self.topic, self.partitions)
            admin.create_partitions([more])[self.topic].result(TIMEOUT_S)
        entries = [
            ConfigEntry(one.what, one.after, incremental_operation=operation(one))
            for one in preview
            if one.what != PARTITIONS
        ]
        if entries:
            kind = ConfigResource.Type.TOPIC
            resource = ConfigResource(kind, self.topic, incremental_configs=entries)
            admin.incremental_alter_configs([resource])[resource].result(TIMEOUT_S)
        return Outcome((f"Changed {self.topic}.",))


def operation(one: Alteration) -> AlterConfigOpType:
    return AlterConfigOpType.DELETE if one.after is None else AlterConfigOpType.SET


class Deletion(NamedTuple):
    topic: str
    partitions: int | None  # None: there is no such topic


@dataclass(frozen=True, slots=True)
class DeleteTopics:
    topics: tuple[str, ...]

    def look(self, cluster: Cluster) -> dict[str, int]:
        """How many partitions each topic has."""
        found = cluster.admin.metadata().topics
        return {name: len(topic.partitions) for name, topic in found.items()}

    def preview(self, state: Mapping[str, int]) -> tuple[Deletion, ...]:
        return tuple(Deletion(name, state.get(name)) for name in self.topics)

    def perform(self, cluster: Cluster, preview: tuple[Deletion, ...], told: Told) -> Outcome:
        return deleted(cluster.admin.client.delete_topics([one.topic for one in preview]), told)


def deleted(answers: Mapping[str, "Future[None]"], told: Told) -> Outcome:
    """Of topics or groups: each for itself."""
    sentences, failed = [], False
    for done, (name, future) in enumerate(answers.items(), 1):
        try:
            future.result(TIMEOUT_S)
            sentences.append(f"Deleted {name}.")
        except KafkaException as error:
            failed = True
            sentences.append(f"{name} was not deleted: {reason(error)}.")
        told(done, len(answers))
    return Outcome(tuple(sentences), failed)
