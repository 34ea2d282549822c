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
from ottla.wire.messages import (
    add_raft_voter,
    api_versions,
    begin_quorum_epoch,
    end_quorum_epoch,
    fetch_snapshot,
    remove_raft_voter,
    update_raft_voter,
)
from ottla.wire.messages import fetch as fetching
from ottla.wire.messages import vote as voting

TOPIC = "__cluster_metadata"
FETCH_BYTES = 1 << 20
NOTHING_TOLD = 2**63 - 1  # the high watermark in the Fetch of a replica that does not tell its own


class Call(NamedTuple):
    version: int
    response: type[Message]


CALLS: dict[type[Message], Call] = {
    voting.VoteRequest: Call(2, voting.VoteResponse),
    begin_quorum_epoch.BeginQuorumEpochRequest: Call(
        1, begin_quorum_epoch.BeginQuorumEpochResponse
    ),
    end_quorum_epoch.EndQuorumEpochRequest: Call(1, end_quorum_epoch.EndQuorumEpochResponse),
    fetching.FetchRequest: Call(18, fetching.FetchResponse),
    fetch_snapshot.FetchSnapshotRequest: Call(1, fetch_snapshot.FetchSnapshotResponse),
    add_raft_voter.AddRaftVoterRequest: Call(1, add_raft_voter.AddRaftVoterResponse),
    remove_raft_voter.RemoveRaftVoterRequest: Call(0, remove_raft_voter.RemoveRaftVoterResponse),
    update_raft_voter.UpdateRaftVoterRequest: Call(0, update_raft_voter.UpdateRaftVoterResponse),
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
        case begin_quorum_epoch.BeginQuorumEpochRequest():
            return _begin_epoch(message)
        case end_quorum_epoch.EndQuorumEpochRequest():
            return _end_epoch(message)
        case fetching.FetchRequest():
            return _fetch(message)
        case fetch_snapshot.FetchSnapshotRequest():
            return _fetch_snapshot(message)
        case add_raft_voter.AddRaftVoterRequest():
            return events.AddVoter(
                ReplicaKey(message.voter_id, message.voter_directory_id),
                _addresses(message.listeners),
                message.ack_when_committed,
                message.timeout_ms / 1000,
            )
        case remove_raft_voter.RemoveRaftVoterRequest():
            return events.RemoveVoter(ReplicaKey(message.voter_id, message.voter_directory_id))
        case update_raft_voter.UpdateRaftVoterRequest():
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
            return add_raft_voter.AddRaftVoterRequest(
                cluster_id=config.cluster_id,
                timeout_ms=int(request.timeout * 1000),
                voter_id=key.id,
                voter_directory_id=key.directory_id,
                listeners=_listeners(endpoints, add_raft_voter.Listener),
                ack_when_committed=request.ack_when_committed,
            )
        case events.RemoveVoter(key=key):
            return remove_raft_voter.RemoveRaftVoterRequest(
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


def _begin_epoch(message: begin_quorum_epoch.BeginQuorumEpochRequest) -> events.BeginEpoch:
    partition = _only(message.topics)
    return events.BeginEpoch(
        partition.leader_id,
        partition.leader_epoch,
        _addresses(message.leader_endpoints),
        _addressee(message.voter_id, partition.voter_directory_id),
    )


def _begin_message(begin: events.BeginEpoch, config: QuorumConfig) -> Message:
    voter = begin.voter or ReplicaKey(-1)
    partition = begin_quorum_epoch.RequestPartitionData(
        voter_directory_id=voter.directory_id, leader_id=begin.leader, leader_epoch=begin.epoch
    )
    topic = begin_quorum_epoch.RequestTopicData(topic_name=TOPIC, partitions=[partition])
    return begin_quorum_epoch.BeginQuorumEpochRequest(
        cluster_id=config.cluster_id,
        voter_id=voter.id,
        topics=[topic],
        leader_endpoints=_listeners(begin.endpoints, begin_quorum_epoch.LeaderEndpoint),
    )


def _end_epoch(message: end_quorum_epoch.EndQuorumEpochRequest) -> events.EndEpoch:
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
        end_quorum_epoch.ReplicaInfo(candidate_id=key.id, candidate_directory_id=key.directory_id)
        for key in end.candidates
    ]
    partition = end_quorum_epoch.RequestPartitionData(
        leader_id=end.leader, leader_epoch=end.epoch, preferred_candidates=candidates
    )
    topic = end_quorum_epoch.RequestTopicData(topic_name=TOPIC, partitions=[partition])
    return end_quorum_epoch.EndQuorumEpochRequest(
        cluster_id=config.cluster_id,
        topics=[topic],
        leader_endpoints=_listeners(end.endpoints, end_quorum_epoch.LeaderEndpoint),
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


def _fetch_snapshot(message: fetch_snapshot.FetchSnapshotRequest) -> events.FetchSnapshot:
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
    partition = fetch_snapshot.RequestPartitionSnapshot(
        current_leader_epoch=fetch.epoch,
        snapshot_id=fetch_snapshot.RequestSnapshotId(
            end_offset=fetch.snapshot_id.end_offset, epoch=fetch.snapshot_id.epoch
        ),
        position=fetch.position,
        replica_directory_id=fetch.replica.directory_id,
    )
    return fetch_snapshot.FetchSnapshotRequest(
        cluster_id=config.cluster_id,
        replica_id=fetch.replica.id,
        max_bytes=fetch.max_bytes,
        topics=[fetch_snapshot.RequestTopicSnapshot(name=TOPIC, partitions=[partition])],
    )


def _update_voter(message: update_raft_voter.UpdateRaftVoterRequest) -> events.UpdateVoter:
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
    return update_raft_voter.UpdateRaftVoterRequest(
        cluster_id=config.cluster_id,
        current_leader_epoch=request.epoch,
        voter_id=voter.key.id,
        voter_directory_id=voter.key.directory_id,
        listeners=_listeners(voter.endpoints, update_raft_voter.Listener),
        k_raft_version_feature=update_raft_voter.KRaftVersionFeature(
            min_supported_version=low, max_supported_version=high
        ),
    )
