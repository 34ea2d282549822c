"""What another node decides: a broker passes it on, the quorum's leader answers itself.

It travels with the client's principal and address: the controller decides about the client's
rights. On the controllers' listener nothing is passed on: two that disagree would do so forever.
"""

from typing import TYPE_CHECKING, Protocol, TypeVar

from ottla.broker.api import AnsweredBy, Handle
from ottla.broker.services import ActiveController, ClusterServices
from ottla.broker.transport.context import RequestContext
from ottla.wire.message import Message

if TYPE_CHECKING:
    from ottla.broker.audit import Audit
    from ottla.wire.envelope import Origin

M = TypeVar("M", bound=Message)


class Authority(Protocol):
    """Who decides what this node does not, as its listener knows it."""

    async def ask_controller(
        self, request: Message, response: type[M], context: RequestContext
    ) -> M: ...

    async def ask_quorum(
        self, request: Message, response: type[M], context: RequestContext
    ) -> M: ...


class Controller(Protocol):
    async def ask(
        self, request: Message, response: type[M], origin: "Origin | None" = None
    ) -> M: ...


class Quorum(Protocol):
    @property
    def is_leader(self) -> bool: ...
    async def handle(self, request: Message, version: int) -> Message: ...


class OwnController:
    """On the controllers' listener: this node's own, active or not."""

    def __init__(self, controller: Controller, quorum: Quorum) -> None:
        self._controller = controller
        self._quorum = quorum

    async def ask_controller(
        self, request: Message, response: type[M], context: RequestContext
    ) -> M:
        return await self._controller.ask(request, response, origin_of(context))

    async def ask_quorum(self, request: Message, response: type[M], context: RequestContext) -> M:
        return await ask_here(self._quorum, request, response, context)


class PassedOn:
    """On a broker's listener: the active one, wherever it is."""

    def __init__(
        self, active: ActiveController, quorum: Quorum, audit: "Audit | None" = None
    ) -> None:
        self._active = active
        self._quorum = quorum
        self._audit = audit

    async def ask_controller(
        self, request: Message, response: type[M], context: RequestContext
    ) -> M:
        answer = await self._active.ask(request, response, origin=origin_of(context))
        if self._audit is not None:
            self._audit.changed(context, request, answer)
        return answer

    async def ask_quorum(self, request: Message, response: type[M], context: RequestContext) -> M:
        if self._quorum.is_leader:
            return await ask_here(self._quorum, request, response, context)
        return await self.ask_controller(request, response, context)


async def ask_here(
    quorum: Quorum, request: Message, response: type[M], context: RequestContext
) -> M:
    answer = await quorum.handle(request, context.api_version)
    assert isinstance(answer, response)
    return answer


def forwarder(answered_by: AnsweredBy, response: type[Message]) -> Handle:
    """The handler of an API for which this node has nothing to do itself."""
    by_quorum = answered_by is AnsweredBy.QUORUM

    async def handle(
        request: Message, context: RequestContext, services: ClusterServices
    ) -> Message:
        authority = services.authority
        ask = authority.ask_quorum if by_quorum else authority.ask_controller
        return await ask(request, response, context)

    return handle


def origin_of(context: RequestContext) -> "Origin":
    from ottla.wire.envelope import Origin  # a start passes nothing on

    return Origin(
        context.principal,
        context.client_host,
        context.client_id,
        context.api_version,
        context.correlation_id,
        context.peer.is_by_token,
    )
