"""Handlers are given the services of their area, and can be asked with values, without a node."""

import asyncio
import inspect
from typing import Any, get_type_hints

import pytest

from ottla.broker import services as areas
from ottla.broker.api import Api, Listeners, apis, load
from ottla.broker.first_use import OnFirstUse
from ottla.broker.handlers.cluster import broker_heartbeat, describe_configs, find_coordinator
from ottla.broker.handlers.groups import heartbeat
from ottla.broker.handlers.transactions import init_producer_id
from ottla.broker.services import (
    BrokerServices,
    ControllerServices,
    GroupServices,
    RecordServices,
    ShareServices,
    TransactionServices,
)
from ottla.broker.transport.context import Peer, RequestContext
from ottla.errors import ErrorCode, KafkaError
from ottla.membership.suspects import Suspects
from ottla.metadata.image import ConfigResourceType, Image, PartitionRegistration, Topic
from ottla.wire.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from ottla.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from ottla.wire.messages.find_coordinator import FindCoordinatorRequest
from ottla.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from ottla.wire.messages.init_producer_id import InitProducerIdRequest
from support.services import ABSENT, cluster_services, cluster_view

GIVEN: dict[str, type] = {
    "cluster": BrokerServices,
    "records": RecordServices,
    "groups": GroupServices,
    "transactions": TransactionServices,
    "share": ShareServices,
}
SERVED = [
    (kind, api) for kind in (Listeners.BROKER, Listeners.CONTROLLER) for api in apis(kind).values()
]


def context(key: int, version: int, kind: Listeners = Listeners.BROKER) -> RequestContext:
    return RequestContext(apis(kind)[key], version, 1, None, Peer("PLAINTEXT", kind, "127.0.0.1"))


@pytest.mark.parametrize(("kind", "api"), SERVED, ids=lambda one: getattr(one, "name", None))
def test_a_handler_is_given_what_it_asks_for(kind: Listeners, api: Api) -> None:
    handler = load(api)
    asked: Any = handler.serve or handler.handle
    names = {name: getattr(areas, name) for name in dir(areas)} | {"RequestContext": RequestContext}
    wanted = get_type_hints(asked, localns=names)["services"]
    given = GIVEN[api.area] if kind is Listeners.BROKER else ControllerServices
    assert "services" in list(inspect.signature(asked).parameters)[-1:]
    assert issubclass(given, wanted)


def test_what_nobody_asks_for_is_not_made() -> None:
    made: list[object] = []

    def make() -> object:
        made.append(object())
        return made[-1]

    part = OnFirstUse(make)
    assert part.made is None
    first = part()
    assert part() is first
    assert part.made is first
    assert made == [first]


def test_an_id_for_an_idempotent_producer_needs_no_coordinator() -> None:
    class Ids:
        async def next(self) -> int:
            return 7

    services = TransactionServices(
        cluster=cluster_view(),
        coordinator=ABSENT,
        verifier=ABSENT,
        groups=ABSENT,
        producer_ids=Ids(),
        partitions=ABSENT,
        durability=ABSENT,
        background=ABSENT,
    )
    asked = init_producer_id.handle(InitProducerIdRequest(), context(22, 5), services)
    answer = asyncio.run(asked)
    assert (answer.producer_id, answer.producer_epoch) == (7, 0)


def test_a_member_carries_on_while_its_coordinator_loads() -> None:
    class Loading:
        def heartbeat(self, request: HeartbeatRequest) -> HeartbeatResponse:
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)

    coordinator: Any = Loading()
    services = GroupServices(
        cluster=cluster_view(), coordinator=coordinator, controller=ABSENT, share_states=ABSENT
    )
    answer = heartbeat.handle(HeartbeatRequest(), context(12, 4), services)
    assert isinstance(answer, HeartbeatResponse)
    assert answer.error_code == ErrorCode.NONE


def test_a_broker_tells_of_its_own_settings_only() -> None:
    view = cluster_view(node_id=3)
    asked = [
        DescribeConfigsResource(resource_type=ConfigResourceType.BROKER, resource_name=name)
        for name in ("3", "4")
    ]
    request = DescribeConfigsRequest(resources=asked)
    own, others = describe_configs.handle(request, context(32, 4), cluster_services(view)).results
    assert {one.name: one.value for one in own.configs}["node.id"] == "3"
    assert others.error_code == ErrorCode.INVALID_REQUEST
    assert others.error_message == "This is broker 3: ask broker 4 itself."


def test_a_coordinator_without_a_leader_is_waited_for_and_then_not_available() -> None:
    image, now = Image(), iter((0.0, 3.0, 6.0))
    nobody = PartitionRegistration(replicas=(1,), isr=(1,), leader=-1)
    image.topics_by_name["__consumer_offsets"] = Topic(bytes(16), "__consumer_offsets", {0: nobody})
    view = cluster_view(image)
    clock = view.clock._replace(monotonic=lambda: next(now))
    services = BrokerServices(
        cluster=cluster_view(image, clock=clock),
        authority=ABSENT,
        controller=ABSENT,
        presence=ABSENT,
        suspects=Suspects(),
        topics_on_demand=ABSENT,
        directories=(),
        directory_moves=ABSENT,
    )
    request = FindCoordinatorRequest(coordinator_keys=["g"])
    answer = asyncio.run(find_coordinator.handle(request, context(10, 6), services))
    assert answer.coordinators[0].error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_a_connection_with_heartbeats_that_closes_is_told_with_the_last_epoch() -> None:
    ended = []

    class Taking:
        async def ask_controller(self, *_: object) -> BrokerHeartbeatResponse:
            return BrokerHeartbeatResponse()

    authority: Any = Taking()
    services = ControllerServices(
        cluster=cluster_view(),
        authority=authority,
        is_active=lambda: True,
        heartbeats_ended=lambda *broker: ended.append(broker),
    )
    asked = context(63, 2, Listeners.CONTROLLER)
    for epoch in (4, 5):
        beat = BrokerHeartbeatRequest(broker_id=2, broker_epoch=epoch)
        asyncio.run(broker_heartbeat.handle(beat, asked, services))
    for end in asked.peer.when_closed.values():
        end()
    assert ended == [(2, 5)]
