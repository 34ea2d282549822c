"""Leaders elected on request, or to put things right again from time to time."""

from ottla.config.settings import Settings
from ottla.controller.decision import ControllerResult, all_partitions
from ottla.controller.partition_change import Election, PartitionChange, leader_of
from ottla.controller.rules import PartitionRules
from ottla.errors import ErrorCode, KafkaError
from ottla.metadata.image import NO_LEADER, Image, Topic
from ottla.metadata.records import Record
from ottla.wire.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)

_ELECTIONS = {0: Election.PREFERRED, 1: Election.UNCLEAN}
ELECTIONS_PER_ROUND_MAX = 1_000


def elect_leaders(
    image: Image, settings: Settings, ask: ElectLeadersRequest
) -> ControllerResult[ElectLeadersResponse]:
    if ask.topic_partitions == []:
        return ControllerResult([], ElectLeadersResponse())  # whatever the election
    election = _ELECTIONS.get(ask.election_type)
    if election is None:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, f"There is no election of type {ask.election_type}."
        )
    rules = PartitionRules(image, settings)
    records: list[Record] = []
    results = []
    if ask.topic_partitions is None:
        asked = [(topic.name, list(topic.partitions)) for topic in image.topics_by_id.values()]
    else:
        asked = [(one.topic, one.partitions) for one in ask.topic_partitions]
    for name, indexes in asked:
        result = ReplicaElectionResult(topic=name)
        for index in indexes:
            code, message = _elect(rules, name, index, election, records)
            if ask.topic_partitions is None and code == ErrorCode.ELECTION_NOT_NEEDED:
                continue  # of all partitions, only those with a story are told
            result.partition_result.append(
                PartitionResult(partition_id=index, error_code=code, error_message=message)
            )
        results.append(result)
    return ControllerResult(
        records, ElectLeadersResponse(replica_election_results=results), atomic=False
    )


def _elect(
    rules: PartitionRules, name: str, index: int, election: Election, records: list[Record]
) -> tuple[ErrorCode, str | None]:
    topic = rules.image.topics_by_name.get(name)
    if topic is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"There is no topic '{name}'."
    partition = topic.partitions.get(index)
    if partition is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"There is no partition {name}-{index}."
    if election is Election.PREFERRED:
        if partition.leader == partition.preferred:
            return ErrorCode.ELECTION_NOT_NEEDED, "The preferred replica leads already."
        missing = ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
        sentence = "The preferred replica is not in sync or not alive."
    else:
        if partition.leader != NO_LEADER:
            return ErrorCode.ELECTION_NOT_NEEDED, "The partition has a leader."
        missing = ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
        sentence = "No replica is alive."
    record = PartitionChange(rules, topic, index, election=election).record()
    if record is None:
        return missing, sentence
    records.append(record)
    return ErrorCode.NONE, None


def elect_where_nobody_leads(image: Image, settings: Settings) -> list[Record]:
    """For topics that prefer to lose records to waiting: any living replica leads."""
    rules = PartitionRules(image, settings)
    records: list[Record] = []
    for topic, index, partition in all_partitions(image):
        if partition.leader == NO_LEADER and rules.unclean_allowed(topic):
            record = PartitionChange(rules, topic, index, election=Election.UNCLEAN).record()
            if record is not None and leader_of(partition, record) != NO_LEADER:
                records.append(record)
        if len(records) >= ELECTIONS_PER_ROUND_MAX:
            break
    return records


def return_to_preferred(image: Image, settings: Settings) -> list[Record]:
    """Leadership goes back to the first replicas once they are in sync again."""
    rules = PartitionRules(image, settings)
    records: list[Record] = []
    for topic, index, partition in all_partitions(image):
        if partition.leader != partition.preferred and _can_return(rules, topic, index):
            record = PartitionChange(rules, topic, index, election=Election.PREFERRED).record()
            if record is not None:
                records.append(record)
        if len(records) >= ELECTIONS_PER_ROUND_MAX:
            break
    return records


def _can_return(rules: PartitionRules, topic: Topic, index: int) -> bool:
    partition = topic.partitions[index]
    preferred = partition.preferred
    return preferred in partition.isr and rules.may_lead(preferred, partition.directory(preferred))
