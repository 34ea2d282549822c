"""IncrementalAlterConfigs: set, delete, append to and subtract from settings."""

from collections.abc import Mapping

from ottla.broker.broker_config_changes import refusals
from ottla.broker.services import ClusterServices
from ottla.broker.transport.context import RequestContext
from ottla.config import BROKER_OPTIONS
from ottla.config.options import ConfigType
from ottla.controller.settings import check_entries
from ottla.errors import ErrorCode, KafkaError
from ottla.wire.messages.incremental_alter_configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

OPERATIONS = range(4)
SET, DELETE, APPEND, SUBTRACT = OPERATIONS


async def handle(
    request: IncrementalAlterConfigsRequest, context: RequestContext, services: ClusterServices
) -> IncrementalAlterConfigsResponse:
    resources = request.resources
    refused = refusals(resources, _after, context, services.cluster)
    left = IncrementalAlterConfigsRequest(
        resources=[one for at, one in enumerate(resources) if at not in refused],
        validate_only=request.validate_only,
    )
    response = await services.authority.ask_controller(
        left, IncrementalAlterConfigsResponse, context
    )
    for at, error in refused.items():
        response.responses.insert(at, _refused(resources[at], error))
    return response


def _after(resource: AlterConfigsResource, present: Mapping[str, str]) -> Mapping[str, str]:
    """Without what is added to and taken from lists: nothing that is checked here is one."""
    after = dict(present)
    check_entries(resource.configs)
    if any(config.config_operation not in OPERATIONS for config in resource.configs):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "There is no such operation.")
    for config in resource.configs:
        if config.config_operation in (APPEND, SUBTRACT):
            option = BROKER_OPTIONS.get(config.name)
            if option is None or option.kind is not ConfigType.LIST:
                raise KafkaError(ErrorCode.INVALID_CONFIG, f"{config.name} is not a list.")
        if config.config_operation == SET and config.value is not None:
            after[config.name] = config.value
        elif config.config_operation == DELETE:
            after.pop(config.name, None)
    return after


def refuse(
    request: IncrementalAlterConfigsRequest, error: KafkaError
) -> IncrementalAlterConfigsResponse:
    return IncrementalAlterConfigsResponse(
        responses=[_refused(one, error) for one in request.resources]
    )


def _refused(resource: AlterConfigsResource, error: KafkaError) -> AlterConfigsResourceResponse:
    return AlterConfigsResourceResponse(
        error_code=error.code,
        error_message=error.message,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )
