"""What is deleted of share groups: their states first, then who knows of them."""

import asyncio
from typing import Any, cast

from ottla.broker.cluster_view import ClusterView
from ottla.broker.features import SHARE_GROUPS
from ottla.broker.handlers.groups import delete_groups
from ottla.broker.handlers.share import delete_share_group_offsets
from ottla.broker.services import GroupServices, ShareServices
from ottla.errors import ErrorCode, KafkaError
from ottla.groups.coordinator import GroupCoordinator
from ottla.groups.offsets.removal import delete_group
from ottla.groups.share import starting
from ottla.groups.share.group import Topics
from ottla.groups.share.states import SharePartitionKey
from ottla.metadata.image import Image
from ottla.wire.messages.delete_groups import DeleteGroupsRequest
from ottla.wire.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
)
from support.group_driver import Driver
from support.services import ABSENT, cluster_view

TOPIC_ID = b"t".ljust(16, b".")
NOBODY: Any = None
REACHED, AWAY = ErrorCode.NONE, ErrorCode.COORDINATOR_NOT_AVAILABLE


class States:
    """The keeper of one of the states cannot be reached at first."""

    def __init__(self) -> None:
        self.kept = {SharePartitionKey("g", TOPIC_ID, index) for index in range(2)}
        self.away = True

    async def delete(self, place: SharePartitionKey) -> None:
        if place.partition == 1 and self.away:
            self.away = False
            raise KafkaError(AWAY)
        self.kept.discard(place)


class Groups:
    """The machine of one shard, asked as the coordinator asks it."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        topics = {driver.make_topic("t", 2): ("t", frozenset({0, 1}))}
        driver.ask(lambda _: starting.start(driver.groups, driver.now, "g", topics))
        driver.ask(lambda _: starting.initialized(driver.groups, "g", topics))

    def share_queues_to_delete(self, group_id: str) -> Topics:
        return starting.queues_to_delete(self._driver.groups, group_id)

    async def begin_to_forget_share(self, group_id: str, names: list[str]) -> Any:
        groups = self._driver.groups
        return self._driver.ask(lambda _: starting.begin_to_forget(groups, group_id, names)).reply

    async def forget_share(self, group_id: str, topics: set[bytes]) -> None:
        groups = self._driver.groups
        self._driver.ask(lambda _: starting.forget(groups, group_id, topics))

    async def delete(self, group_id: str) -> None:
        groups = self._driver.groups
        self._driver.ask(lambda _: delete_group(groups, group_id))


def share_cluster() -> ClusterView:
    image = Image()
    image.features[SHARE_GROUPS] = 1
    return cluster_view(image)


def test_a_group_whose_states_could_not_be_deleted_can_be_deleted_again() -> None:
    driver = Driver()
    states: Any = States()
    services = GroupServices(
        cluster=share_cluster(),
        coordinator=cast(GroupCoordinator, Groups(driver)),
        controller=ABSENT,
        share_states=lambda: states,
    )
    request = DeleteGroupsRequest(groups_names=["g"])

    def delete() -> int:
        return asyncio.run(delete_groups.handle(request, NOBODY, services)).results[0].error_code

    assert delete() == AWAY
    assert "g" in driver.groups.groups
    assert delete() == REACHED
    assert "g" not in driver.groups.groups
    assert not states.kept


def test_offsets_that_could_not_be_deleted_can_be_deleted_again() -> None:
    driver = Driver()
    states: Any = States()
    services = ShareServices(
        cluster=share_cluster(),
        groups=cast(GroupCoordinator, Groups(driver)),
        coordinator=ABSENT,
        states=states,
        shares=ABSENT,
        background=ABSENT,
        fetch_bytes_max=0,
    )
    topic = DeleteShareGroupOffsetsRequestTopic(topic_name="t")
    request = DeleteShareGroupOffsetsRequest(group_id="g", topics=[topic])

    def delete() -> int:
        reply = asyncio.run(delete_share_group_offsets.handle(request, NOBODY, services))
        return reply.responses[0].error_code

    assert delete() == AWAY
    assert delete() == REACHED
    assert not states.kept
    assert starting.initialized_of(driver.groups, "g") == {}
    assert delete() == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
