"""ApiVersions: what this listener serves, and the features that are on.

A client's first word. Whatever version it asks with, it is told which ones there are. Produce is
shown from version 0 on though it is served from 3: older librdkafka takes a higher minimum for a
broker that cannot compress. v3 (KIP-511): the client names its software; v4: features whose least
level is 0 are shown.
"""

from ottla.broker.api import Api, apis
from ottla.broker.cluster_view import ClusterView
from ottla.broker.dispatch import PRODUCE
from ottla.broker.services import ClusterServices
from ottla.broker.transport.context import RequestContext
from ottla.errors import ErrorCode
from ottla.metadata.features import KRAFT_VERSION, SUPPORTED
from ottla.wire.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

LEVEL_0_SINCE = 4  # older clients cannot read a feature whose least level is 0


def handle(
    request: ApiVersionsRequest, context: RequestContext, services: ClusterServices
) -> ApiVersionsResponse:
    if context.api_version >= 3:
        if not (_is_software(request.client_software_name)) or not (
            _is_software(request.client_software_version)
        ):
            return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
        context.peer.software = (request.client_software_name, request.client_software_version)
    shown = apis(context.peer.listener_kind).values()
    image = services.cluster.image
    return ApiVersionsResponse(
        api_keys=[_shown(api) for api in shown],
        supported_features=[
            SupportedFeatureKey(name=name, min_version=least, max_version=most)
            for name, (least, most) in SUPPORTED.items()
            if least > 0 or context.api_version >= LEVEL_0_SINCE
        ],
        finalized_features_epoch=image.offset,
        finalized_features=[
            FinalizedFeatureKey(name=name, min_version_level=level, max_version_level=level)
            for name, level in _finalized(services.cluster).items()
            if level > 0
        ],
    )


def _finalized(cluster: ClusterView) -> dict[str, int]:
    """The quorum's own level is not in the image, which is made of what the quorum's log has."""
    return {**cluster.image.features, KRAFT_VERSION: cluster.quorum.kraft_version}


def unsupported(api: Api) -> ApiVersionsResponse:
    """For a version of ApiVersions that does not exist yet; sent at version 0."""
    return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=[_shown(api)])


def _shown(api: Api) -> ApiVersion:
    first = 0 if api.key == PRODUCE else api.versions[0]
    return ApiVersion(api_key=api.key, min_version=first, max_version=api.versions[-1])


def _is_software(text: str) -> bool:
    """Kafka's `[a-zA-Z0-9](?:[a-zA-Z0-9\\-.]*[a-zA-Z0-9])?`."""
    if not text or not text.isascii():
        return False
    inner = text.replace("-", "a").replace(".", "a")
    return text[0].isalnum() and text[-1].isalnum() and inner.isalnum()
