"""A request that one node passes on to another, which is the active controller."""

import asyncio
import time
from collections.abc import Callable
from typing import Any, cast

import pytest
from msgspec.structs import replace

from ottla.broker.access import Access, Operation, Resource, Unrestricted
from ottla.broker.accounting import Unlimited
from ottla.broker.api import Listeners
from ottla.broker.dispatch import Dispatcher
from ottla.broker.transport.context import Peer, RequestContext
from ottla.broker.transport.pending_reply import PendingReply
from ottla.controller.controller import Controller
from ottla.errors import ErrorCode, KafkaError
from ottla.node.active_controller import ActiveController
from ottla.ports.network import Link
from ottla.quorum.driver import Quorum
from ottla.wire.envelope import Origin
from ottla.wire.messages.create_topics import (
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from ottla.wire.messages.update_features import UpdateFeaturesRequest, UpdateFeaturesResponse

ORIGIN = Origin("User:alice", "10.0.0.7", "admin-1", 5, 12)
REQUEST = CreateTopicsRequest(
    topics=[CreatableTopic(name="t", num_partitions=1, replication_factor=1)]
)


class Straight:
    """A link, and the network that has it, to a dispatcher in this process."""

    is_open = True

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher
        self._peer = Peer("CONTROLLER", Listeners.CONTROLLER, "127.0.0.1")

    async def connect(self, host: str, port: int, lost: Callable[[], None]) -> Link:
        return self

    async def exchange(self, frame: bytes) -> bytes:
        reply = self._dispatcher.take(memoryview(frame), self._peer)
        if isinstance(reply, PendingReply):
            arrived: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
            reply.then(arrived.set_result)
            reply = await asyncio.wait_for(arrived, 10)
        return b"".join(cast(list[bytes], reply))[4:]

    def close(self) -> None:
        pass


class Dormant:
    """The controller of a node that does not lead, and what it knows of who does."""

    active = False
    node_id, leader_id, leader_address = 2, 1, ("127.0.0.1", 1)


def beside(asking: Any, access: Access | None = None) -> ActiveController:
    """The active controller as another node reaches it."""
    cluster = replace(asking.node.cluster, access=access or Unrestricted())
    services = replace(asking.node.controller_areas()["cluster"](), cluster=cluster)
    areas = {"cluster": lambda: services}
    dispatcher = Dispatcher(Listeners.CONTROLLER, areas, cluster, Unlimited())
    here = Dormant()
    return ActiveController(
        cast(Controller, here),
        cast(Quorum, here),
        Straight(dispatcher),
        "broker-2",
        time.monotonic,
        0.02,
    )


def test_the_controller_answers_at_the_clients_version(serving: Any) -> None:
    async def live() -> None:
        async with serving() as asking:
            elsewhere = beside(asking)
            response = await elsewhere.ask(REQUEST, CreateTopicsResponse, origin=ORIGIN)
            assert response.topics[0].error_code == ErrorCode.NONE
            assert response.topics[0].num_partitions == 1
            assert "t" in asking.node.publisher.image.topics_by_name
            again = await elsewhere.ask(REQUEST, CreateTopicsResponse, origin=ORIGIN)
            assert again.topics[0].error_code == ErrorCode.TOPIC_ALREADY_EXISTS

    asyncio.run(live())


class Listening:
    """Allows everything, and remembers who asked."""

    restricts = True

    def __init__(self) -> None:
        self.heard: list[tuple[str, RequestContext]] = []

    def allows(
        self, context: RequestContext, operation: Operation, resource: Resource, name: str
    ) -> bool:
        self.heard.append((operation.name, context))
        return True

    would_allow = allows

    def allows_some(
        self, context: RequestContext, operation: Operation, resource: Resource
    ) -> bool:
        return True


def test_the_controller_asks_for_the_clients_rights_not_the_brokers(serving: Any) -> None:
    async def live() -> None:
        async with serving() as asking:
            access = Listening()
            request = UpdateFeaturesRequest(validate_only=True)
            await beside(asking, access).ask(
                request, UpdateFeaturesResponse, origin=ORIGIN._replace(version=1)
            )
            (passing_on, broker), (whole, client) = access.heard
            assert (passing_on, broker.principal) == ("CLUSTER_ACTION", "User:ANONYMOUS")
            assert (whole, client.principal) == ("ALTER", "User:alice")
            assert (client.client_host, client.client_id) == ("10.0.0.7", "admin-1")

    asyncio.run(live())


def test_a_node_that_is_not_active_says_so_and_the_next_is_asked(
    serving: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def live() -> None:
        async with serving() as asking:
            monkeypatch.setattr(Controller, "active", False)
            with pytest.raises(KafkaError) as refused:
                await beside(asking).ask(REQUEST, CreateTopicsResponse, 0.1, ORIGIN)
            assert refused.value.code is ErrorCode.NOT_CONTROLLER
            monkeypatch.undo()

    asyncio.run(live())
