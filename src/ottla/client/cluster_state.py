"""What a cluster says of itself: quorum, brokers, partitions, and how far each replica is.

Asked of every broker at once; what does not answer is left out and said so. Works against Apache
Kafka as well.
"""

import asyncio
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ottla.client.balancing import Key, Placed
from ottla.client.wire_client import Address, WireClient
from ottla.errors import ErrorCode, OttlaError
from ottla.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from ottla.wire.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse
from ottla.wire.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    RequestPartitionData,
    RequestTopicData,
)
from ottla.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from ottla.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from ottla.wire.messages.metadata import MetadataRequest, MetadataResponse

METADATA_TOPIC = "__cluster_metadata"
ANY_REPLICA = -2  # asks a broker for the end of its own replica, whether it leads or not
LATEST = -1
BROKERS = 1


class QuorumMember(NamedTuple):
    """One node that reads the metadata log."""

    id: int
    is_voter: bool
    log_end: int


class Quorum(NamedTuple):
    leader: int
    epoch: int
    committed: int
    members: tuple[QuorumMember, ...]

    def lag(self, member: QuorumMember) -> int | None:
        """Records behind the leader; None for a member that the leader has not heard of."""
        if member.log_end < 0:
            return None
        ends = [one.log_end for one in self.members if one.id == self.leader]
        return max(0, max(ends, default=member.log_end) - member.log_end)


class Broker(NamedTuple):
    id: int
    address: Address
    rack: str | None
    is_fenced: bool
    answers: bool


class Partition(NamedTuple):
    topic: str
    partition: int
    leader: int  # -1: nobody
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]
    sizes: Mapping[int, int]  # bytes, by broker
    ends: Mapping[int, int]  # log end offsets, by broker

    @property
    def key(self) -> Key:
        return self.topic, self.partition

    @property
    def size(self) -> int:
        return max(self.sizes.values(), default=0)

    @property
    def is_under_replicated(self) -> bool:
        return len(self.in_sync) < len(self.replicas) or self.leader < 0

    def lag(self, broker: int) -> int | None:
        """Records that a replica is behind its leader; None where one of the two is silent."""
        if self.leader not in self.ends or broker not in self.ends:
            return None
        return max(0, self.ends[self.leader] - self.ends[broker])


class ClusterState(NamedTuple):
    cluster_id: str
    quorum: Quorum
    brokers: tuple[Broker, ...]
    partitions: tuple[Partition, ...]
    moving: tuple[Key, ...]

    @property
    def racks(self) -> dict[int, str | None]:
        """Of the brokers that can take replicas."""
        return {one.id: one.rack for one in self.brokers if one.answers and not one.is_fenced}

    @property
    def led(self) -> "ClusterState":
        """Without the partitions that have no leader: there is nobody to copy them from."""
        return self._replace(partitions=tuple(one for one in self.partitions if one.leader >= 0))

    @property
    def placed(self) -> list[Placed]:
        return [Placed(one.topic, one.partition, one.replicas, one.size) for one in self.partitions]


async def read_cluster(wire: WireClient) -> ClusterState:
    """One look at everything; OttlaError when no broker answers."""
    described = await wire.ask_any(
        DescribeClusterRequest(endpoint_type=BROKERS, include_fenced_brokers=True),
        DescribeClusterResponse,
    )
    refuse(described.error_code, described.error_message)
    everything = MetadataRequest(topics=None, allow_auto_topic_creation=False)
    metadata = await wire.ask_any(everything, MetadataResponse)
    quorum, moving = await read_quorum(wire), await read_moving(wire)
    places = {one.broker_id: (one.host, one.port) for one in described.brokers}
    wire.also_at(places.values())
    held = _held(metadata)
    answers = await asyncio.gather(
        *(_look_into(wire, place, held.get(node, ())) for node, place in places.items())
    )
    looks = dict(zip(places, answers, strict=True))
    return ClusterState(
        metadata.cluster_id or "",
        quorum,
        tuple(
            Broker(
                one.broker_id,
                places[one.broker_id],
                one.rack,
                one.is_fenced,
                looks[one.broker_id] is not None,
            )
            for one in sorted(described.brokers, key=lambda one: one.broker_id)
        ),
        tuple(_partitions(metadata, {node: look for node, look in looks.items() if look})),
        tuple(moving),
    )


class Look(NamedTuple):
    """What one broker tells of the replicas it holds."""

    sizes: Mapping[Key, int]
    ends: Mapping[Key, int]


async def read_quorum(wire: WireClient) -> Quorum:
    topic = RequestTopicData(topic_name=METADATA_TOPIC, partitions=[RequestPartitionData()])
    answer = await wire.ask_any(DescribeQuorumRequest(topics=[topic]), DescribeQuorumResponse)
    refuse(answer.error_code, answer.error_message)
    found = answer.topics[0].partitions[0]
    refuse(found.error_code, found.error_message)
    members = [
        QuorumMember(one.replica_id, is_voter, one.log_end_offset)
        for is_voter, group in ((True, found.current_voters), (False, found.observers))
        for one in sorted(group, key=lambda one: one.replica_id)
    ]
    return Quorum(found.leader_id, found.leader_epoch, found.high_watermark, tuple(members))


async def read_moving(wire: WireClient) -> list[Key]:
    """Partitions on their way to other brokers."""
    request = ListPartitionReassignmentsRequest(topics=None)
    answer = await wire.ask_any(request, ListPartitionReassignmentsResponse)
    refuse(answer.error_code, answer.error_message)
    return [
        (topic.name, one.partition_index) for topic in answer.topics for one in topic.partitions
    ]


def refuse(error_code: int, message: str | None) -> None:
    """An error of the cluster as a sentence for people."""
    if error_code:
        code = ErrorCode(error_code).name
        raise OttlaError(f"The cluster answers {code}{f': {message}' if message else ''}.")


def _held(metadata: MetadataResponse) -> dict[int, list[Key]]:
    """The replicas that each broker should have."""
    held: dict[int, list[Key]] = {}
    for topic in metadata.topics:
        for one in topic.partitions:
            for node in one.replica_nodes:
                held.setdefault(node, []).append((topic.name or "", one.partition_index))
    return held


async def _look_into(wire: WireClient, place: Address, held: Iterable[Key]) -> Look | None:
    directories = await wire.ask(
        place, DescribeLogDirsRequest(topics=None), DescribeLogDirsResponse
    )
    if directories is None:
        return None
    sizes = {
        (topic.name, one.partition_index): one.partition_size
        for directory in directories.results
        for topic in directory.topics
        for one in topic.partitions
        if not one.is_future_key
    }
    asked: dict[str, list[ListOffsetsPartition]] = {}
    for name, partition in held:
        wanted = ListOffsetsPartition(partition_index=partition, timestamp=LATEST)
        asked.setdefault(name, []).append(wanted)
    request = ListOffsetsRequest(
        replica_id=ANY_REPLICA,
        topics=[ListOffsetsTopic(name=name, partitions=asked[name]) for name in asked],
    )
    offsets = await wire.ask(place, request, ListOffsetsResponse)
    return Look(sizes, {} if offsets is None else _ends(offsets))


def _ends(offsets: ListOffsetsResponse) -> dict[Key, int]:
    return {
        (topic.name, one.partition_index): one.offset
        for topic in offsets.topics
        for one in topic.partitions
        if not one.error_code
    }


def _partitions(metadata: MetadataResponse, looks: Mapping[int, Look]) -> Iterable[Partition]:
    for topic in sorted(metadata.topics, key=lambda topic: topic.name or ""):
        for one in sorted(topic.partitions, key=lambda one: one.partition_index):
            key = topic.name or "", one.partition_index
            yield Partition(
                *key,
                one.leader_id,
                tuple(one.replica_nodes),
                tuple(sorted(one.isr_nodes)),
                {
                    node: looks[node].sizes.get(key, 0)
                    for node in one.replica_nodes
                    if node in looks
                },
                {
                    node: looks[node].ends[key]
                    for node in one.replica_nodes
                    if node in looks and key in looks[node].ends
                },
            )
