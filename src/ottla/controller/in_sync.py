"""Leaders ask for a change of their in-sync set (AlterPartition)."""

from ottla.config.settings import Settings
from ottla.controller.decision import ControllerResult, check_broker_epoch
from ottla.controller.partition_change import PartitionChange, election_for
from ottla.controller.rules import PartitionRules
from ottla.errors import ErrorCode
from ottla.metadata.apply import change_partition
from ottla.metadata.image import RECOVERED, RECOVERING, Image, PartitionRegistration, Topic
from ottla.metadata.records import Record
from ottla.wire.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerState,
    RequestPartitionData,
    ResponsePartitionData,
    ResponseTopicData,
)

_ANY_EPOCH = -1


def alter_partition(
    image: Image, settings: Settings, ask: AlterPartitionRequest
) -> ControllerResult[AlterPartitionResponse]:
    if not ask.topics:  # whoever asks for nothing gets it
        return ControllerResult([], AlterPartitionResponse(), atomic=False)
    check_broker_epoch(image, ask.broker_id, ask.broker_epoch)
    rules = PartitionRules(image, settings)
    records: list[Record] = []
    response = AlterPartitionResponse()
    for asked in ask.topics:
        topic = image.topics_by_id.get(asked.topic_id)
        answers = [
            ResponsePartitionData(
                partition_index=one.partition_index, error_code=ErrorCode.UNKNOWN_TOPIC_ID
            )
            if topic is None
            else _alter(rules, ask.broker_id, topic, one, records)
            for one in asked.partitions
        ]
        response.topics.append(ResponseTopicData(topic_id=asked.topic_id, partitions=answers))
    return ControllerResult(records, response, atomic=False)


def _alter(
    rules: PartitionRules,
    broker_id: int,
    topic: Topic,
    ask: RequestPartitionData,
    records: list[Record],
) -> ResponsePartitionData:
    index = ask.partition_index
    partition = topic.partitions.get(index)
    wanted = ask.new_isr_with_epochs or [BrokerState(broker_id=one) for one in ask.new_isr]
    refusal = _check(rules, broker_id, partition, ask, wanted)
    if refusal is not None or partition is None:
        return ResponsePartitionData(partition_index=index, error_code=refusal or 0)
    election = election_for(rules, topic)
    isr = [one.broker_id for one in wanted]
    change = PartitionChange(rules, topic, index, election=election, isr=isr)
    change.leader_recovery_state = ask.leader_recovery_state
    record = change.record()
    after = partition
    if record is not None:
        records.append(record)
        after = change_partition(partition, record)
        if after.leader != broker_id:
            # The change ended a reassignment that took the leader's own replica away.
            return ResponsePartitionData(
                partition_index=index, error_code=ErrorCode.NEW_LEADER_ELECTED
            )
    return ResponsePartitionData(
        partition_index=index,
        leader_id=after.leader,
        leader_epoch=after.leader_epoch,
        isr=list(after.isr),
        leader_recovery_state=after.leader_recovery_state,
        partition_epoch=after.partition_epoch,
    )


def _check(
    rules: PartitionRules,
    broker_id: int,
    partition: PartitionRegistration | None,
    ask: RequestPartitionData,
    wanted: list[BrokerState],
) -> ErrorCode | None:
    if partition is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if ask.leader_epoch > partition.leader_epoch or ask.partition_epoch > partition.partition_epoch:
        return ErrorCode.NOT_CONTROLLER  # the leader knows more than this node: it is not active
    if ask.leader_epoch < partition.leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if broker_id != partition.leader:
        return ErrorCode.INVALID_REQUEST
    if ask.partition_epoch < partition.partition_epoch:
        return ErrorCode.INVALID_UPDATE_VERSION
    isr = [one.broker_id for one in wanted]
    if len(set(isr)) != len(isr) or not set(isr) <= set(partition.replicas):
        return ErrorCode.INVALID_REQUEST
    if broker_id not in isr:
        return ErrorCode.INVALID_REQUEST
    if ask.leader_recovery_state == RECOVERING and (
        len(isr) > 1 or partition.leader_recovery_state == RECOVERED
    ):
        return ErrorCode.INVALID_REQUEST
    if not all(_eligible(rules, one) for one in wanted):
        return ErrorCode.INELIGIBLE_REPLICA
    return None


def _eligible(rules: PartitionRules, wanted: BrokerState) -> bool:
    """The epoch proves that it is still the incarnation that had caught up (KIP-903)."""
    broker = rules.image.brokers.get(wanted.broker_id)
    if broker is None or not broker.active:
        return False
    return wanted.broker_epoch in (_ANY_EPOCH, broker.epoch)
