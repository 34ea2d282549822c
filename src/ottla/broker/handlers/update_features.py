"""UpdateFeatures: the cluster's feature levels, all asked for or none."""

from ottla.broker.broker import Broker
from ottla.broker.context import RequestContext
from ottla.broker.controlling import ask_controller
from ottla.wire.messages.update_features import (
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)


async def handle(
    request: UpdateFeaturesRequest, context: RequestContext, broker: Broker
) -> UpdateFeaturesResponse:
    return await ask_controller(request, UpdateFeaturesResponse, context, broker)
