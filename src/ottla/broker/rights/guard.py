"""What a guard is, and the ways to make one."""

from collections.abc import Awaitable, Callable, Iterable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from ottla.broker.access import CLUSTER, Operation, Resource
from ottla.errors import ErrorCode, KafkaError
from ottla.ids import Uuid
from ottla.wire.message import Message

if TYPE_CHECKING:
    from ottla.broker.access import Access
    from ottla.broker.api import Api, Handler
    from ottla.broker.cluster_view import ClusterView
    from ottla.broker.transport.context import RequestContext
    from ottla.metadata.image import Image

REFUSALS = {
    Resource.TOPIC: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    Resource.GROUP: ErrorCode.GROUP_AUTHORIZATION_FAILED,
    Resource.CLUSTER: ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    Resource.TRANSACTIONAL_ID: ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
}
NO_OPERATIONS_ASKED = -(2**31)


class Asker(NamedTuple):
    """Who asks, and the cluster in which the names of the request mean something."""

    access: "Access"
    context: "RequestContext"
    cluster: "ClusterView"
    image: "Image"
    """As it was when the request came."""

    @property
    def version(self) -> int:
        return self.context.api_version

    def may(self, operation: Operation, resource: Resource, name: str) -> bool:
        return self.access.allows(self.context, operation, resource, name)

    def would(self, operation: Operation, resource: Resource, name: str) -> bool:
        """Where a list is filtered, or one right is as good as another: no attempt."""
        return self.access.would_allow(self.context, operation, resource, name)

    def may_cluster(self, operation: Operation) -> bool:
        return self.may(operation, Resource.CLUSTER, CLUSTER)

    def may_topic(self, operation: Operation, name: str) -> bool:
        return self.may(operation, Resource.TOPIC, name)

    def topic_name(self, topic_id: Uuid) -> str | None:
        """None: nobody knows the id, and whoever answers says so."""
        topic = self.image.topics_by_id.get(topic_id)
        return None if topic is None else topic.name

    def demand(self, operation: Operation, resource: Resource, name: str) -> None:
        if not self.may(operation, resource, name):
            raise KafkaError(REFUSALS[resource])

    def demand_cluster(self, operation: Operation) -> None:
        self.demand(operation, Resource.CLUSTER, CLUSTER)


After = Callable[[Any], None]
"""Completes the handler's answer."""
Refuse = Callable[[Any, ErrorCode], Any]
"""The API's answer to a request of which all is refused."""
Guard = Callable[[Any, Asker, Refuse], "After | Message | None"]
"""Raises, answers, or lets the rest of the request through."""


def whole(operation: Operation, resource: Resource, field: str) -> Guard:
    """The request is about one thing, and needs a right to it."""

    def guard(request: Any, asker: Asker, refuse: Refuse) -> None:
        asker.demand(operation, resource, getattr(request, field) or "")

    return guard


def each(
    field: str,
    operation: Operation,
    resource: Resource,
    *,
    answers: str,
    name: str = "",
    by_id: bool = False,
    refused_first: bool = False,
) -> Guard:
    """The request is about many things: those without the right are taken out and refused.

    `name` is the field of an item that has its name; empty: the item is a name. With `by_id` newer
    versions have the topic's id instead.
    """

    def named(item: Any, asker: Asker) -> str | None:
        text: str = getattr(item, name) if name else item
        return asker.topic_name(item.topic_id) if by_id and not text else text

    def is_allowed(item: Any, asker: Asker) -> bool:
        known_as = named(item, asker)
        return known_as is None or asker.may(operation, resource, known_as)

    def guard(request: Any, asker: Asker, refuse: Refuse) -> "After | Message | None":
        allowed, denied = split(getattr(request, field), lambda item: is_allowed(item, asker))
        if not denied:
            return None
        refusal = refuse(replace(request, **{field: denied}), REFUSALS[resource])
        if not allowed:
            assert isinstance(refusal, Message)
            return refusal
        setattr(request, field, allowed)
        refused = getattr(refusal, answers)

        def after(response: Any) -> None:
            told = getattr(response, answers)
            setattr(response, answers, refused + told if refused_first else told + refused)

        return after

    return guard


def first_of(*guards: Guard) -> Guard:
    """One after another; of those that let through, at most one has to complete the answer."""

    def guard(request: Any, asker: Asker, refuse: Refuse) -> "After | Message | None":
        outcome: After | Message | None = None
        for one in guards:
            outcome = one(request, asker, refuse) or outcome
            if isinstance(outcome, Message):
                return outcome
        return outcome

    return guard


def shown(answers: str, name: str, operation: Operation, resource: Resource) -> Guard:
    """A list is asked for: it has what the asker may see, and no word of the rest."""

    def guard(request: Any, asker: Asker, refuse: Refuse) -> After:
        def after(response: Any) -> None:
            seen = [
                item
                for item in getattr(response, answers)
                if asker.would(operation, resource, getattr(item, name))
            ]
            setattr(response, answers, seen)

        return after

    return guard


def by_handler(request: Any, asker: Asker, refuse: Refuse) -> None:
    """The handler asks for rights itself: it has to know first whether the asker may ask at all."""


def split(items: Iterable[Any], keep: Callable[[Any], bool]) -> tuple[list[Any], list[Any]]:
    kept: list[Any] = []
    others: list[Any] = []
    for item in items:
        (kept if keep(item) else others).append(item)
    return kept, others


def guarded(
    handler: "Handler", request: Any, context: "RequestContext", services: Any, access: "Access"
) -> "Message | Awaitable[Message]":
    """The handler's answer to what its asker may ask."""
    from ottla.broker.dispatch import refusal

    assert handler.handle is not None
    if not needs_guard(handler.api):
        return handler.handle(request, context, services)

    def refuse(part: Any, code: ErrorCode) -> Message:
        return refusal(handler, part, KafkaError(code))

    asker = Asker(access, context, services.cluster, services.cluster.image)
    outcome = guard_of(handler.api.area, handler.api.name)(request, asker, refuse)
    if isinstance(outcome, Message):
        return outcome
    answer = handler.handle(request, context, services)
    if outcome is None:
        return answer
    if isinstance(answer, Message):
        outcome(answer)
        return answer
    return _completed(answer, outcome, request, handler)


async def _completed(
    answer: "Awaitable[Message]", complete: After, request: Any, handler: "Handler"
) -> Message:
    """A refusal of the rest is an answer, too: what was taken out belongs into it."""
    from ottla.broker.dispatch import refusal

    try:
        response = await answer
    except KafkaError as error:
        response = refusal(handler, request, error)
    complete(response)
    return response


def needs_guard(api: "Api") -> bool:
    """Whether the handler is about things that have rights of their own."""
    from ottla.broker.api import Right

    return api.right is Right.RESOURCES or api.name == "describe_cluster"


@cache
def guard_of(area: str, api: str) -> Guard:
    """The API's; a row that is missing is a fault of ours, and lets nobody through."""
    guards: dict[str, Guard] = import_module(f"ottla.broker.rights.{area}").GUARDS
    return guards.get(api, _closed)


def _closed(request: Any, asker: Asker, refuse: Refuse) -> None:
    raise KafkaError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
