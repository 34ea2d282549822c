"""Rights to share groups, and to the topics that they share."""

from collections.abc import Callable
from typing import Any

from ottla.broker.access import Operation, Resource
from ottla.broker.rights.groups import DENIED_GROUP, DENIED_TOPIC, describe, member_heartbeat
from ottla.broker.rights.guard import After, Asker, Guard, Refuse, split
from ottla.errors import ErrorCode
from ottla.wire.message import Message
from ottla.wire.messages import share_acknowledge, share_fetch
from ottla.wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsResponsePartition,
    AlterShareGroupOffsetsResponseTopic,
)
from ottla.wire.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponseTopic,
)
from ottla.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)

DENIED_TEXT = "Topic authorization failed."


def _may_read(asker: Asker) -> Callable[[Any], bool]:
    """Of a topic known by its id; what nobody knows, the handler refuses."""

    def may(topic: Any) -> bool:
        name = asker.topic_name(topic.topic_id)
        return name is None or asker.may_topic(Operation.READ, name)

    return may


def _share_fetch(request: share_fetch.ShareFetchRequest, asker: Asker, refuse: Refuse) -> After:
    """Of a session's topics, what may no longer be read is not shown either."""
    asker.demand(Operation.READ, Resource.GROUP, request.group_id or "")
    may_read = _may_read(asker)
    request.topics, denied = split(request.topics, may_read)

    def after(response: share_fetch.ShareFetchResponse) -> None:
        if response.error_code:
            return
        for topic in response.responses:
            if not may_read(topic):
                topic.partitions = [_unread(part.partition_index) for part in topic.partitions]
        response.responses += [
            share_fetch.ShareFetchableTopicResponse(
                topic_id=topic.topic_id,
                partitions=[_unread(part.partition_index) for part in topic.partitions],
            )
            for topic in denied
        ]

    return after


def _unread(index: int) -> share_fetch.PartitionData:
    return share_fetch.PartitionData(partition_index=index, error_code=DENIED_TOPIC)


def _share_acknowledge(
    request: share_acknowledge.ShareAcknowledgeRequest, asker: Asker, refuse: Refuse
) -> After:
    asker.demand(Operation.READ, Resource.GROUP, request.group_id or "")
    request.topics, denied = split(request.topics, _may_read(asker))

    def after(response: share_acknowledge.ShareAcknowledgeResponse) -> None:
        if response.error_code:
            return
        response.responses += [
            share_acknowledge.ShareAcknowledgeTopicResponse(
                topic_id=topic.topic_id,
                partitions=[
                    share_acknowledge.PartitionData(
                        partition_index=part.partition_index, error_code=DENIED_TOPIC
                    )
                    for part in topic.partitions
                ],
            )
            for topic in denied
        ]

    return after


def _describe_offsets(
    request: DescribeShareGroupOffsetsRequest, asker: Asker, refuse: Refuse
) -> After:
    allowed, denied = split(
        request.groups, lambda group: asker.may(Operation.DESCRIBE, Resource.GROUP, group.group_id)
    )
    refused: dict[str, list[DescribeShareGroupOffsetsResponseTopic]] = {}
    for group in allowed:
        if group.topics is None:
            continue
        group.topics, hidden = split(
            group.topics, lambda topic: asker.may_topic(Operation.DESCRIBE, topic.topic_name)
        )
        refused[group.group_id] = [_unseen(topic.topic_name, topic.partitions) for topic in hidden]
    request.groups = allowed

    def after(response: DescribeShareGroupOffsetsResponse) -> None:
        for group in response.groups:
            group.topics = [
                topic
                for topic in group.topics
                if asker.may_topic(Operation.DESCRIBE, topic.topic_name)
            ] + refused.get(group.group_id, [])
        response.groups += [
            DescribeShareGroupOffsetsResponseGroup(group_id=group.group_id, error_code=DENIED_GROUP)
            for group in denied
        ]

    return after


def _unseen(name: str, partitions: list[int]) -> DescribeShareGroupOffsetsResponseTopic:
    return DescribeShareGroupOffsetsResponseTopic(
        topic_name=name,
        partitions=[
            DescribeShareGroupOffsetsResponsePartition(
                partition_index=index,
                start_offset=-1,
                error_code=DENIED_TOPIC,
                error_message=DENIED_TEXT,
            )
            for index in partitions
        ],
    )


def _alter_offsets(
    request: AlterShareGroupOffsetsRequest, asker: Asker, refuse: Refuse
) -> After | Message | None:
    asker.demand(Operation.READ, Resource.GROUP, request.group_id)
    request.topics, denied = split(
        request.topics, lambda topic: asker.may_topic(Operation.READ, topic.topic_name)
    )
    refused = [
        AlterShareGroupOffsetsResponseTopic(
            topic_name=topic.topic_name,
            partitions=[
                AlterShareGroupOffsetsResponsePartition(
                    partition_index=part.partition_index,
                    error_code=DENIED_TOPIC,
                    error_message=DENIED_TEXT,
                )
                for part in topic.partitions
            ],
        )
        for topic in denied
    ]
    return _appending(refused)


def _delete_offsets(
    request: DeleteShareGroupOffsetsRequest, asker: Asker, refuse: Refuse
) -> After | None:
    asker.demand(Operation.DELETE, Resource.GROUP, request.group_id)
    request.topics, denied = split(
        request.topics, lambda topic: asker.may_topic(Operation.READ, topic.topic_name)
    )
    refused = [
        DeleteShareGroupOffsetsResponseTopic(
            topic_name=topic.topic_name,
            error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
            error_message=DENIED_TEXT,
        )
        for topic in denied
    ]
    return _appending(refused)


def _appending(refused: list[Any]) -> After | None:
    def after(response: Any) -> None:
        if not response.error_code:
            response.responses += refused

    return after if refused else None


GUARDS: dict[str, Guard] = {
    "share_group_heartbeat": member_heartbeat,
    "share_group_describe": describe,
    "share_fetch": _share_fetch,
    "share_acknowledge": _share_acknowledge,
    "describe_share_group_offsets": _describe_offsets,
    "alter_share_group_offsets": _alter_offsets,
    "delete_share_group_offsets": _delete_offsets,
}
