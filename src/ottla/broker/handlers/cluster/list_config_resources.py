"""ListConfigResources: what could be asked about in DescribeConfigs.

v0 knows subscriptions to client metrics only; v1 (KIP-1142): any kind of resource.
"""

from ottla.broker.services import BrokerServices
from ottla.broker.transport.context import RequestContext
from ottla.errors import ErrorCode, KafkaError
from ottla.metadata.image import Image, ResourceType
from ottla.wire.messages.list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)


def handle(
    request: ListConfigResourcesRequest, context: RequestContext, services: BrokerServices
) -> ListConfigResourcesResponse:
    kinds = [ResourceType.CLIENT_METRICS]
    if context.api_version > 0:
        kinds = [_known(kind) for kind in request.resource_types] or list(ResourceType)
    return ListConfigResourcesResponse(
        config_resources=[
            ConfigResource(resource_name=name, resource_type=kind)
            for kind in kinds
            for name in _names(services.cluster.image, kind)
        ]
    )


def _known(kind: int) -> ResourceType:
    try:
        return ResourceType(kind)
    except ValueError:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_VERSION, f"There are no resources of type {kind}."
        ) from None


def _names(image: Image, kind: ResourceType) -> list[str]:
    if kind is ResourceType.TOPIC:
        return list(image.topics_by_name)
    if kind in (ResourceType.BROKER, ResourceType.BROKER_LOGGER):
        return [str(broker) for broker in image.brokers]
    return [name for one, name in image.configs if one == kind]
