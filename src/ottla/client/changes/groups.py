"""Groups: their offsets set elsewhere, and groups deleted with what they committed."""

from collections.abc import Mapping
from dataclasses import dataclass
from time import monotonic, sleep
from typing import Literal, NamedTuple

from confluent_kafka import (
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    TopicPartition,
)
from confluent_kafka.admin import OffsetSpec

from ottla.client.admin import TIMEOUT_S, Admin, Place
from ottla.client.changes import Outcome, Told
from ottla.client.changes.topics import deleted
from ottla.client.cluster import Cluster
from ottla.client.kafka_errors import explain
from ottla.errors import ErrorCode, OttlaError

RETRY_S = 0.2
ON_THE_MOVE = (
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
)
"""The group's coordinator is being found; librdkafka tells that for each partition and gives up."""


class Goal(NamedTuple):
    """Where a group shall stand. `number`: an offset, records from where it stands, or a time."""

    kind: Literal["earliest", "latest", "offset", "shift", "time"]
    number: int = 0


class GroupOffsets(NamedTuple):
    """What the partitions hold, and where the group stands in them."""

    first: Mapping[Place, int]
    last: Mapping[Place, int]
    committed: Mapping[Place, int]
    at_time: Mapping[Place, int]  # of the first record since then; below zero: there is none


class Reset(NamedTuple):
    topic: str
    partition: int
    before: int | None
    after: int


@dataclass(frozen=True, slots=True)
class ResetOffsets:
    group: str
    places: tuple[str, ...]  # TOPIC, or TOPIC:PARTITION
    to: Goal

    def look(self, cluster: Cluster) -> GroupOffsets:
        admin = cluster.admin
        named = [place for given in self.places for place in _places(admin, given)]
        places = list(dict.fromkeys(named))  # `t` and `t:0` name a partition twice
        committed = admin.committed(self.group)
        moment = OffsetSpec.for_timestamp(self.to.number)
        return GroupOffsets(
            _offsets(admin, places, OffsetSpec.earliest()),
            _offsets(admin, places, OffsetSpec.latest()),
            committed,
            _offsets(admin, places, moment) if self.to.kind == "time" else {},
        )

    def preview(self, state: GroupOffsets) -> tuple[Reset, ...]:
        """Goals outside the log are moved to its nearest end."""
        return tuple(
            Reset(
                *place,
                state.committed.get(place),
                max(first, min(self._wanted(place, state), state.last[place])),
            )
            for place, first in state.first.items()
        )

    def _wanted(self, place: Place, state: GroupOffsets) -> int:
        match self.to.kind:
            case "earliest":
                return state.first[place]
            case "latest":
                return state.last[place]
            case "offset":
                return self.to.number
            case "shift":
                return state.committed.get(place, state.first[place]) + self.to.number
            case "time":
                found = state.at_time[place]
                return found if found >= 0 else state.last[place]

    def perform(self, cluster: Cluster, preview: tuple[Reset, ...], told: Told) -> Outcome:
        """The broker answers for each partition; a group that reads refuses them one by one."""
        parts = [TopicPartition(one.topic, one.partition, one.after) for one in preview]
        errors = self._try(cluster, parts)
        deadline = monotonic() + TIMEOUT_S
        while errors and errors[0].code() in ON_THE_MOVE and monotonic() < deadline:
            sleep(RETRY_S)
            errors = self._try(cluster, parts)
        if errors:
            raise OttlaError(
                f"{len(errors)} of {len(parts)} partitions were not moved: "
                f"{explain(KafkaException(errors[0]), cluster.connection.bootstrap)}"
            )
        return Outcome(())

    def _try(self, cluster: Cluster, parts: list[TopicPartition]) -> list[KafkaError]:
        request = ConsumerGroupTopicPartitions(self.group, parts)
        answers = cluster.admin.client.alter_consumer_group_offsets([request])
        answer = answers[self.group].result(TIMEOUT_S)
        return [part.error for part in answer.topic_partitions if part.error is not None]


def _places(admin: Admin, given: str) -> list[Place]:
    name, _, number = given.rpartition(":") if ":" in given else (given, "", "")
    partitions = sorted(admin.topic(name).partitions)
    if not number:
        return [(name, each) for each in partitions]
    if not number.isdigit() or int(number) not in partitions:
        raise OttlaError(f"{name} has no partition {number}.")
    return [(name, int(number))]


def _offsets(admin: Admin, places: list[Place], spec: OffsetSpec) -> dict[Place, int]:
    found = admin.offsets(places, spec)
    for name, number in places:
        if (name, number) not in found:
            raise OttlaError(
                f"{name}-{number} has no leader, so nobody knows its offsets. Start a broker "
                f"that holds it, or name the other partitions: --topic {name}:PARTITION."
            )
    return {place: found[place] for place in places}


class GroupDeletion(NamedTuple):
    group: str
    state: str | None  # None where no consumers have such a group; it may be of another kind
    members: int


@dataclass(frozen=True, slots=True)
class DeleteGroups:
    groups: tuple[str, ...]

    def look(self, cluster: Cluster) -> dict[str, GroupDeletion]:
        known: dict[str, GroupDeletion] = {}
        for name in self.groups:
            found = cluster.admin.group(name)
            if found is not None:
                state = found.state.name.lower()
                known[name] = GroupDeletion(name, state, len(found.members))
        return known

    def preview(self, state: Mapping[str, GroupDeletion]) -> tuple[GroupDeletion, ...]:
        return tuple(state.get(name, GroupDeletion(name, None, 0)) for name in self.groups)

    def perform(self, cluster: Cluster, preview: tuple[GroupDeletion, ...], told: Told) -> Outcome:
        names = [one.group for one in preview]
        return deleted(cluster.admin.client.delete_consumer_groups(names), told)
