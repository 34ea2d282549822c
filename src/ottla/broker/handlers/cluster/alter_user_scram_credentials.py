"""AlterUserScramCredentials: passwords' keys are kept by the controller, user by user."""

from ottla.errors import KafkaError
from ottla.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)


def refuse(
    request: AlterUserScramCredentialsRequest, error: KafkaError
) -> AlterUserScramCredentialsResponse:
    names = dict.fromkeys(
        [one.name for one in request.deletions] + [one.name for one in request.upsertions]
    )
    return AlterUserScramCredentialsResponse(
        results=[
            AlterUserScramCredentialsResult(
                user=name, error_code=error.code, error_message=error.message
            )
            for name in names
        ]
    )
