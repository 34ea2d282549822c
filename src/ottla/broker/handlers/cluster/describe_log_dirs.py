"""DescribeLogDirs: which replicas lie in which directory, how large, and how much room is left.

A replica that moves is told of twice: where it is, and as a future one where it will be.
"""

import os

from ottla.broker.services import BrokerServices, DirectoryMoves
from ottla.broker.transport.context import RequestContext
from ottla.errors import ErrorCode
from ottla.log.directory import LogDirectory
from ottla.replication.directories import is_cordoned
from ottla.wire.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)

Wanted = set[tuple[str, int]] | None  # None: all


def handle(
    request: DescribeLogDirsRequest, context: RequestContext, services: BrokerServices
) -> DescribeLogDirsResponse:
    wanted: Wanted = None
    if request.topics is not None:
        wanted = {
            (topic.topic, partition) for topic in request.topics for partition in topic.partitions
        }
    cordoned = services.cluster.settings.names("cordoned.log.dirs")
    return DescribeLogDirsResponse(
        results=[
            _describe(directory, wanted, is_cordoned(directory, cordoned), services.directory_moves)
            for directory in services.directories
        ]
    )


def _describe(
    directory: LogDirectory, wanted: Wanted, cordoned: bool, moves: DirectoryMoves
) -> DescribeLogDirsResult:
    result = DescribeLogDirsResult(log_dir=str(directory.path.absolute()), is_cordoned=cordoned)
    if directory.health.failure is not None:
        result.error_code = ErrorCode.KAFKA_STORAGE_ERROR
        return result
    topics: dict[str, list[DescribeLogDirsPartition]] = {}
    for is_future, logs in ((False, directory.logs), (True, directory.futures)):
        for (topic, partition), log in logs.items():
            if wanted is None or (topic, partition) in wanted:
                described = DescribeLogDirsPartition(
                    partition_index=partition,
                    partition_size=log.size,
                    offset_lag=moves.lag(log.topic_partition) if is_future else 0,
                    is_future_key=is_future,
                )
                topics.setdefault(topic, []).append(described)
    result.topics = [
        DescribeLogDirsTopic(name=name, partitions=partitions)
        for name, partitions in topics.items()
    ]
    usage = os.statvfs(directory.path)
    result.total_bytes = usage.f_blocks * usage.f_frsize
    result.usable_bytes = usage.f_bavail * usage.f_frsize
    return result
