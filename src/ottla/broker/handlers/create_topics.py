"""CreateTopics: made by the controller, each with its own answer."""

from ottla.broker.broker import Broker
from ottla.broker.context import RequestContext
from ottla.broker.controlling import ask_controller
from ottla.errors import KafkaError
from ottla.wire.messages.create_topics import (
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)


async def handle(
    request: CreateTopicsRequest, context: RequestContext, broker: Broker
) -> CreateTopicsResponse:
    return await ask_controller(request, CreateTopicsResponse, context, broker)


def refuse(request: CreateTopicsRequest, error: KafkaError) -> CreateTopicsResponse:
    return CreateTopicsResponse(
        topics=[
            CreatableTopicResult(
                name=topic.name, error_code=error.code, error_message=error.message
            )
            for topic in request.topics
        ]
    )
