"""What the five requests to a share coordinator share: a group, its topics, their partitions."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

from ottla.errors import KafkaError
from ottla.groups.share.states import SharePartitionKey
from ottla.ids import Uuid


class Part(Protocol):
    @property
    def partition(self) -> int: ...


class PartitionResult(Protocol):
    partition: int
    error_code: int
    error_message: str | None


P = TypeVar("P", bound=Part)
P_co = TypeVar("P_co", bound=Part, covariant=True)
R = TypeVar("R", bound=PartitionResult)


class TopicWithParts(Protocol[P_co]):
    @property
    def topic_id(self) -> Uuid: ...
    @property
    def partitions(self) -> Sequence[P_co]: ...


class Request(Protocol[P_co]):
    @property
    def group_id(self) -> str: ...
    @property
    def topics(self) -> Sequence[TopicWithParts[P_co]]: ...


ByTopic = list[tuple[Uuid, list[R]]]


async def answer_each(
    request: Request[P],
    result: type[R],
    answer: Callable[[SharePartitionKey, P, R], Awaitable[None]],
) -> ByTopic[R]:
    """A result for each partition; `answer` fills it, or raises what it shall say instead. Where
    no group is named there is nothing to say."""
    if not request.group_id:
        return []

    async def one(place: SharePartitionKey, part: P) -> R:
        filled = result()
        filled.partition = place.partition
        try:
            await answer(place, part, filled)
        except KafkaError as error:
            return refusal(result, place.partition, error)
        return filled

    return [
        (
            topic.topic_id,
            [
                await one(SharePartitionKey(request.group_id, topic.topic_id, part.partition), part)
                for part in topic.partitions
            ],
        )
        for topic in request.topics
    ]


def refuse_each(request: Request[P], result: type[R], error: KafkaError) -> ByTopic[R]:
    return [
        (topic.topic_id, [refusal(result, part.partition, error) for part in topic.partitions])
        for topic in request.topics
    ]


def refusal(result: type[R], partition: int, error: KafkaError) -> R:
    refused = result()
    refused.partition = partition
    refused.error_code, refused.error_message = error.code, error.message
    return refused
