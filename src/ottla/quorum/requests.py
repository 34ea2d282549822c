"""Kafka's requests between members, to and from the quorum's own terms."""

from typing import Any, NamedTuple

from ottla.errors import ErrorCode, KafkaError
from ottla.ids import METADATA_TOPIC_ID, Uuid
from ottla.quorum import events
from ottla.quorum.config import QuorumConfig
from ottla.quorum.events import Request
from ottla.quorum.snapshots import SnapshotId
from ottla.quorum.voters import Address, ReplicaKey, Voter
from ottla.wire.message import Message
from ottla.wire.messages import add_raft_voter as adding
from ottla.wire.messages import api_versions
from ottla.wire.messages import begin_quorum_epoch as beginning
from ottla.wire.messages import end_quorum_epoch as ending
from ottla.wire.messages import fetch as fetching
from ottla.wire.messages import fetch_snapshot as snapshots
from ottla.wire.messages import remove_raft_voter as removing
from ottla.wire.messages import update_raft_voter as updating
from ottla.wire.messages import vote as voting

TOPIC = "__cluster_metadata"
FETCH_BYTES = 1 << 20
NOTHING_TOLD = 2**63 - 1  # the high watermark in the Fetch of a replica that does not tell its own


class Call(NamedTuple):
    version: int
    response: type[Message]


CALLS: dict[type[Message], Call] = {
    voting.VoteRequest: Call(2, voting.VoteResponse),
    beginning.BeginQuorumEpochRequest: Call(1, beginning.BeginQuorumEpochResponse),
    ending.EndQuorumEpochRequest: Call(1, ending.EndQuorumEpochResponse),
    fetching.FetchRequest: Call(18, fetching.FetchResponse),
    snapshots.FetchSnapshotRequest: Call(1, snapshots.FetchSnapshotResponse),
    adding.AddRaftVoterRequest: Call(1, adding.AddRaftVoterResponse),
    removing.RemoveRaftVoterRequest: Call(0, removing.RemoveRaftVoterResponse),
    updating.UpdateRaftVoterRequest: Call(0, updating.UpdateRaftVoterResponse),
    api_versions.ApiVersionsRequest: Call(4, api_versions.ApiVersionsResponse),
}
"""What we ask with, the newest that Kafka 4.3 knows, and how it is answered."""


def incoming(message: Any, cluster_id: str) -> Request:
    """A request in the quorum's terms; KafkaError if it is meant for another cluster or log."""
    meant_for = message.cluster_id
    if meant_for is not None and meant_for != cluster_id:
        text = f"This is cluster {cluster_id}, not {meant_for}."
        raise KafkaError(ErrorCode.INCONSISTENT_CLUSTER_ID, text)
    match message:
        case voting.VoteRequest():
            return _vote(message)
        case beginning.BeginQuorumEpochRequest():
            return _begin_epoch(message)
        case ending.EndQuorumEpochRequest():
            return _end_epoch(message)
        case fetching.FetchRequest():
            return _fetch(message)
        case snapshots.FetchSnapshotRequest():
            return _fetch_snapshot(message)
        case adding.AddRaftVoterRequest():
            return events.AddVoter(
                ReplicaKey(message.voter_id, message.voter_directory_id),
                _addresses(message.listeners),
                message.ack_when_committed,
                message.timeout_ms / 1000,
            )
        case removing.RemoveRaftVoterRequest():
            return events.RemoveVoter(ReplicaKey(message.voter_id, message.voter_directory_id))
        case updating.UpdateRaftVoterRequest():
            return _update_voter(message)
    raise KafkaError(ErrorCode.INVALID_REQUEST, f"{type(message).__name__} is not the quorum's.")


def outgoing(request: Request, config: QuorumConfig) -> Message:
    match request:
        case events.Vote():
            return _vote_message(request, config)
        case events.BeginEpoch():
            return _begin_message(request, config)
        case events.EndEpoch():
            return _end_message(request, config)
        case events.Fetch():
            return _fetch_message(request, config)
        case events.FetchSnapshot():
            return _snapshot_message(request, config)
        case events.AddVoter(key=key, endpoints=endpoints):
            return adding.AddRaftVoterRequest(
                cluster_id=config.cluster_id,
                timeout_ms=int(request.timeout * 1000),
                voter_id=key.id,
                voter_directory_id=key.directory_id,
                listeners=_listeners(endpoints, adding.Listener),
                ack_when_committed=request.ack_when_committed,
            )
        case events.RemoveVoter(key=key):
            return removing.RemoveRaftVoterRequest(
                cluster_id=config.cluster_id,
                voter_id=key.id,
                voter_directory_id=key.directory_id,
            )
        case events.UpdateVoter():
            return _update_message(request, config)
        case events.AskFeatures():
            return api_versions.ApiVersionsRequest(
                client_software_name="ottla", client_software_version="1"
            )


def _only(topics: Any, name: str = "topic_name") -> Any:
    """The one partition a request is about; the quorum has no other."""
    if len(topics) == 1 and len(topics[0].partitions) == 1:
        topic, partition = topics[0], topics[0].partitions[0]
        index = getattr(partition, "partition_index", getattr(partition, "partition", 0))
        if getattr(topic, name) == TOPIC and index == 0:
            return partition
    raise KafkaError(ErrorCode.INVALID_REQUEST, f"Only {TOPIC}-0 has a quorum.")


def _addressee(voter_id: int, directory_id: Uuid) -> ReplicaKey | None:
    return None if voter_id < 0 else ReplicaKey(voter_id, directory_id)


def _addresses(listeners: Any) -> tuple[Address, ...]:
    return tuple(Address(one.name, one.host, one.port) for one in listeners)


def _listeners(endpoints: tuple[Address, ...], cls: Any) -> list[Any]:
    return [cls(name=one.listener, host=one.host, port=one.port) for one in endpoints]


def _vote(message: voting.VoteRequest) -> events.Vote:
    partition = _only(message.topics)
    return events.Vote(
        ReplicaKey(partition.replica_id, partition.replica_directory_id),
        partition.replica_epoch,
        partition.last_offset_epoch,
        partition.last_offset,
        partition.pre_vote,
        _addressee(message.voter_id, partition.voter_directory_id),
    )


def _vote_message(vote: events.Vote, config: QuorumConfig) -> Message:
    voter = vote.voter or ReplicaKey(-1)
    partition = voting.RequestPartitionData(
        replica_epoch=vote.epoch,
        replica_id=vote.candidate.id,
        replica_directory_id=vote.candidate.directory_id,
        voter_directory_id=voter.directory_id,
        last_offset_epoch=vote.last_epoch,
        last_offset=vote.end_offset,
        pre_vote=vote.pre_vote,
    )
    topic = voting.RequestTopicData(topic_name=TOPIC, partitions=[partition])
    return voting.VoteRequest(cluster_id=config.cluster_id, voter_id=voter.id, topics=[topic])


def _begin_epoch(message: beginning.BeginQuorumEpochRequest) -> events.BeginEpoch:
    partition = _only(message.topics)
    return events.BeginEpoch(
        partition.leader_id,
        partition.leader_epoch,
        _addresses(message.leader_endpoints),
        _addressee(message.voter_id, partition.voter_directory_id),
    )


def _begin_message(begin: events.BeginEpoch, config: QuorumConfig) -> Message:
    voter = begin.voter or ReplicaKey(-1)
    partition = beginning.RequestPartitionData(
        voter_directory_id=voter.directory_id, leader_id=begin.leader, leader_epoch=begin.epoch
    )
    topic = beginning.RequestTopicData(topic_name=TOPIC, partitions=[partition])
    return beginning.BeginQuorumEpochRequest(
        cluster_id=config.cluster_id,
        voter_id=voter.id,
        topics=[topic],
        leader_endpoints=_listeners(begin.endpoints, beginning.LeaderEndpoint),
    )


def _end_epoch(message: ending.EndQuorumEpochRequest) -> events.EndEpoch:
    partition = _only(message.topics)
    candidates = [
        ReplicaKey(one.candidate_id, one.candidate_directory_id)
        for one in partition.preferred_candidates
    ] or [ReplicaKey(node) for node in partition.preferred_successors]
    return events.EndEpoch(
        partition.leader_id,
        partition.leader_epoch,
        _addresses(message.leader_endpoints),
        tuple(candidates),
    )


def _end_message(end: events.EndEpoch, config: QuorumConfig) -> Message:
    candidates = [
        ending.ReplicaInfo(candidate_id=key.id, candidate_directory_id=key.directory_id)
        for key in end.candidates
    ]
    partition = ending.RequestPartitionData(
        leader_id=end.leader, leader_epoch=end.epoch, preferred_candidates=candidates
    )
    topic = ending.RequestTopicData(topic_name=TOPIC, partitions=[partition])
    return ending.EndQuorumEpochRequest(
        cluster_id=config.cluster_id,
        topics=[topic],
        leader_endpoints=_listeners(end.endpoints, ending.LeaderEndpoint),
    )


def _fetch(message: fetching.FetchRequest) -> events.Fetch:
    for topic in message.topics:
        if topic.topic_id == METADATA_TOPIC_ID:
            topic.topic = TOPIC  # from version 13 on the id stands for the name
    partition = _only(message.topics, "topic")
    replica = max(message.replica_state.replica_id, message.replica_id)
    told: int | None = partition.high_watermark
    return events.Fetch(
        ReplicaKey(replica, partition.replica_directory_id),
        partition.current_leader_epoch,
        partition.fetch_offset,
        partition.last_fetched_epoch,
        None if told == NOTHING_TOLD else told,
        message.max_wait_ms / 1000,
    )


def _fetch_message(fetch: events.Fetch, config: QuorumConfig) -> Message:
    partition = fetching.FetchPartition(
        current_leader_epoch=fetch.epoch,
        fetch_offset=fetch.offset,
        last_fetched_epoch=fetch.last_epoch,
        replica_directory_id=fetch.replica.directory_id,
        high_watermark=NOTHING_TOLD if fetch.high_watermark is None else fetch.high_watermark,
    )
    return fetching.FetchRequest(
        cluster_id=config.cluster_id,
        replica_state=fetching.ReplicaState(replica_id=fetch.replica.id),
        max_wait_ms=int(fetch.max_wait * 1000),
        max_bytes=FETCH_BYTES,
        topics=[fetching.FetchTopic(topic_id=METADATA_TOPIC_ID, partitions=[partition])],
    )


def _fetch_snapshot(message: snapshots.FetchSnapshotRequest) -> events.FetchSnapshot:
    partition = _only(message.topics, "name")
    wanted = partition.snapshot_id
    return events.FetchSnapshot(
        ReplicaKey(message.replica_id, partition.replica_directory_id),
        partition.current_leader_epoch,
        SnapshotId(wanted.end_offset, wanted.epoch),
        partition.position,
        message.max_bytes,
    )


def _snapshot_message(fetch: events.FetchSnapshot, config: QuorumConfig) -> Message:
    partition = snapshots.RequestPartitionSnapshot(
        current_leader_epoch=fetch.epoch,
        snapshot_id=snapshots.RequestSnapshotId(
            end_offset=fetch.snapshot_id.end_offset, epoch=fetch.snapshot_id.epoch
        ),
        position=fetch.position,
        replica_directory_id=fetch.replica.directory_id,
    )
    return snapshots.FetchSnapshotRequest(
        cluster_id=config.cluster_id,
        replica_id=fetch.replica.id,
        max_bytes=fetch.max_bytes,
        topics=[snapshots.RequestTopicSnapshot(name=TOPIC, partitions=[partition])],
    )


def _update_voter(message: updating.UpdateRaftVoterRequest) -> events.UpdateVoter:
    feature = message.k_raft_version_feature
    voter = Voter(
        ReplicaKey(message.voter_id, message.voter_directory_id),
        _addresses(message.listeners),
        (feature.min_supported_version, feature.max_supported_version),
    )
    return events.UpdateVoter(message.current_leader_epoch, voter)


def _update_message(request: events.UpdateVoter, config: QuorumConfig) -> Message:
    voter = request.voter
    low, high = voter.kraft_versions
    return updating.UpdateRaftVoterRequest(
        cluster_id=config.cluster_id,
        current_leader_epoch=request.epoch,
        voter_id=voter.key.id,
        voter_directory_id=voter.key.directory_id,
        listeners=_listeners(voter.endpoints, updating.Listener),
        k_raft_version_feature=updating.KRaftVersionFeature(
            min_supported_version=low, max_supported_version=high
        ),
    )
