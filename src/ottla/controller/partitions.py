"""New partitions: of new topics, and of topics that grow; placed or assigned by hand."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from ottla.config.settings import Settings
from ottla.controller.decision import RECORDS_MAX, ControllerResult, refuse_excess
from ottla.controller.mutation_quotas import take
from ottla.controller.placement import Placer
from ottla.controller.rules import PartitionRules
from ottla.errors import ErrorCode, KafkaError
from ottla.ids import Uuid
from ottla.metadata.image import Image
from ottla.metadata.records import Record
from ottla.ports.chance import Chance
from ottla.security.quotas import Charge
from ottla.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)
from ottla.wire.records.metadata import PartitionRecord

Assignment = Sequence[int]


def refuse_too_many(partitions: int) -> None:
    if partitions > RECORDS_MAX:
        raise KafkaError(
            ErrorCode.POLICY_VIOLATION,
            f"One request may create at most {RECORDS_MAX} partitions: split it.",
        )


def refuse_repetition(named: Mapping[str, int], name: str) -> None:
    if named[name] > 1:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"The topic '{name}' is named twice.")


def new_partition(
    rules: PartitionRules, topic_id: Uuid, index: int, replicas: Iterable[int]
) -> PartitionRecord:
    listed = list(replicas)
    isr = [one for one in listed if rules.active(one)]
    if not isr:
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"All brokers that partition {index} would be on are fenced or shutting down now.",
        )
    return PartitionRecord(
        partition_id=index,
        topic_id=topic_id,
        replicas=listed,
        isr=isr,
        leader=isr[0],
        leader_epoch=0,
        partition_epoch=0,
        directories=[rules.new_directory(one) for one in listed],
    )


def check_assignment(
    rules: PartitionRules, index: int, brokers: Sequence[int], factor: int | None
) -> None:
    """An assignment by hand: brokers that exist, each once, at least one of them alive."""
    if not brokers:
        raise bad_assignment(f"The assignment of partition {index} is empty.")
    if len(set(brokers)) != len(brokers):
        raise bad_assignment(f"The assignment of partition {index} names a broker twice.")
    for broker in brokers:
        if broker not in rules.image.brokers:
            raise bad_assignment(
                f"The assignment of partition {index} names broker {broker}, "
                "which is not registered."
            )
    if factor is not None and len(brokers) != factor:
        raise bad_assignment(
            f"The assignment of partition {index} has {len(brokers)} replica(s), "
            f"other partitions of the topic have {factor}."
        )
    if not any(map(rules.active, brokers)):
        raise bad_assignment(
            f"All brokers in the assignment of partition {index} are fenced or shutting down."
        )


def bad_assignment(why: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, why)


def create_partitions(
    image: Image,
    settings: Settings,
    ask: CreatePartitionsRequest,
    chance: Chance,
    charge: Charge | None = None,
) -> ControllerResult[CreatePartitionsResponse]:
    rules = PartitionRules(image, settings)
    placer = Placer(image, chance)
    records: list[Record] = []
    results = []
    named = Counter(topic.name for topic in ask.topics)
    for topic in {topic.name: topic for topic in ask.topics}.values():
        result = CreatePartitionsTopicResult(name=topic.name)
        results.append(result)
        try:
            refuse_repetition(named, topic.name)
            records += _more_partitions(rules, placer, topic, charge)
        except KafkaError as error:
            result.error_code, result.error_message = error.code, error.message
    refuse_excess(records)
    return ControllerResult(
        [] if ask.validate_only else records, CreatePartitionsResponse(results=results)
    )


def _more_partitions(
    rules: PartitionRules, placer: Placer, ask: CreatePartitionsTopic, charge: Charge | None
) -> list[Record]:
    topic = rules.image.topics_by_name.get(ask.name)
    if topic is None:
        raise unknown_topic(ask.name)
    present = len(topic.partitions)
    if ask.count <= present:
        raise KafkaError(
            ErrorCode.INVALID_PARTITIONS,
            f"Topic '{ask.name}' has {present} partition(s): {ask.count} is not an increase.",
        )
    added = ask.count - present
    refuse_too_many(added)
    if ask.assignments is not None and len(ask.assignments) != added:
        raise bad_assignment(
            f"{added} partition(s) are to be added, but {len(ask.assignments)} assigned."
        )
    take(charge, added)
    factor = len(topic.partitions[0].replicas)
    assignments: Sequence[Assignment]
    if ask.assignments is None:
        assignments = placer.place(added, factor)
    else:
        assignments = [one.broker_ids for one in ask.assignments]
        for index, brokers in enumerate(assignments, present):
            check_assignment(rules, index, brokers, factor)
    return [
        new_partition(rules, topic.id, index, replicas)
        for index, replicas in enumerate(assignments, present)
    ]


def unknown_topic(name: str) -> KafkaError:
    return KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"There is no topic '{name}'.")
