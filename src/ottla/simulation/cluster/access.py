"""Access rules and SCRAM users: none that was acknowledged is lost, none that is gone comes back.

One operator makes and deletes them through any broker. Whatever it was not answered is of no more
interest: it may have happened, or may yet. What it was told must be so at the end, on every node.
That a deletion finds nothing is no proof: a broker that lost its controller asks the next again.
"""

import asyncio
from collections.abc import Mapping
from itertools import count
from typing import NamedTuple

from ottla.errors import ErrorCode
from ottla.metadata.image import Image
from ottla.ports.network import LinkLost
from ottla.simulation.cluster.clients import Client, Means
from ottla.simulation.cluster.invariants import Teller
from ottla.wire.codec import MalformedMessage
from ottla.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from ottla.wire.messages.create_acls import AclCreation, CreateAclsRequest, CreateAclsResponse
from ottla.wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest, DeleteAclsResponse

SETTINGS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
ACLS, SCRAM = 3, 0
TOPIC, READ, ALLOW, LITERAL, SHA_256, ITERATIONS = 2, 3, 3, 3, 1, 4096
PAUSE_S_MAX = 1.5
DELETED = 0.4
AT_ONCE_S = 0.3
"""What was answered later, a broker may have asked twice: then the first may happen last."""


class Thing(NamedTuple):
    kind: str  # rule or user
    name: str


class AccessFacts:
    """What the operator was told, and whether it is so."""

    def __init__(self, world: Teller) -> None:
        self._world = world
        self.told: dict[Thing, bool] = {}  # whether it is there
        self.acknowledged = 0

    def was_told(self, thing: Thing, *, there: bool) -> None:
        self.told[thing] = there
        self.acknowledged += 1

    def is_uncertain(self, thing: Thing) -> None:
        self.told.pop(thing, None)

    def at_the_end(self, images: Mapping[int, Image]) -> None:
        for node_id, image in images.items():
            found = {Thing("rule", acl.resource_name) for acl in image.acls.values()}
            found |= {Thing("user", name) for name, _ in image.scram_credentials}
            for thing, there in self.told.items():
                if there and thing not in found:
                    self._violated(thing, f"was acknowledged, and node {node_id} lacks it")
                if not there and thing in found:
                    self._violated(thing, f"was deleted, and node {node_id} has it")

    def _violated(self, thing: Thing, what: str) -> None:
        self._world.violated(f"{thing.kind} {thing.name} {what}")


class Operator(Client):
    def __init__(self, facts: AccessFacts, means: Means) -> None:
        super().__init__(means)
        self.facts = facts

    async def run(self) -> None:
        for number in count():
            if self.stopped:
                return
            there = [thing for thing, is_there in self.facts.told.items() if is_there]
            if there and self.rng.random() < DELETED:
                thing, make = self.rng.choice(there), False
            else:
                thing, make = Thing(self.rng.choice(("rule", "user")), f"n{number}"), True
            began = asyncio.get_running_loop().time()
            try:
                error = await self._ask(thing, make=make)
            except (LinkLost, MalformedMessage):
                error = ErrorCode.UNKNOWN_SERVER_ERROR
            is_late = asyncio.get_running_loop().time() - began > AT_ONCE_S
            if error or is_late:
                self.facts.is_uncertain(thing)
            else:
                self.facts.was_told(thing, there=make)
            await asyncio.sleep(PAUSE_S_MAX * self.rng.random())

    async def _ask(self, thing: Thing, *, make: bool) -> int:
        """The error code of the answer."""
        if thing.kind == "user":
            return await self._alter_user(thing, make=make)
        return await (self._create_rule(thing) if make else self._delete_rule(thing))

    async def _create_rule(self, thing: Thing) -> int:
        creation = AclCreation(
            resource_type=TOPIC,
            resource_name=thing.name,
            principal="User:somebody",
            host="*",
            operation=READ,
            permission_type=ALLOW,
        )
        request = CreateAclsRequest(creations=[creation])
        (result,) = (await self.cluster.ask_any(request, ACLS, CreateAclsResponse)).results
        return result.error_code

    async def _delete_rule(self, thing: Thing) -> int:
        wanted = DeleteAclsFilter(
            resource_type_filter=TOPIC,
            resource_name_filter=thing.name,
            pattern_type_filter=LITERAL,
            operation=1,
            permission_type=1,
        )
        request = DeleteAclsRequest(filters=[wanted])
        answer = await self.cluster.ask_any(request, ACLS, DeleteAclsResponse)
        (result,) = answer.filter_results
        return result.error_code

    async def _alter_user(self, thing: Thing, *, make: bool) -> int:
        one = ScramCredentialUpsertion(
            name=thing.name,
            mechanism=SHA_256,
            iterations=ITERATIONS,
            salt=b"salt",
            salted_password=bytes(32),
        )
        request = AlterUserScramCredentialsRequest(
            upsertions=[one] if make else [],
            deletions=[] if make else [ScramCredentialDeletion(name=thing.name, mechanism=SHA_256)],
        )
        answer = await self.cluster.ask_any(request, SCRAM, AlterUserScramCredentialsResponse)
        (result,) = answer.results
        return result.error_code
