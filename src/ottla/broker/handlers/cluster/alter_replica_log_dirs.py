"""AlterReplicaLogDirs: move replicas between the directories of this broker.

Each replica is answered at once; DescribeLogDirs says how far its copy is. Version 2 is flexible.
"""

from ottla.broker.services import BrokerServices, DirectoryMoves
from ottla.broker.transport.context import RequestContext
from ottla.errors import ErrorCode, KafkaError
from ottla.ids import TopicPartition
from ottla.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)


def handle(
    request: AlterReplicaLogDirsRequest, context: RequestContext, services: BrokerServices
) -> AlterReplicaLogDirsResponse:
    codes = {
        partition: _alter(partition, path, services.directory_moves)
        for partition, path in _wanted(request).items()
    }
    return _answer(codes)


def refuse(request: AlterReplicaLogDirsRequest, error: KafkaError) -> AlterReplicaLogDirsResponse:
    return _answer(dict.fromkeys(_wanted(request), error.code))


def _wanted(request: AlterReplicaLogDirsRequest) -> dict[TopicPartition, str]:
    """The last word on a replica counts."""
    return {
        TopicPartition(topic.name, partition): one.path
        for one in request.dirs
        for topic in one.topics
        for partition in topic.partitions
    }


def _alter(partition: TopicPartition, path: str, moves: DirectoryMoves) -> ErrorCode:
    try:
        moves.alter(partition, path)
    except KafkaError as error:
        if error.code == ErrorCode.NOT_LEADER_OR_FOLLOWER:
            return ErrorCode.REPLICA_NOT_AVAILABLE
        return error.code
    return ErrorCode.NONE


def _answer(codes: dict[TopicPartition, ErrorCode]) -> AlterReplicaLogDirsResponse:
    topics: dict[str, list[AlterReplicaLogDirPartitionResult]] = {}
    for (topic, partition), code in codes.items():
        result = AlterReplicaLogDirPartitionResult(partition_index=partition, error_code=code)
        topics.setdefault(topic, []).append(result)
    return AlterReplicaLogDirsResponse(
        results=[
            AlterReplicaLogDirTopicResult(topic_name=name, partitions=partitions)
            for name, partitions in topics.items()
        ]
    )
