"""Users' SCRAM credentials as records, as Apache Kafka's ScramControlManager does."""

from ottla.controller.decision import ControllerResult
from ottla.errors import ErrorCode, KafkaError
from ottla.metadata.image import Image
from ottla.metadata.records import Record
from ottla.security.scram import BY_NUMBER, ITERATIONS_MAX, ITERATIONS_MIN, credential
from ottla.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from ottla.wire.records.metadata import (
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)

Change = ScramCredentialDeletion | ScramCredentialUpsertion


def alter_credentials(
    image: Image, ask: AlterUserScramCredentialsRequest
) -> ControllerResult[AlterUserScramCredentialsResponse]:
    """Each user may be changed once in a request."""
    changes: dict[str, Change] = {}
    refused: dict[str, KafkaError] = {}
    asked: list[Change] = [*ask.deletions, *ask.upsertions]
    for change in asked:
        if change.name in refused:
            continue
        try:
            if changes.pop(change.name, None) is not None:
                raise KafkaError(
                    ErrorCode.DUPLICATE_RESOURCE, "A user can be changed once in a request."
                )
            _check(image, change)
        except KafkaError as error:
            refused[change.name] = error
        else:
            changes[change.name] = change
    results = [AlterUserScramCredentialsResult(user=name) for name in changes] + [
        AlterUserScramCredentialsResult(
            user=name, error_code=error.code, error_message=error.message
        )
        for name, error in refused.items()
    ]
    records = [_record(change) for change in changes.values()]
    return ControllerResult(records, AlterUserScramCredentialsResponse(results=results))


def _check(image: Image, change: Change) -> None:
    if not change.name:
        raise KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "A user needs a name.")
    if change.mechanism not in BY_NUMBER:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_SASL_MECHANISM, f"There is no mechanism {change.mechanism}."
        )
    if isinstance(change, ScramCredentialDeletion):
        if (change.name, change.mechanism) not in image.scram_credentials:
            raise KafkaError(
                ErrorCode.RESOURCE_NOT_FOUND, f"{change.name} has no such credential to delete."
            )
    elif change.iterations < ITERATIONS_MIN:
        raise KafkaError(
            ErrorCode.UNACCEPTABLE_CREDENTIAL, f"Fewer than {ITERATIONS_MIN} iterations."
        )
    elif change.iterations > ITERATIONS_MAX:
        raise KafkaError(
            ErrorCode.UNACCEPTABLE_CREDENTIAL, f"More than {ITERATIONS_MAX} iterations."
        )


def _record(change: Change) -> Record:
    if isinstance(change, ScramCredentialDeletion):
        return RemoveUserScramCredentialRecord(name=change.name, mechanism=change.mechanism)
    mechanism = BY_NUMBER[change.mechanism]
    keys = credential(mechanism, change.salted_password, change.salt, change.iterations)
    return UserScramCredentialRecord(
        name=change.name,
        mechanism=change.mechanism,
        salt=change.salt,
        stored_key=keys.stored_key,
        server_key=keys.server_key,
        iterations=change.iterations,
    )
