"""Kafka's responses between members, to and from the quorum's own terms."""

from typing import Any

from ottla.errors import ErrorCode, KafkaError
from ottla.ids import METADATA_TOPIC_ID
from ottla.quorum import events
from ottla.quorum.batches import summarize
from ottla.quorum.events import (
    Divergence,
    EpochReply,
    FeaturesReply,
    FetchReply,
    Known,
    Request,
    Response,
    SnapshotReply,
    VoteReply,
)
from ottla.quorum.requests import TOPIC
from ottla.quorum.snapshots import SnapshotId
from ottla.wire.message import Message
from ottla.wire.messages import (
    add_raft_voter,
    begin_quorum_epoch,
    end_quorum_epoch,
    fetch_snapshot,
    remove_raft_voter,
    update_raft_voter,
)
from ottla.wire.messages import fetch as fetching
from ottla.wire.messages import vote as voting

KRAFT_VERSION = "kraft.version"
NOBODY = -1


def error_of(code: int) -> ErrorCode:
    try:
        return ErrorCode(code)
    except ValueError:
        return ErrorCode.UNKNOWN_SERVER_ERROR


# --- what we answer ---------------------------------------------------------------------------


def reply(request: Request, response: Response) -> Message:
    match request, response:
        case events.Vote(), VoteReply(known=known, granted=granted):
            partition = voting.ResponsePartitionData(**_common(known), vote_granted=granted)
            topic = voting.ResponseTopicData(topic_name=TOPIC, partitions=[partition])
            return voting.VoteResponse(topics=[topic], node_endpoints=_places(known, voting))
        case events.BeginEpoch(), EpochReply(known=known):
            begun = begin_quorum_epoch.ResponsePartitionData(**_common(known))
            return begin_quorum_epoch.BeginQuorumEpochResponse(
                topics=[begin_quorum_epoch.ResponseTopicData(topic_name=TOPIC, partitions=[begun])],
                node_endpoints=_places(known, begin_quorum_epoch),
            )
        case events.EndEpoch(), EpochReply(known=known):
            ended = end_quorum_epoch.ResponsePartitionData(**_common(known))
            return end_quorum_epoch.EndQuorumEpochResponse(
                topics=[end_quorum_epoch.ResponseTopicData(topic_name=TOPIC, partitions=[ended])],
                node_endpoints=_places(known, end_quorum_epoch),
            )
        case events.Fetch(), FetchReply():
            return _fetch_message(response)
        case events.FetchSnapshot(), SnapshotReply():
            return _snapshot_message(response)
        case events.AddVoter(), EpochReply(known=known):
            return add_raft_voter.AddRaftVoterResponse(
                error_code=known.error, error_message=known.detail
            )
        case events.RemoveVoter(), EpochReply(known=known):
            code = known.error
            return remove_raft_voter.RemoveRaftVoterResponse(
                error_code=code, error_message=known.detail
            )
        case events.UpdateVoter(), EpochReply(known=known):
            return _update_message(known)
    raise AssertionError((request, response))


def _common(known: Known) -> dict[str, int]:
    leader = NOBODY if known.leader is None else known.leader
    return {"error_code": known.error, "leader_id": leader, "leader_epoch": known.epoch}


def _places(known: Known, module: Any) -> list[Any]:
    if known.leader is None or known.address is None:
        return []
    host, port = known.address
    return [module.NodeEndpoint(node_id=known.leader, host=host, port=port)]


def _fetch_message(response: FetchReply) -> Message:
    known = response.known
    leader = NOBODY if known.leader is None else known.leader
    high_watermark = NOBODY if response.high_watermark is None else response.high_watermark
    partition = fetching.PartitionData(
        error_code=known.error,
        high_watermark=high_watermark,
        last_stable_offset=high_watermark,
        log_start_offset=0,
        current_leader=fetching.LeaderIdAndEpoch(leader_id=leader, leader_epoch=known.epoch),
        records=response.records,
    )
    if response.diverging is not None:
        partition.diverging_epoch = fetching.EpochEndOffset(
            epoch=response.diverging.epoch, end_offset=response.diverging.end_offset
        )
    if response.snapshot_id is not None:
        end, epoch = response.snapshot_id
        partition.snapshot_id = fetching.SnapshotId(end_offset=end, epoch=epoch)
    topic = fetching.FetchableTopicResponse(
        topic=TOPIC, topic_id=METADATA_TOPIC_ID, partitions=[partition]
    )
    return fetching.FetchResponse(responses=[topic], node_endpoints=_places(known, fetching))


def _snapshot_message(response: SnapshotReply) -> Message:
    known = response.known
    leader = NOBODY if known.leader is None else known.leader
    end, epoch = response.snapshot_id
    partition = fetch_snapshot.ResponsePartitionSnapshot(
        error_code=known.error,
        snapshot_id=fetch_snapshot.ResponseSnapshotId(end_offset=end, epoch=epoch),
        current_leader=fetch_snapshot.LeaderIdAndEpoch(leader_id=leader, leader_epoch=known.epoch),
        size=response.size,
        position=response.position,
        unaligned_records=response.data,
    )
    topic = fetch_snapshot.ResponseTopicSnapshot(name=TOPIC, partitions=[partition])
    return fetch_snapshot.FetchSnapshotResponse(
        topics=[topic], node_endpoints=_places(known, fetch_snapshot)
    )


def _update_message(known: Known) -> Message:
    host, port = known.address or ("", 0)
    leader = NOBODY if known.leader is None else known.leader
    return update_raft_voter.UpdateRaftVoterResponse(
        error_code=known.error,
        current_leader=update_raft_voter.CurrentLeader(
            leader_id=leader, leader_epoch=known.epoch, host=host, port=port
        ),
    )


# --- what we are answered ---------------------------------------------------------------------


def response(request: Request, message: Any) -> Response:
    """An answer in the quorum's terms; KafkaError where it has no answer to give."""
    if message.error_code and not isinstance(request, events.AddVoter | events.UpdateVoter):
        raise KafkaError(error_of(message.error_code), "The request was refused as a whole.")
    match request:
        case events.Vote():
            partition = _only(message.topics)
            return VoteReply(_known(partition, message), partition.vote_granted)
        case events.BeginEpoch() | events.EndEpoch():
            return EpochReply(_known(_only(message.topics), message))
        case events.Fetch():
            return _fetch_reply(request, message)
        case events.FetchSnapshot():
            return _snapshot_reply(message)
        case events.UpdateVoter():
            leader = message.current_leader
            known = Known(error_of(message.error_code), leader.leader_epoch, _id(leader.leader_id))
            return EpochReply(known)
        case events.AddVoter() | events.RemoveVoter():
            return EpochReply(Known(error_of(message.error_code), NOBODY, None))
        case events.AskFeatures():
            for feature in message.supported_features:
                if feature.name == KRAFT_VERSION:
                    return FeaturesReply((feature.min_version, feature.max_version))
            return FeaturesReply((0, 0))


def _only(topics: Any) -> Any:
    if len(topics) == 1 and len(topics[0].partitions) == 1:
        return topics[0].partitions[0]
    raise KafkaError(ErrorCode.INVALID_REQUEST, f"The answer is not about {TOPIC}-0 alone.")


def _id(node: int) -> int | None:
    return None if node < 0 else node


def _known(partition: Any, message: Any) -> Known:
    leader = _id(partition.leader_id)
    return Known(
        error_of(partition.error_code), partition.leader_epoch, leader, _place(leader, message)
    )


def _place(leader: int | None, message: Any) -> tuple[str, int] | None:
    for node in message.node_endpoints:
        if node.node_id == leader:
            return node.host, node.port
    return None


def _fetch_reply(request: events.Fetch, message: Any) -> FetchReply:
    partition = _only(message.responses)
    leader = _id(partition.current_leader.leader_id)
    epoch = partition.current_leader.leader_epoch
    known = Known(error_of(partition.error_code), epoch, leader, _place(leader, message))
    batches, records = summarize(partition.records or b"", request.offset, epoch)
    diverging, snapshot_id = partition.diverging_epoch, partition.snapshot_id
    return FetchReply(
        known,
        None if partition.high_watermark < 0 else partition.high_watermark,
        Divergence(diverging.epoch, diverging.end_offset) if diverging.epoch >= 0 else None,
        SnapshotId(snapshot_id.end_offset, snapshot_id.epoch) if snapshot_id.epoch >= 0 else None,
        batches,
        records,
    )


def _snapshot_reply(message: Any) -> SnapshotReply:
    partition = _only(message.topics)
    leader = _id(partition.current_leader.leader_id)
    epoch = partition.current_leader.leader_epoch
    known = Known(error_of(partition.error_code), epoch, leader, _place(leader, message))
    return SnapshotReply(
        known,
        SnapshotId(partition.snapshot_id.end_offset, partition.snapshot_id.epoch),
        partition.size,
        partition.position,
        bytes(partition.unaligned_records or b""),
    )
