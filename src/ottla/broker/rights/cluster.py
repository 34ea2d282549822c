"""Rights to topics, settings and the cluster itself."""

from collections import Counter
from typing import Any

from msgspec.structs import replace

from ottla.broker.access import CLUSTER, Operation, Resource
from ottla.broker.internal_topics import INTERNAL_TOPICS
from ottla.broker.rights.guard import (
    NO_OPERATIONS_ASKED,
    REFUSALS,
    After,
    Asker,
    Guard,
    Refuse,
    by_handler,
    each,
    split,
)
from ottla.errors import ErrorCode
from ottla.ids import ZERO_UUID
from ottla.metadata.image import ConfigResourceType
from ottla.wire.message import Message
from ottla.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from ottla.wire.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from ottla.wire.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponseTopic,
    TopicRequest,
)
from ottla.wire.messages.find_coordinator import FindCoordinatorRequest
from ottla.wire.messages.metadata import MetadataRequest, MetadataResponseTopic

DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
DENIED_TEXT = "Authorization failed."
COORDINATORS_SINCE = 4
GROUP_KEY, TRANSACTION_KEY, SHARE_KEY = 0, 1, 2
_SETTINGS_OF = {ConfigResourceType.TOPIC: Resource.TOPIC, ConfigResourceType.GROUP: Resource.GROUP}
"""Settings of brokers, loggers and client metrics are the cluster's."""


# Metadata -------------------------------------------------------------------------------------


def _metadata(request: MetadataRequest, asker: Asker, refuse: Refuse) -> After:
    """A topic asked for by name is refused whether it exists or not; of all topics, those that
    may be seen are told, and no word of the rest."""
    asks_for_all = request.topics is None or (asker.version == 0 and not request.topics)
    refused: list[MetadataResponseTopic] = []
    if not asks_for_all:
        assert request.topics is not None
        by_id = any(topic.topic_id != ZERO_UUID for topic in request.topics)
        kept = []
        for topic in request.topics:
            known = asker.image.topics_by_id.get(topic.topic_id) if by_id else None
            name = known.name if known is not None else (None if by_id else topic.name)
            if name is not None and not asker.may_topic(Operation.DESCRIBE, name):
                if by_id:
                    refused.append(_hidden(None, topic.topic_id))
                else:
                    refused.append(_hidden(name, ZERO_UUID))
            elif name is not None and not _may_make(name, request, asker):
                refused.append(_hidden(name, ZERO_UUID, is_internal=name in INTERNAL_TOPICS))
            else:
                kept.append(topic)
        request.topics = kept
        nothing_left = not kept and bool(refused)
    else:
        nothing_left = False
    wants_cluster = request.include_cluster_authorized_operations

    def after(response: Any) -> None:
        if asks_for_all:
            response.topics = [
                topic
                for topic in response.topics
                if asker.would(Operation.DESCRIBE, Resource.TOPIC, topic.name or "")
            ]
        if nothing_left:
            response.topics = []
        seen = dict.fromkeys((topic.name, topic.topic_id) for topic in refused)
        distinct = {(topic.name, topic.topic_id): topic for topic in refused}
        response.topics += [distinct[key] for key in seen]
        if wants_cluster and not asker.may_cluster(Operation.DESCRIBE):
            response.cluster_authorized_operations = 0

    return after


def _may_make(name: str, request: MetadataRequest, asker: Asker) -> bool:
    """Whoever asks for a topic that is not there has it made, if that is allowed."""
    if name in asker.image.topics_by_name or not request.allow_auto_topic_creation:
        return True
    if not asker.cluster.settings.flag("auto.create.topics.enable"):
        return True
    return asker.would(Operation.CREATE, Resource.CLUSTER, CLUSTER) or asker.may_topic(
        Operation.CREATE, name
    )


def _hidden(
    name: str | None, topic_id: bytes, *, is_internal: bool = False
) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        error_code=DENIED, name=name, topic_id=topic_id, is_internal=is_internal
    )


def _describe_topic_partitions(
    request: DescribeTopicPartitionsRequest, asker: Asker, refuse: Refuse
) -> After:
    """All topics are asked for by naming none."""
    named = bool(request.topics)
    if not named:
        names = sorted(asker.image.topics_by_name)
    else:
        names = [topic.name for topic in request.topics]
    allowed, denied = split(names, lambda name: asker.may_topic(Operation.DESCRIBE, name))
    if denied:
        request.topics = [TopicRequest(name=name) for name in allowed]
    is_empty = bool(denied) and not allowed
    cursor = request.cursor

    def after(response: Any) -> None:
        if is_empty:
            response.topics, response.next_cursor = [], None
        if named:
            response.topics += [
                DescribeTopicPartitionsResponseTopic(error_code=DENIED, name=name)
                for name in sorted(set(denied))
                if cursor is None or name >= cursor.topic_name
            ]
            response.topics.sort(key=lambda topic: topic.name or "")

    return after


def _describe_cluster(request: Any, asker: Asker, refuse: Refuse) -> After | None:
    if not request.include_cluster_authorized_operations:
        return None

    def after(response: Any) -> None:
        told = response.cluster_authorized_operations
        if told != NO_OPERATIONS_ASKED and not asker.may_cluster(Operation.DESCRIBE):
            response.cluster_authorized_operations = 0

    return after


# Coordinators ---------------------------------------------------------------------------------


def _find_coordinator(
    request: FindCoordinatorRequest, asker: Asker, refuse: Refuse
) -> After | Message | None:
    if request.key_type == SHARE_KEY:
        asker.demand_cluster(Operation.CLUSTER_ACTION)
        return None
    is_group = request.key_type == GROUP_KEY
    if not is_group and request.key_type != TRANSACTION_KEY:
        return None
    resource = Resource.GROUP if is_group else Resource.TRANSACTIONAL_ID
    if asker.version < COORDINATORS_SINCE:
        asker.demand(Operation.DESCRIBE, resource, request.key)
        return None
    return each("coordinator_keys", Operation.DESCRIBE, resource, answers="coordinators")(
        request, asker, refuse
    )


# Topics ---------------------------------------------------------------------------------------


def _create_topics(
    request: CreateTopicsRequest, asker: Asker, refuse: Refuse
) -> After | Message | None:
    """What is named twice is refused for that, whoever asks. Settings of the new topic are told to
    those who may describe them."""
    counts = Counter(topic.name for topic in request.topics)
    allowed: list[CreatableTopic] = list(request.topics)
    denied: list[CreatableTopic] = []
    if not asker.would(Operation.CREATE, Resource.CLUSTER, CLUSTER):
        allowed, denied = split(
            request.topics,
            lambda topic: counts[topic.name] > 1 or asker.may_topic(Operation.CREATE, topic.name),
        )
    refused = []
    if denied:
        refused = refuse(replace(request, topics=denied), DENIED).topics
        for topic in refused:
            topic.error_message = DENIED_TEXT
    request.topics = allowed

    def after(response: Any) -> None:
        for topic in response.topics:
            if not topic.error_code and not asker.would(
                Operation.DESCRIBE_CONFIGS, Resource.TOPIC, topic.name
            ):
                topic.topic_config_error_code = DENIED
                topic.configs, topic.num_partitions, topic.replication_factor = [], -1, -1
        response.topics += refused

    return after


def _delete_topics(
    request: DeleteTopicsRequest, asker: Asker, refuse: Refuse
) -> After | Message | None:
    """By name, one that may not be seen is refused whether it exists or not; by id, its name is
    told only to those who may see it."""
    if asker.would(Operation.DELETE, Resource.CLUSTER, CLUSTER):
        return None
    refused: list[DeletableTopicResult] = []

    names, denied = split(request.topic_names, lambda name: _is_left(name, asker))
    refused += [_undeleted(name, ZERO_UUID) for name in dict.fromkeys(denied)]
    topics = []
    for topic in request.topics:
        if topic.name is not None:
            left = topic.topic_id != ZERO_UUID or _is_left(topic.name, asker)
            if not left:
                refused.append(_undeleted(topic.name, ZERO_UUID))
        else:
            name = asker.topic_name(topic.topic_id)
            left = name is None or asker.may_topic(Operation.DELETE, name)
            if not left and name is not None:
                seen = name if asker.may_topic(Operation.DESCRIBE, name) else None
                refused.append(_undeleted(seen, topic.topic_id))
        if left:
            topics.append(topic)
    if not refused:
        return None
    request.topic_names, request.topics = names, topics
    if not names and not topics:
        return DeleteTopicsResponse(responses=refused)

    def after(response: Any) -> None:
        response.responses += refused

    return after


def _is_left(name: str, asker: Asker) -> bool:
    """Deleted, or refused because it is not there: only to be told who may see it."""
    if not asker.may_topic(Operation.DESCRIBE, name):
        return False
    is_there = name in asker.image.topics_by_name
    return not is_there or asker.may_topic(Operation.DELETE, name)


def _undeleted(name: str | None, topic_id: bytes) -> DeletableTopicResult:
    return DeletableTopicResult(
        name=name, topic_id=topic_id, error_code=DENIED, error_message="Topic authorization failed."
    )


# Settings -------------------------------------------------------------------------------------


def _of_settings(operation: Operation, answers: str) -> Guard:
    def guard(request: Any, asker: Asker, refuse: Refuse) -> After | Message | None:
        def is_allowed(entry: Any) -> bool:
            resource = _SETTINGS_OF.get(entry.resource_type, Resource.CLUSTER)
            if resource is Resource.CLUSTER:
                return asker.may_cluster(operation)
            return asker.may(operation, resource, entry.resource_name)

        allowed, denied = split(request.resources, is_allowed)
        if not denied:
            return None
        refused = []
        for entry in denied:
            resource = _SETTINGS_OF.get(entry.resource_type, Resource.CLUSTER)
            one = refuse(replace(request, resources=[entry]), REFUSALS[resource])
            refused += getattr(one, answers)
        request.resources = allowed
        if not allowed:
            whole = refuse(request, ErrorCode.NONE)
            setattr(whole, answers, refused)
            assert isinstance(whole, Message)
            return whole

        def after(response: Any) -> None:
            setattr(response, answers, getattr(response, answers) + refused)

        return after

    return guard


GUARDS: dict[str, Guard] = {
    "metadata": _metadata,
    "describe_topic_partitions": _describe_topic_partitions,
    "describe_cluster": _describe_cluster,
    "find_coordinator": _find_coordinator,
    "create_topics": _create_topics,
    "delete_topics": _delete_topics,
    "create_partitions": each(
        "topics", Operation.ALTER, Resource.TOPIC, answers="results", name="name"
    ),
    "create_delegation_token": by_handler,
    "renew_delegation_token": by_handler,
    "expire_delegation_token": by_handler,
    "describe_delegation_token": by_handler,
    "describe_configs": _of_settings(Operation.DESCRIBE_CONFIGS, "results"),
    "alter_configs": _of_settings(Operation.ALTER_CONFIGS, "responses"),
    "incremental_alter_configs": _of_settings(Operation.ALTER_CONFIGS, "responses"),
}
