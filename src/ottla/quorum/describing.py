"""DescribeQuorum: how far the voters and observers are, as the leader sees it."""

from ottla.errors import ErrorCode
from ottla.quorum.leading import synced_by
from ottla.quorum.member import RaftMember
from ottla.quorum.requests import TOPIC
from ottla.quorum.roles import LeaderState, Progress
from ottla.quorum.voters import ReplicaKey
from ottla.wire.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    Listener,
    Node,
    ReplicaState,
    ResponsePartitionData,
    ResponseTopicData,
)


def describe_quorum(
    request: DescribeQuorumRequest, member: RaftMember, now: float, wall_ms: int
) -> DescribeQuorumResponse:
    """`now` is the machine's clock, `wall_ms` the same moment since 1970."""
    asked = [
        (topic.topic_name, part.partition_index)
        for topic in request.topics
        for part in topic.partitions
    ]
    if asked != [(TOPIC, 0)]:
        return _unknown(request)
    if not isinstance(member.role, LeaderState):
        partition = ResponsePartitionData(
            error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER,
            leader_id=-1 if member.leader is None else member.leader,
            leader_epoch=member.epoch,
        )
    else:
        partition = _partition(member, member.role, now, wall_ms)
    topic = ResponseTopicData(topic_name=TOPIC, partitions=[partition])
    return DescribeQuorumResponse(topics=[topic], nodes=_nodes(member))


def _unknown(request: DescribeQuorumRequest) -> DescribeQuorumResponse:
    """Only the metadata log has a quorum: whatever else was named comes back, refused."""
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return DescribeQuorumResponse(
        topics=[
            ResponseTopicData(
                topic_name=topic.topic_name,
                partitions=[
                    ResponsePartitionData(partition_index=part.partition_index, error_code=code)
                    for part in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _partition(
    member: RaftMember, leader: LeaderState, now: float, wall_ms: int
) -> ResponsePartitionData:
    def moment(at: float | None) -> int:
        return -1 if at is None else wall_ms - int((now - at) * 1000)

    def state(key: ReplicaKey, end_offset: int, one: Progress | None) -> ReplicaState:
        if one is None:
            one = Progress(key)
        own = key.matches(member.key)
        return ReplicaState(
            replica_id=key.id,
            replica_directory_id=key.directory_id,
            log_end_offset=end_offset,
            last_fetch_timestamp=moment(now if own else one.fetched_at),
            last_caught_up_timestamp=moment(now if own else one.caught_up_at),
        )

    def progress_of(key: ReplicaKey) -> Progress | None:
        return next((one for one in leader.progress.values() if key.matches(one.key)), None)

    return ResponsePartitionData(
        leader_id=member.id,
        leader_epoch=member.epoch,
        high_watermark=member.high_watermark if leader.announced else -1,
        current_voters=[
            state(voter.key, synced_by(member, leader, voter.key), progress_of(voter.key))
            for voter in member.voters
        ],
        observers=[
            state(one.key, one.end_offset, one)
            for one in leader.progress.values()
            if not member.voters.has(one.key)
        ],
    )


def _nodes(member: RaftMember) -> list[Node]:
    return [
        Node(
            node_id=voter.key.id,
            listeners=[
                Listener(name=address.listener, host=address.host, port=address.port)
                for address in voter.endpoints
            ],
        )
        for voter in member.voters
    ]
