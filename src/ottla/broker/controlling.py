"""What only the active controller decides: a broker passes it on, a controller answers itself."""

from typing import TypeVar

from ottla.broker.api import Listeners
from ottla.broker.broker import Broker
from ottla.broker.context import RequestContext
from ottla.wire.message import Message

M = TypeVar("M", bound=Message)


async def ask_controller(
    request: Message, response: type[M], context: RequestContext, broker: Broker
) -> M:
    """On the controllers' listener nothing is passed on: two that disagree would do so forever."""
    if context.peer.listener_kind is Listeners.CONTROLLER:
        return await broker.controller.ask(request, response)
    return await broker.active_controller.ask(request, response)
