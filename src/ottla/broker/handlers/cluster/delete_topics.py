"""DeleteTopics: by name, or by id, each with its own answer."""

from ottla.errors import KafkaError
from ottla.ids import ZERO_UUID
from ottla.wire.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)


def refuse(request: DeleteTopicsRequest, error: KafkaError) -> DeleteTopicsResponse:
    """The newest version names topics in `topics`, by name or id, the others in `topic_names`."""
    asked = [(topic.name, topic.topic_id) for topic in request.topics]
    asked += [(name, ZERO_UUID) for name in request.topic_names]
    return DeleteTopicsResponse(
        responses=[
            DeletableTopicResult(
                name=name, topic_id=topic_id, error_code=error.code, error_message=error.message
            )
            for name, topic_id in asked
        ]
    )
