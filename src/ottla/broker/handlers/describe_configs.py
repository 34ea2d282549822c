"""DescribeConfigs: what holds for a topic, a broker, all brokers or a group, and why."""

from collections.abc import Iterable

from ottla.broker.broker import Broker
from ottla.broker.context import RequestContext
from ottla.config.settings import Described, Settings
from ottla.controller.naming import check_topic_name
from ottla.errors import ErrorCode, KafkaError
from ottla.metadata.image import CLUSTER_DEFAULTS, ResourceType
from ottla.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)


def handle(
    request: DescribeConfigsRequest, context: RequestContext, broker: Broker
) -> DescribeConfigsResponse:
    return DescribeConfigsResponse(
        results=[_describe(resource, request, broker) for resource in request.resources]
    )


def refuse(request: DescribeConfigsRequest, error: KafkaError) -> DescribeConfigsResponse:
    return DescribeConfigsResponse(
        results=[
            DescribeConfigsResult(
                error_code=error.code,
                error_message=error.message,
                resource_type=one.resource_type,
                resource_name=one.resource_name,
            )
            for one in request.resources
        ]
    )


def _describe(
    resource: DescribeConfigsResource, request: DescribeConfigsRequest, broker: Broker
) -> DescribeConfigsResult:
    result = DescribeConfigsResult(
        resource_type=resource.resource_type, resource_name=resource.resource_name
    )
    try:
        settings, names = _scope(resource, broker)
        wanted = resource.configuration_keys
        result.configs = [
            _shown(settings.describe(name), request)
            for name in names
            if (wanted is None or name in wanted) and not settings.options[name].internal
        ]
    except KafkaError as error:
        result.error_code, result.error_message = error.code, error.message
    return result


def _scope(resource: DescribeConfigsResource, broker: Broker) -> tuple[Settings, Iterable[str]]:
    """The settings asked about, and which of them are told."""
    kind, name, image = resource.resource_type, resource.resource_name, broker.image
    cluster = image.config(*CLUSTER_DEFAULTS)
    own = image.config(ResourceType.BROKER, str(broker.node_id))
    settings = broker.settings.with_dynamic(cluster, own)
    if kind == ResourceType.TOPIC:
        check_topic_name(name)
        if name not in image.topics_by_name:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"There is no topic '{name}'.")
        settings = settings.for_topic(image.config(kind, name))
    elif kind == ResourceType.GROUP:
        if not name:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "A group's name must not be empty.")
        settings = settings.for_group(image.config(kind, name))
    elif kind == ResourceType.BROKER and not name:
        defaults = broker.settings.with_dynamic(cluster, {})
        return defaults, [one for one in cluster if one in defaults.options]
    elif kind != ResourceType.BROKER:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, f"Resources of type {kind} have no settings here."
        )
    elif name != str(broker.node_id):
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, f"This is broker {broker.node_id}: ask broker {name} itself."
        )
    return settings, settings.options


def _shown(one: Described, request: DescribeConfigsRequest) -> DescribeConfigsResourceResult:
    result = DescribeConfigsResourceResult(
        name=one.name,
        value=one.value,
        read_only=one.read_only,
        config_source=one.source,
        is_sensitive=one.sensitive,
        config_type=one.kind,
    )
    if request.include_synonyms:
        result.synonyms = [
            DescribeConfigsSynonym(name=same.name, value=same.value, source=same.source)
            for same in one.synonyms
        ]
    if request.include_documentation:
        result.documentation = one.doc
    return result
