"""Topics made because somebody asked for them (`auto.create.topics.enable`)."""

import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from ottla.broker.internal_topics import new_topic
from ottla.errors import ErrorCode, KafkaError
from ottla.wire.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse

if TYPE_CHECKING:
    from ottla.broker.background import Background
    from ottla.broker.services import ActiveController
    from ottla.config import Settings
    from ottla.wire.envelope import Origin

log = logging.getLogger(__name__)

TIMEOUT_MS = 30_000


class TopicsOnDemand:
    """Each topic is asked of the controller once at a time, however many clients want it; the first
    of them is who asked, whose rights and quota count."""

    def __init__(
        self,
        settings: "Callable[[], Settings]",
        controller: "ActiveController",
        background: "Background",
    ) -> None:
        self._settings = settings
        self._controller = controller
        self._background = background
        self._being_made: set[str] = set()

    def create(self, names: Iterable[str], origin: "Origin | None" = None) -> None:
        """Begin; whoever wants to know how it ended asks for the topic again. Without an origin it
        is this node itself that wants them."""
        wanted = [name for name in names if name not in self._being_made]
        if wanted:
            self._being_made.update(wanted)
            self._background.spawn(self._create(wanted, origin))

    async def _create(self, names: list[str], origin: "Origin | None") -> None:
        try:
            refused = await create_on_demand(names, self._settings(), self._controller, origin)
        except KafkaError as error:
            log.warning("topics could not be made on demand: %s", error)
        else:
            for name, code in refused.items():
                log.warning("topic %s could not be made on demand: %s", name, code.name)
        finally:
            self._being_made.difference_update(names)


async def create_on_demand(
    names: Iterable[str],
    settings: "Settings",
    controller: "ActiveController",
    origin: "Origin | None" = None,
) -> dict[str, ErrorCode]:
    """Make the topics; why not, for those that could not be made. Returns when all are known."""
    request = CreateTopicsRequest(
        topics=[new_topic(name, settings) for name in dict.fromkeys(names)],
        timeout_ms=TIMEOUT_MS,
    )
    if origin is not None:  # asked in the newest words, whatever the client spoke of
        origin = origin._replace(version=request.VERSIONS[-1])
    response = await controller.ask(request, CreateTopicsResponse, origin=origin)
    return {
        topic.name: ErrorCode(topic.error_code)
        for topic in response.topics
        if topic.error_code not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS)
    }
