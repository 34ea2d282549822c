"""AlterConfigs, the old way: what is not named is reset."""

from collections.abc import Mapping

from ottla.broker.broker_config_changes import refusals
from ottla.broker.services import ClusterServices
from ottla.broker.transport.context import RequestContext
from ottla.errors import KafkaError
from ottla.wire.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)


async def handle(
    request: AlterConfigsRequest, context: RequestContext, services: ClusterServices
) -> AlterConfigsResponse:
    resources = request.resources
    refused = refusals(resources, _after, context, services.cluster)
    left = AlterConfigsRequest(
        resources=[one for at, one in enumerate(resources) if at not in refused],
        validate_only=request.validate_only,
    )
    response = await services.authority.ask_controller(left, AlterConfigsResponse, context)
    for at, error in refused.items():
        response.responses.insert(at, _refused(resources[at], error))
    return response


def _after(resource: AlterConfigsResource, present: Mapping[str, str]) -> Mapping[str, str]:
    return {config.name: config.value for config in resource.configs if config.value is not None}


def refuse(request: AlterConfigsRequest, error: KafkaError) -> AlterConfigsResponse:
    return AlterConfigsResponse(responses=[_refused(one, error) for one in request.resources])


def _refused(resource: AlterConfigsResource, error: KafkaError) -> AlterConfigsResourceResponse:
    return AlterConfigsResourceResponse(
        error_code=error.code,
        error_message=error.message,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )
