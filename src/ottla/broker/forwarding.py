"""What another node decides: a broker passes it on, the quorum's leader answers itself.

It travels with the client's principal and address: the controller decides about the client's
rights. On the controllers' listener nothing is passed on: two that disagree would do so forever.
"""

from typing import TypeVar

from ottla.broker.api import AnsweredBy, Handle, Listeners
from ottla.broker.broker import Broker
from ottla.broker.transport.context import RequestContext
from ottla.wire.envelope import Origin
from ottla.wire.message import Message

M = TypeVar("M", bound=Message)


def forwarder(answered_by: AnsweredBy, response: type[Message]) -> Handle:
    """The handler of an API for which this node has nothing to do itself."""
    ask = ask_quorum if answered_by is AnsweredBy.QUORUM else ask_controller

    async def handle(request: Message, context: RequestContext, broker: Broker) -> Message:
        return await ask(request, response, context, broker)

    return handle


async def ask_controller(
    request: Message, response: type[M], context: RequestContext, broker: Broker
) -> M:
    if context.peer.listener_kind is Listeners.CONTROLLER:
        return await broker.controller.ask(request, response)
    return await broker.active_controller.ask(request, response, origin=origin_of(context))


async def ask_quorum(
    request: Message, response: type[M], context: RequestContext, broker: Broker
) -> M:
    is_asked_itself = context.peer.listener_kind is Listeners.CONTROLLER
    if is_asked_itself or broker.quorum.is_leader:
        answer = await broker.quorum.handle(request, context.api_version)
        assert isinstance(answer, response)
        return answer
    return await broker.active_controller.ask(request, response, origin=origin_of(context))


def origin_of(context: RequestContext) -> Origin:
    return Origin(
        context.principal,
        context.client_host,
        context.client_id,
        context.api_version,
        context.correlation_id,
    )
