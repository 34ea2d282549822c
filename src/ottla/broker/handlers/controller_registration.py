"""ControllerRegistration: a member of the quorum tells what it supports."""

from ottla.broker.broker import Broker
from ottla.broker.context import RequestContext
from ottla.wire.messages.controller_registration import (
    ControllerRegistrationRequest,
    ControllerRegistrationResponse,
)


async def handle(
    request: ControllerRegistrationRequest, context: RequestContext, broker: Broker
) -> ControllerRegistrationResponse:
    return await broker.controller.register_controller(request)
