"""DescribeUserScramCredentials: which users there are, and how they may prove themselves. Keys and
salts are told to nobody."""

from collections import Counter

from ottla.broker.services import ClusterServices
from ottla.broker.transport.context import RequestContext
from ottla.errors import ErrorCode, KafkaError
from ottla.metadata.image import Image
from ottla.security.scram import BY_NUMBER
from ottla.wire.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)


def handle(
    request: DescribeUserScramCredentialsRequest,
    context: RequestContext,
    services: ClusterServices,
) -> DescribeUserScramCredentialsResponse:
    """All users where none is named."""
    image = services.cluster.image
    counts = Counter(user.name for user in request.users or ())
    names = counts or dict.fromkeys(name for name, _ in image.scram_credentials)
    return DescribeUserScramCredentialsResponse(
        results=[_describe(name, counts[name] > 1, image) for name in names]
    )


def refuse(
    request: DescribeUserScramCredentialsRequest, error: KafkaError
) -> DescribeUserScramCredentialsResponse:
    """For each user as well, without its name."""
    return DescribeUserScramCredentialsResponse(
        error_code=error.code,
        error_message=error.message,
        results=[
            DescribeUserScramCredentialsResult(error_code=error.code, error_message=error.message)
            for _ in request.users or ()
        ],
    )


def _describe(name: str, is_twice: bool, image: Image) -> DescribeUserScramCredentialsResult:
    if is_twice:
        return DescribeUserScramCredentialsResult(
            user=name,
            error_code=ErrorCode.DUPLICATE_RESOURCE,
            error_message=f"The user {name} is named twice.",
        )
    infos = [
        CredentialInfo(mechanism=mechanism, iterations=known.iterations)
        for mechanism in BY_NUMBER
        if (known := image.scram_credentials.get((name, mechanism))) is not None
    ]
    if not infos:
        return DescribeUserScramCredentialsResult(
            user=name,
            error_code=ErrorCode.RESOURCE_NOT_FOUND,
            error_message=f"There is no user {name} with a SCRAM credential.",
        )
    return DescribeUserScramCredentialsResult(user=name, credential_infos=infos)
