"""Replicas move: new ones are added, and when all are in sync, the old ones go."""

from ottla.config.settings import Settings
from ottla.controller.decision import ControllerResult, refuse_excess
from ottla.controller.partition_change import PartitionChange, election_for
from ottla.controller.partitions import check_assignment
from ottla.controller.rules import PartitionRules
from ottla.errors import ErrorCode, KafkaError
from ottla.metadata.image import Image, PartitionRegistration, Topic
from ottla.metadata.records import Record
from ottla.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from ottla.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from ottla.wire.records.metadata import PartitionChangeRecord


def alter_reassignments(
    image: Image, settings: Settings, ask: AlterPartitionReassignmentsRequest
) -> ControllerResult[AlterPartitionReassignmentsResponse]:
    if not ask.topics:
        return ControllerResult(
            [], AlterPartitionReassignmentsResponse()
        )  # says nothing of what was asked
    rules = PartitionRules(image, settings)
    records: list[Record] = []
    response = AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=ask.allow_replication_factor_change
    )
    for topic in ask.topics:
        answers = []
        for target in topic.partitions:
            answer = ReassignablePartitionResponse(partition_index=target.partition_index)
            answers.append(answer)
            try:
                record = _reassign(rules, topic.name, target, ask.allow_replication_factor_change)
                if record is not None:
                    records.append(record)
            except KafkaError as error:
                answer.error_code, answer.error_message = error.code, error.message
        response.responses.append(ReassignableTopicResponse(name=topic.name, partitions=answers))
    refuse_excess(records)
    return ControllerResult(records, response)


def _reassign(
    rules: PartitionRules, name: str, target: ReassignablePartition, factor_may_change: bool
) -> PartitionChangeRecord | None:
    topic = rules.image.topics_by_name.get(name)
    index = target.partition_index
    if topic is None or index not in topic.partitions:
        raise KafkaError(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"There is no partition {name}-{index}."
        )
    if target.replicas is None:
        return _cancel(rules, topic, index)
    partition = topic.partitions[index]
    check_assignment(rules, index, target.replicas, None)
    if not factor_may_change and len(target.replicas) != len(_settled(partition)):
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"{name}-{index} has {len(_settled(partition))} replicas, not {len(target.replicas)}.",
        )
    return _move(rules, topic, index, tuple(target.replicas))


def _settled(partition: PartitionRegistration) -> tuple[int, ...]:
    """The replicas without those a reassignment under way is adding."""
    return tuple(one for one in partition.replicas if one not in partition.adding)


def _move(
    rules: PartitionRules, topic: Topic, index: int, target: tuple[int, ...]
) -> PartitionChangeRecord | None:
    """First the new ones beside the old; `PartitionChange` finishes it once they are in sync."""
    partition = topic.partitions[index]
    removing = tuple(sorted(one for one in partition.replicas if one not in target))
    change = PartitionChange(rules, topic, index)
    change.replicas = target + tuple(one for one in partition.replicas if one not in target)
    change.removing = removing
    present = _settled(partition)
    change.adding = tuple(sorted(one for one in target if one not in present))
    return change.record()


def _cancel(rules: PartitionRules, topic: Topic, index: int) -> PartitionChangeRecord | None:
    partition = topic.partitions[index]
    if not partition.reassigning:
        raise KafkaError(
            ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, f"{topic.name}-{index} is not being moved."
        )
    replicas = _settled(partition)
    isr = tuple(one for one in partition.isr if one in replicas)
    if not isr and not rules.unclean_allowed(topic):
        raise KafkaError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"No old replica of {topic.name}-{index} is in sync: going back would lose records.",
        )
    change = PartitionChange(rules, topic, index, election=election_for(rules, topic))
    change.replicas = replicas or partition.replicas
    change.isr = isr or replicas[:1]
    change.removing = change.adding = ()
    return change.record()


def list_reassignments(
    image: Image, ask: ListPartitionReassignmentsRequest
) -> ListPartitionReassignmentsResponse:
    response = ListPartitionReassignmentsResponse()
    if ask.topics is None:
        asked = [(topic, list(topic.partitions)) for topic in image.topics_by_id.values()]
    else:
        asked = [
            (image.topics_by_name[one.name], one.partition_indexes)
            for one in ask.topics
            if one.name in image.topics_by_name
        ]
    for topic, indexes in asked:
        moving = [
            OngoingPartitionReassignment(
                partition_index=index,
                replicas=list(partition.replicas),
                adding_replicas=list(partition.adding),
                removing_replicas=list(partition.removing),
            )
            for index in indexes
            if (partition := topic.partitions.get(index)) is not None and partition.reassigning
        ]
        if moving:
            response.topics.append(OngoingTopicReassignment(name=topic.name, partitions=moving))
    return response
