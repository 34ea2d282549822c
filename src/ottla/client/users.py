"""Users with a password (SCRAM) of any Kafka cluster. Passwords themselves never come here: what a
cluster keeps of one is worked out by whoever has it."""

from collections.abc import Mapping
from typing import NamedTuple

from ottla.client.refusals import refuse
from ottla.client.wire_client import WireClient
from ottla.errors import ErrorCode
from ottla.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from ottla.wire.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    UserName,
)


class StretchedPassword(NamedTuple):
    """A password as it is sent: salted and stretched."""

    mechanism: int
    iterations: int
    salt: bytes
    salted: bytes


async def users(wire: WireClient, name: str | None = None) -> Mapping[str, Mapping[int, int]]:
    """Iterations by mechanism, of all users, or of one if it is there."""
    asked = DescribeUserScramCredentialsRequest(
        users=None if name is None else [UserName(name=name)]
    )
    answer = await wire.ask_any(asked, DescribeUserScramCredentialsResponse)
    refuse(answer.error_code, answer.error_message)
    found: dict[str, Mapping[int, int]] = {}
    for one in answer.results:
        if one.error_code == ErrorCode.RESOURCE_NOT_FOUND:
            continue
        refuse(one.error_code, one.error_message, one.user)
        found[one.user] = {info.mechanism: info.iterations for info in one.credential_infos}
    return dict(sorted(found.items()))


async def set_password(wire: WireClient, name: str, password: StretchedPassword) -> None:
    await _alter(
        wire,
        AlterUserScramCredentialsRequest(
            upsertions=[
                ScramCredentialUpsertion(
                    name=name,
                    mechanism=password.mechanism,
                    iterations=password.iterations,
                    salt=password.salt,
                    salted_password=password.salted,
                )
            ]
        ),
    )


async def delete_user(wire: WireClient, name: str) -> bool:
    """Every credential of it; whether there was one."""
    mechanisms = (await users(wire, name)).get(name, {})
    for mechanism in mechanisms:  # a request may change a user once
        deletion = ScramCredentialDeletion(name=name, mechanism=mechanism)
        await _alter(wire, AlterUserScramCredentialsRequest(deletions=[deletion]))
    return bool(mechanisms)


async def _alter(wire: WireClient, asked: AlterUserScramCredentialsRequest) -> None:
    answer = await wire.ask_any(asked, AlterUserScramCredentialsResponse)
    for one in answer.results:
        refuse(one.error_code, one.error_message, one.user)
