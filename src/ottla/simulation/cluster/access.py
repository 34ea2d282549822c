"""Access rules and SCRAM users: none that was acknowledged is lost, none that is gone comes back.

One operator makes and deletes them through any broker, a name once. Whatever it was not answered
is of no more interest: it may have happened, or may yet. What it was told must be so at the end, on
every node; and what it was told of must be found when it is deleted.

Two things are excused, because Kafka does them as well, and only where controllers were seen doing
them. A broker that loses its controller before the answer asks again: so a deletion may have been
done by its first attempt, and the first attempt of a creation may arrive last, after the deletion.
And a controller answers what needs no record from what it knows: one that was deposed, and has not
heard of it yet, finds nothing where its successor has made something.
"""

import asyncio
from collections import defaultdict
from collections.abc import Mapping
from itertools import count
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from ottla.controller.controller import Controller
from ottla.errors import ErrorCode
from ottla.metadata.image import Image
from ottla.ports.network import LinkLost
from ottla.quorum.driver import Quorum
from ottla.simulation.cluster.clients import ClientMeans, SimulatedClient
from ottla.simulation.cluster.invariants import Teller
from ottla.wire.codec import MalformedMessage
from ottla.wire.message import Message
from ottla.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from ottla.wire.messages.create_acls import AclCreation, CreateAclsRequest, CreateAclsResponse
from ottla.wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest, DeleteAclsResponse

if TYPE_CHECKING:
    from ottla.wire.envelope import Origin

M = TypeVar("M", bound=Message)

SETTINGS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
ACLS, SCRAM = 3, 0
TOPIC, READ, ALLOW, LITERAL, SHA_256, ITERATIONS = 2, 3, 3, 3, 1, 4096
PAUSE_S_MAX = 1.5
DELETED = 0.4


class Thing(NamedTuple):
    kind: str  # rule or user
    name: str


class ControllerDecision(NamedTuple):
    """Of an active controller, about one thing; in this order they are in the log, if at all."""

    epoch: int
    number: int  # of all decisions
    makes: bool


class AccessFacts:
    """What the operator was told, what controllers did about it, and whether it is so."""

    def __init__(self, world: Teller) -> None:
        self._world = world
        self.told: dict[Thing, bool] = {}  # whether it is there
        self.acknowledged = 0
        self._decisions: defaultdict[Thing, list[ControllerDecision]] = defaultdict(list)
        self._numbers = count()
        self._watched: set[Controller] = set()

    def was_told(self, thing: Thing, *, there: bool) -> None:
        self.told[thing] = there
        self.acknowledged += 1

    def is_uncertain(self, thing: Thing) -> None:
        self.told.pop(thing, None)

    def was_not_found(self, thing: Thing) -> None:
        """By its deletion, although the operator was told that it is there."""
        made = [one for one in self._decisions[thing] if one.makes]
        deletions = [one for one in self._decisions[thing] if not one.makes]
        is_deposed = min(deletions).epoch < max(made).epoch
        if len(deletions) == 1 and not is_deposed:
            self._violated(thing, "was acknowledged, and its deletion found nothing")
        self.is_uncertain(thing)

    def watch(self, controller: Controller, quorum: Quorum) -> None:
        """Note what it decides: brokers alone know how often they ask."""
        if controller in self._watched:
            return
        self._watched.add(controller)
        ask = controller.ask

        async def watched(request: Message, response: type[M], origin: "Origin | None" = None) -> M:
            asked = asked_for(request)
            if asked is not None and controller.active:
                self.was_decided(*asked, quorum.epoch)
            return await ask(request, response, origin)

        controller.ask = watched  # type: ignore[method-assign]

    def was_decided(self, thing: Thing, makes: bool, epoch: int) -> None:
        self._decisions[thing].append(ControllerDecision(epoch, next(self._numbers), makes))

    def at_the_end(self, images: Mapping[int, Image]) -> None:
        for node_id, image in images.items():
            found = {Thing("rule", acl.resource_name) for acl in image.acls.values()}
            found |= {Thing("user", name) for name, _ in image.scram_credentials}
            for thing, there in self.told.items():
                if there and thing not in found:
                    self._violated(thing, f"was acknowledged, and node {node_id} lacks it")
                if not there and thing in found and not self._was_made_again(thing):
                    self._violated(thing, f"was deleted, and node {node_id} has it")

    def _was_made_again(self, thing: Thing) -> bool:
        """By an attempt that came late: the last word about it was not its deletion."""
        return max(self._decisions[thing]).makes

    def _violated(self, thing: Thing, what: str) -> None:
        self._world.violated(f"{thing.kind} {thing.name} {what}")


def asked_for(request: Message) -> tuple[Thing, bool] | None:
    """What a request of the operator is about, and whether it makes that."""
    match request:
        case CreateAclsRequest(creations=[creation]):
            return Thing("rule", creation.resource_name), True
        case DeleteAclsRequest(filters=[DeleteAclsFilter(resource_name_filter=str(name))]):
            return Thing("rule", name), False
        case AlterUserScramCredentialsRequest(upsertions=[upsertion]):
            return Thing("user", upsertion.name), True
        case AlterUserScramCredentialsRequest(deletions=[deletion]):
            return Thing("user", deletion.name), False
    return None


class Operator(SimulatedClient):
    def __init__(self, facts: AccessFacts, means: ClientMeans) -> None:
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
            try:
                error = await self._ask(thing, make=make)
            except (LinkLost, MalformedMessage):
                error = ErrorCode.UNKNOWN_SERVER_ERROR
            if error == ErrorCode.RESOURCE_NOT_FOUND:
                self.facts.was_not_found(thing)
            elif error:
                self.facts.is_uncertain(thing)
            else:
                self.facts.was_told(thing, there=make)
            await asyncio.sleep(PAUSE_S_MAX * self.rng.random())

    async def _ask(self, thing: Thing, *, make: bool) -> int:
        """The error code of the answer; RESOURCE_NOT_FOUND for rules too, whose answer has none."""
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
        if not result.error_code and not result.matching_acls:
            return ErrorCode.RESOURCE_NOT_FOUND
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
