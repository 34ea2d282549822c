"""What is deleted of share groups: their states first, then who knows of them."""

import asyncio
from types import SimpleNamespace
from typing import Any

from ottla.broker.features import SHARE_GROUPS
from ottla.broker.handlers.groups import delete_groups
from ottla.broker.handlers.share import delete_share_group_offsets
from ottla.errors import ErrorCode, KafkaError
from ottla.groups.offsets.removal import delete_group
from ottla.groups.share import starting
from ottla.groups.share.group import Topics
from ottla.groups.share.states import Place
from ottla.wire.messages.delete_groups import DeleteGroupsRequest
from ottla.wire.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
)
from support.group_driver import Driver

TOPIC_ID = b"t".ljust(16, b".")
NOBODY: Any = None
REACHED, AWAY = ErrorCode.NONE, ErrorCode.COORDINATOR_NOT_AVAILABLE


class States:
    """The keeper of one of the states cannot be reached at first."""

    def __init__(self) -> None:
        self.kept = {Place("g", TOPIC_ID, index) for index in range(2)}
        self.away = True

    async def delete(self, place: Place) -> None:
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


def broker_with(driver: Driver) -> Any:
    image = SimpleNamespace(features={SHARE_GROUPS: 1})
    return SimpleNamespace(groups=Groups(driver), share_states=States(), image=image)


def test_a_group_whose_states_could_not_be_deleted_can_be_deleted_again() -> None:
    driver = Driver()
    broker = broker_with(driver)
    request = DeleteGroupsRequest(groups_names=["g"])

    def delete() -> int:
        return asyncio.run(delete_groups.handle(request, NOBODY, broker)).results[0].error_code

    assert delete() == AWAY
    assert "g" in driver.groups.groups
    assert delete() == REACHED
    assert "g" not in driver.groups.groups
    assert not broker.share_states.kept


def test_offsets_that_could_not_be_deleted_can_be_deleted_again() -> None:
    driver = Driver()
    broker = broker_with(driver)
    topic = DeleteShareGroupOffsetsRequestTopic(topic_name="t")
    request = DeleteShareGroupOffsetsRequest(group_id="g", topics=[topic])

    def delete() -> int:
        reply = asyncio.run(delete_share_group_offsets.handle(request, NOBODY, broker))
        return reply.responses[0].error_code

    assert delete() == AWAY
    assert delete() == REACHED
    assert not broker.share_states.kept
    assert starting.initialized_of(driver.groups, "g") == {}
    assert delete() == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
