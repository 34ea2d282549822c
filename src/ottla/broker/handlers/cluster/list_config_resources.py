"""ListConfigResources: what could be asked about in DescribeConfigs.

v0 knows subscriptions to client metrics only; v1 (KIP-1142): any kind of resource.
"""

from ottla.broker.services import BrokerServices
from ottla.broker.transport.context import RequestContext
from ottla.errors import ErrorCode, KafkaError
from ottla.metadata.image import ConfigResourceType, Image
from ottla.wire.messages.list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)


def handle(
    request: ListConfigResourcesRequest, context: RequestContext, services: BrokerServices
) -> ListConfigResourcesResponse:
    kinds = [ConfigResourceType.CLIENT_METRICS]
    if context.api_version > 0:
        kinds = [_known(kind) for kind in request.resource_types] or list(ConfigResourceType)
    return ListConfigResourcesResponse(
        config_resources=[
            ConfigResource(resource_name=name, resource_type=kind)
            for kind in kinds
            for name in _names(services.cluster.image, kind)
        ]
    )


def _known(kind: int) -> ConfigResourceType:
    try:
        return ConfigResourceType(kind)
    except ValueError:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_VERSION, f"There are no resources of type {kind}."
        ) from None


def _names(image: Image, kind: ConfigResourceType) -> list[str]:
    if kind is ConfigResourceType.TOPIC:
        return list(image.topics_by_name)
    if kind in (ConfigResourceType.BROKER, ConfigResourceType.BROKER_LOGGER):
        return [str(broker) for broker in image.brokers]
    return [name for one, name in image.configs if one == kind]
