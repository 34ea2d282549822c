"""ControllerRegistration: a member of the quorum tells what it supports."""

from ottla.broker.broker import Broker
from ottla.broker.context import RequestContext
from ottla.broker.controlling import ask_controller
from ottla.wire.messages.controller_registration import (
    ControllerRegistrationRequest,
    ControllerRegistrationResponse,
)


async def handle(
    request: ControllerRegistrationRequest, context: RequestContext, broker: Broker
) -> ControllerRegistrationResponse:
    return await ask_controller(request, ControllerRegistrationResponse, context, broker)
