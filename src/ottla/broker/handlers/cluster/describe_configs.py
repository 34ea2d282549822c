"""DescribeConfigs: what holds for a topic, broker, all brokers, a group, client metrics, and why.

Versions: 1 sources and synonyms, 3 types and documentation.
"""

from collections.abc import Iterator, Mapping

from ottla.broker.cluster_view import ClusterView
from ottla.broker.services import ClusterServices
from ottla.broker.transport.context import RequestContext
from ottla.config import ConfigSource, DescribedConfig, Settings
from ottla.controller.naming import check_topic_name
from ottla.errors import ErrorCode, KafkaError
from ottla.metadata.image import CLUSTER_DEFAULTS, ConfigResourceType
from ottla.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)

UNKNOWN_KIND = 0


def handle(
    request: DescribeConfigsRequest, context: RequestContext, services: ClusterServices
) -> DescribeConfigsResponse:
    for resource in request.resources:
        if resource.resource_type not in set(ConfigResourceType):
            raise _no_settings(resource.resource_type)
    return DescribeConfigsResponse(
        results=[_describe(resource, request, services.cluster) for resource in request.resources]
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
    resource: DescribeConfigsResource, request: DescribeConfigsRequest, view: ClusterView
) -> DescribeConfigsResult:
    result = DescribeConfigsResult(
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
        error_message="",
    )
    wanted = resource.configuration_keys
    try:
        result.configs = [
            _shown(one, request)
            for one in _told(resource, view)
            if not wanted or one.name in wanted
        ]
    except KafkaError as error:
        result.error_code, result.error_message = error.code, error.message
    return result


def _told(resource: DescribeConfigsResource, view: ClusterView) -> Iterator[DescribedConfig]:
    kind, name, image = resource.resource_type, resource.resource_name, view.image
    cluster = image.config(*CLUSTER_DEFAULTS)
    own = image.config(ConfigResourceType.BROKER, str(view.node_id))
    settings = view.settings.with_dynamic(cluster, own)
    if kind == ConfigResourceType.TOPIC:
        check_topic_name(name)
        if name not in image.topics_by_name:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"There is no topic '{name}'.")
        return _all(settings.for_topic(image.config(kind, name)))
    if kind == ConfigResourceType.GROUP:
        if not name:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "A group's name must not be empty.")
        return _all(settings.for_group(image.config(kind, name)))
    if kind == ConfigResourceType.CLIENT_METRICS:
        if not name:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "A subscription's name must not be empty.")
        return _all(settings.for_client_metrics(image.config(kind, name)))
    if kind != ConfigResourceType.BROKER:
        raise _no_settings(kind)
    if not name:
        return _cluster_defaults(view.settings.with_dynamic(cluster, {}), cluster)
    if name != str(view.node_id):
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, f"This is broker {view.node_id}: ask broker {name} itself."
        )
    return _all(settings)


def _no_settings(kind: int) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, f"Resources of type {kind} have no settings here.")


def _all(settings: Settings) -> Iterator[DescribedConfig]:
    return map(settings.describe, settings.told_names())


def _cluster_defaults(settings: Settings, cluster: Mapping[str, str]) -> Iterator[DescribedConfig]:
    """Only what is set for all brokers, and of its synonyms only that."""
    source = ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
    for name in cluster:
        one = settings.describe(name)
        synonyms = tuple(same for same in one.synonyms if same.source is source)
        yield one._replace(synonyms=synonyms)


def _shown(one: DescribedConfig, request: DescribeConfigsRequest) -> DescribeConfigsResourceResult:
    result = DescribeConfigsResourceResult(
        name=one.name,
        value=one.value,
        read_only=one.read_only,
        config_source=one.source,
        is_sensitive=one.sensitive,
        config_type=one.kind or UNKNOWN_KIND,
    )
    if request.include_synonyms:
        result.synonyms = [
            DescribeConfigsSynonym(name=same.name, value=same.value, source=same.source)
            for same in one.synonyms
        ]
    if request.include_documentation:
        result.documentation = one.doc
    return result
