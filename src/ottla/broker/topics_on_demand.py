"""Topics made because somebody asked for them (`auto.create.topics.enable`)."""

from collections.abc import Iterable

from ottla.broker.broker import Broker
from ottla.broker.internal_topics import new_topic
from ottla.errors import ErrorCode
from ottla.wire.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse

TIMEOUT_MS = 30_000


async def create_on_demand(names: Iterable[str], broker: Broker) -> dict[str, ErrorCode]:
    """Make the topics; why not, for those that could not be made. Returns when all are known."""
    request = CreateTopicsRequest(
        topics=[new_topic(name, broker.settings) for name in dict.fromkeys(names)],
        timeout_ms=TIMEOUT_MS,
    )
    response = await broker.active_controller.ask(request, CreateTopicsResponse)
    return {
        topic.name: ErrorCode(topic.error_code)
        for topic in response.topics
        if topic.error_code not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS)
    }
