"""Brokers tell in which of their directories they put a replica (AssignReplicasToDirs)."""

from ottla.config.settings import Settings
from ottla.controller.decision import ControllerResult, check_broker_epoch
from ottla.controller.partition_change import PartitionChange
from ottla.controller.rules import PartitionRules
from ottla.errors import ErrorCode
from ottla.ids import Uuid
from ottla.metadata.image import Image
from ottla.metadata.records import Record
from ottla.wire.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
    ResponseDirectoryData,
    ResponsePartitionData,
    ResponseTopicData,
)


def assign_replicas(
    image: Image, settings: Settings, ask: AssignReplicasToDirsRequest
) -> ControllerResult[AssignReplicasToDirsResponse]:
    check_broker_epoch(image, ask.broker_id, ask.broker_epoch)
    rules = PartitionRules(image, settings)
    records: list[Record] = []
    response = AssignReplicasToDirsResponse()
    for directory in ask.directories:
        topics = [
            ResponseTopicData(
                topic_id=topic.topic_id,
                partitions=[
                    ResponsePartitionData(
                        partition_index=one.partition_index,
                        error_code=_assign(
                            rules,
                            ask.broker_id,
                            directory.id,
                            topic.topic_id,
                            one.partition_index,
                            records,
                        ),
                    )
                    for one in topic.partitions
                ],
            )
            for topic in directory.topics
        ]
        response.directories.append(ResponseDirectoryData(id=directory.id, topics=topics))
    return ControllerResult(records, response, atomic=False)


def _assign(
    rules: PartitionRules,
    broker_id: int,
    directory: Uuid,
    topic_id: Uuid,
    index: int,
    records: list[Record],
) -> ErrorCode:
    topic = rules.image.topics_by_id.get(topic_id)
    if topic is None:
        return ErrorCode.UNKNOWN_TOPIC_ID
    partition = topic.partitions.get(index)
    if partition is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if broker_id not in partition.replicas:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    online = rules.image.brokers[broker_id].holds(directory)
    if online:
        change = PartitionChange(rules, topic, index, directories={broker_id: directory})
    else:
        gone = PartitionRules(rules.image, rules.settings, without=broker_id)
        isr = (one for one in partition.isr if one != broker_id)
        change = PartitionChange(gone, topic, index, isr=isr, directories={broker_id: directory})
    record = change.record()
    if record is not None:
        records.append(record)
    return ErrorCode.NONE
