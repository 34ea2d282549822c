"""The active controller as replicas and members ask it, wherever it is."""

from typing import Protocol, TypeVar

from ottla.wire.message import Message

M = TypeVar("M", bound=Message)


class ControllerChannel(Protocol):
    """Kafka: NodeToControllerChannelManager. A question may be asked twice: what asks must bear
    that."""

    async def ask(self, request: Message, response: type[M], timeout_s: float = 30.0) -> M:
        """Its answer; NOT_CONTROLLER where nobody was active all that time."""
