"""Topics come and go."""

from collections import Counter
from collections.abc import Mapping, Sequence

from ottla.config.settings import Settings
from ottla.controller.decision import ControllerResult, refuse_excess
from ottla.controller.mutation_quotas import take
from ottla.controller.naming import check_topic_name, collision_key, may_collide
from ottla.controller.partitions import (
    Assignment,
    bad_assignment,
    check_assignment,
    new_partition,
    refuse_repetition,
    refuse_too_many,
    unknown_topic,
)
from ottla.controller.placement import Placer
from ottla.controller.policies import NO_POLICIES, NewTopic, Policies
from ottla.controller.rules import PartitionRules
from ottla.controller.settings import created_topic_records
from ottla.errors import ErrorCode, KafkaError
from ottla.ids import ZERO_UUID, Uuid
from ottla.metadata.image import Image, Topic
from ottla.metadata.records import Record
from ottla.ports.chance import Chance, new_uuid
from ottla.security.quotas import Charge
from ottla.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from ottla.wire.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from ottla.wire.records.metadata import RemoveTopicRecord, TopicRecord

METADATA_TOPIC = "__cluster_metadata"


def create_topics(
    image: Image,
    settings: Settings,
    ask: CreateTopicsRequest,
    chance: Chance,
    charge: Charge | None = None,
    policies: Policies = NO_POLICIES,
) -> ControllerResult[CreateTopicsResponse]:
    refuse_too_many(sum(len(one.assignments) or one.num_partitions for one in ask.topics))
    creation = _Creation(image, settings, chance, charge, policies)
    named = Counter(topic.name for topic in ask.topics)
    results = []
    for topic in {topic.name: topic for topic in ask.topics}.values():
        try:
            refuse_repetition(named, topic.name)
            results.append(creation.create(topic))
        except KafkaError as error:
            results.append(
                CreatableTopicResult(
                    name=topic.name, error_code=error.code, error_message=error.message
                )
            )
    records = [] if ask.validate_only else creation.records
    return ControllerResult(records, CreateTopicsResponse(topics=results))


class _Creation:
    """The topics of one request; each sees the ones before it."""

    def __init__(
        self,
        image: Image,
        settings: Settings,
        chance: Chance,
        charge: Charge | None,
        policies: Policies,
    ) -> None:
        self.image = image
        self.chance = chance
        self.charge = charge
        self.policies = policies
        self.rules = PartitionRules(image, settings)
        self.placer = Placer(image, chance)
        self.records: list[Record] = []
        self._colliding: dict[str, str] | None = None
        self._described: dict[tuple[tuple[str, str], ...], list[CreatableTopicConfigs]] = {}

    def create(self, topic: CreatableTopic) -> CreatableTopicResult:
        self._check_name(topic.name)
        configs = _given_configs(topic)
        config_records = created_topic_records(self.image, topic.name, configs, self.policies)
        assignments = self._assign(topic)
        self._ask_policy(topic, configs, assignments)
        take(self.charge, len(assignments))
        topic_id = new_uuid(self.chance)
        self.records.append(TopicRecord(name=topic.name, topic_id=topic_id))
        self.records += config_records
        self.records += [
            new_partition(self.rules, topic_id, index, replicas)
            for index, replicas in enumerate(assignments)
        ]
        return CreatableTopicResult(
            name=topic.name,
            topic_id=topic_id,
            num_partitions=len(assignments),
            replication_factor=len(assignments[0]),
            configs=self._describe(configs),
        )

    def _ask_policy(
        self, topic: CreatableTopic, configs: Mapping[str, str], assignments: Sequence[Assignment]
    ) -> None:
        by_hand = dict(enumerate(assignments)) if topic.assignments else None
        count, factor = (None, None) if by_hand else (len(assignments), len(assignments[0]))
        self.policies.check_topic(NewTopic(topic.name, count, factor, by_hand, configs))

    def _check_name(self, name: str) -> None:
        check_topic_name(name)
        if name == METADATA_TOPIC:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST, f"{METADATA_TOPIC} is the cluster's own log."
            )
        if name in self.image.topics_by_name:
            raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
        if may_collide(name):
            other = self._existing_with_same_key(name)
            if other is not None:
                raise KafkaError(
                    ErrorCode.INVALID_TOPIC_EXCEPTION,
                    f"Topic '{name}' collides with the existing topic '{other}': "
                    "'.' and '_' cannot be told apart in metrics.",
                )

    def _existing_with_same_key(self, name: str) -> str | None:
        if self._colliding is None:
            self._colliding = {
                collision_key(one): one for one in self.image.topics_by_name if may_collide(one)
            }
        return self._colliding.get(collision_key(name))

    def _assign(self, topic: CreatableTopic) -> Sequence[Assignment]:
        if topic.assignments:
            return self._manual(topic)
        if topic.replication_factor == 0 or topic.replication_factor < -1:
            raise KafkaError(
                ErrorCode.INVALID_REPLICATION_FACTOR,
                "The replication factor must be at least 1, or -1 for the default.",
            )
        if topic.num_partitions == 0 or topic.num_partitions < -1:
            raise KafkaError(
                ErrorCode.INVALID_PARTITIONS,
                "The number of partitions must be at least 1, or -1 for the default.",
            )
        settings = self.rules.settings
        count = topic.num_partitions
        factor = topic.replication_factor
        count = settings.int("num.partitions") if count == -1 else count
        factor = settings.int("default.replication.factor") if factor == -1 else factor
        return self.placer.place(count, factor)

    def _manual(self, topic: CreatableTopic) -> Sequence[Assignment]:
        if topic.replication_factor != -1 or topic.num_partitions != -1:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST,
                "With an assignment by hand, the numbers of partitions and replicas must be -1.",
            )
        by_index: dict[int, Assignment] = {}
        factor: int | None = None
        for given in topic.assignments:
            if given.partition_index in by_index:
                raise bad_assignment(f"Partition {given.partition_index} is assigned twice.")
            check_assignment(self.rules, given.partition_index, given.broker_ids, factor)
            factor = len(given.broker_ids)
            by_index[given.partition_index] = given.broker_ids
        if set(by_index) != set(range(len(by_index))):
            raise bad_assignment("The partitions must be numbered from 0 on without a gap.")
        return [by_index[index] for index in range(len(by_index))]

    def _describe(self, configs: Mapping[str, str]) -> list[CreatableTopicConfigs]:
        """Topics of one request mostly share their settings: described once."""
        key = tuple(sorted(configs.items()))
        if key not in self._described:
            settings = self.rules.settings.for_topic(configs)
            self._described[key] = [
                CreatableTopicConfigs(
                    name=one.name,
                    value=one.value,
                    read_only=one.read_only,
                    config_source=one.source,
                    is_sensitive=one.sensitive,
                )
                for one in map(settings.describe, sorted(settings.options))
                if not settings.options[one.name].internal
            ]
        return self._described[key]


def _given_configs(topic: CreatableTopic) -> dict[str, str]:
    configs: dict[str, str] = {}
    for one in topic.configs:
        if one.value is None:
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"{one.name} was given without a value.")
        configs[one.name] = one.value
    return configs


# Deletion -------------------------------------------------------------------------------------


def delete_topics(
    image: Image, settings: Settings, ask: DeleteTopicsRequest, charge: Charge | None = None
) -> ControllerResult[DeleteTopicsResponse]:
    """By name or by id; the newer versions of the request carry either in `topics`."""
    if not settings.flag("delete.topic.enable"):
        raise KafkaError(
            ErrorCode.TOPIC_DELETION_DISABLED,
            "Topics cannot be deleted: delete.topic.enable=false.",
        )
    asked: list[tuple[str | None, Uuid]] = [(name, ZERO_UUID) for name in ask.topic_names]
    asked += [(one.name, one.topic_id) for one in ask.topics]
    counted = Counter(asked)
    records: list[Record] = []
    results = []
    gone: set[Uuid] = set()
    for name, topic_id in [*counted, *_repeated_nonsense(counted)]:
        result = DeletableTopicResult(name=name, topic_id=topic_id)
        results.append(result)
        try:
            if counted[name, topic_id] > 1 and _is_clear(name, topic_id):
                raise KafkaError(ErrorCode.INVALID_REQUEST, "The topic is named twice.")
            topic = _find(image, name, topic_id)
            result.topic_id, result.name = topic.id, topic.name
            if topic.id in gone:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "The topic is given by name and by id.")
            gone.add(topic.id)
            take(charge, len(topic.partitions))
            records.append(RemoveTopicRecord(topic_id=topic.id))
        except KafkaError as error:
            result.error_code, result.error_message = error.code, error.message
    refuse_excess(records)
    return ControllerResult(records, DeleteTopicsResponse(responses=results))


def _is_clear(name: str | None, topic_id: Uuid) -> bool:
    """A name or an id, not both and not none."""
    return (name is None) != (topic_id == ZERO_UUID)


def _repeated_nonsense(asked: "Counter[tuple[str | None, Uuid]]") -> list[tuple[str | None, Uuid]]:
    """What names no topic is refused as often as it was asked for; topics once."""
    return [one for one, times in asked.items() if not _is_clear(*one) for _ in range(times - 1)]


def _find(image: Image, name: str | None, topic_id: Uuid) -> Topic:
    if name is not None and topic_id != ZERO_UUID:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Give a topic's name or its id, not both.")
    if name is None and topic_id == ZERO_UUID:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "A topic has neither a name nor an id.")
    if name is None:
        topic = image.topics_by_id.get(topic_id)
        if topic is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID, "There is no topic with this id.")
        return topic
    topic = image.topics_by_name.get(name)
    if topic is None:
        raise unknown_topic(name)
    return topic
